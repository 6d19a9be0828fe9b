import type { FindBody, TenantSelection, UndoBody } from '../../api/incidents-api.ts';

/** Form input. */
export interface FormInput extends Omit<FindBody, 'tenants' | 'by' | 'source' | 'since' | 'until'> {
  actorKind: 'by' | 'source';
  actor: string;
  /** A duration before now, or a time. Empty for the whole history. */
  since: string;
  scope: 'all' | 'filter' | 'some';
  /** Tenant IDs, separated by white space or commas. */
  ids: string;
  search: string;
  status: '' | NonNullable<TenantSelection['status']>;
  /** Pairs `key=value`, one per line. */
  metadata: string;
}

export const EMPTY: FormInput = {
  text: '',
  mode: 'literal',
  exact: false,
  ignore_case: false,
  in: 'both',
  places: ['current', 'superseded', 'drafts'],
  actorKind: 'by',
  actor: '',
  since: '',
  scope: 'all',
  ids: '',
  search: '',
  status: '',
  metadata: '',
};

/** Maximum tenants in a request. */
export const MAX_NAMED = 1000;

/** A request, or the problem with the input. */
export type Read<T> = { body: T } | { problem: string };

/** Reads the tenants from the form. */
export function readTenants(form: FormInput): Read<TenantSelection> {
  const { scope, search, status } = form;
  if (scope === 'all') return { body: {} };
  if (scope === 'some') {
    const ids = form.ids.split(/[\s,]+/).filter(Boolean);
    if (ids.length === 0) return { problem: 'Enter the ID of a tenant.' };
    if (ids.length > MAX_NAMED) return { problem: `Enter at most ${MAX_NAMED} tenants, or use a filter.` };
    return { body: { ids } };
  }
  const metadata = readPairs(form.metadata);
  if (metadata === null) return { problem: 'Enter each metadata pair as key=value.' };
  const filter = {
    ...(search !== '' && { search }),
    ...(status !== '' && { status }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
  const isEmpty = Object.keys(filter).length === 0;
  return isEmpty ? { problem: 'Enter a filter, or choose all tenants.' } : { body: filter };
}

/** Reads pairs `key=value`, one per line. Returns null if a line is no pair. */
function readPairs(text: string): Record<string, string> | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line) => /^\s*([^=]+)=(.*)$/.exec(line));
  if (pairs.includes(null)) return null;
  return Object.fromEntries(pairs.map((pair) => [pair?.[1]?.trim() ?? '', pair?.[2]?.trim() ?? '']));
}

export function readFind(form: FormInput): Read<FindBody> {
  const { text, mode, ignore_case, in: part, places, actorKind, actor, since } = form;
  if (text === '') return { problem: 'Enter a text.' };
  if (places.length === 0) return { problem: 'Choose where to look.' };
  const tenants = readTenants(form);
  if ('problem' in tenants) return tenants;
  const isExact = mode === 'literal' && form.exact;
  return {
    body: {
      text,
      mode,
      exact: isExact,
      ignore_case: isExact && ignore_case,
      in: part,
      places,
      ...(actor !== '' && { [actorKind]: actor }),
      ...(since !== '' && { since }),
      tenants: tenants.body,
    },
  };
}

/** Reads the changes to undo. `since` is required, because a revert needs a start. */
export function readUndo(
  { actorKind, actor, since }: Pick<FormInput, 'actorKind' | 'actor' | 'since'>,
  tenants: TenantSelection,
): UndoBody | null {
  return actor === '' || since === '' ? null : { [actorKind]: actor, since, tenants };
}
