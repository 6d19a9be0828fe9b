import { MODES, type Mode } from '../../../../src/features/search/modes.ts';
import type { ActorQuery } from '../../api/history-api.ts';
import type { Counts, Job, JobOutcome, TenantSelection } from '../../api/incidents-api.ts';
import { count } from '../../text/format.ts';
import { keptText } from './state.ts';

/* Sentences about jobs and their counts. */

/** A job's request as the service stores it. */
export interface StoredRequest {
  mode?: Mode;
  where?: 'both' | 'content' | 'path';
  isExact?: boolean;
  ignoresCase?: boolean;
  places?: string[];
  by?: string | null;
  since?: string | null;
  until?: string | null;
  /** Tenants for which an erasure keeps the text out. */
  keepsOut?: 'all' | 'tenants' | null;
  isDryRun?: boolean;
  dryRunOf?: string | null;
  /** The incident's first job. Missing in this job. */
  incident?: string;
}

export const storedRequest = ({ request }: Pick<Job, 'request'>) => request as StoredRequest;

const SOURCE = 'source:';

/** Returns the name for the actor or the source in a stored request. */
export const actorName = (by: string) => (by.startsWith(SOURCE) ? `source ${by.slice(SOURCE.length)}` : by);

/** Converts a stored request's actor to parameters for a new request. */
export const actorQuery = (by: string): ActorQuery =>
  by.startsWith(SOURCE) ? { source: by.slice(SOURCE.length) } : { by };

/** Splits a stored request's actor into the form's fields. */
export function actorFields(by: string | null | undefined): { actorKind: 'by' | 'source'; actor: string } {
  const query = actorQuery(by ?? '');
  return 'source' in query
    ? { actorKind: 'source', actor: query.source }
    : { actorKind: 'by', actor: query.by };
}

export const KINDS: Record<Job['kind'], string> = { find: 'Find', revert: 'Undo', erase: 'Erase' };

/** Returns a job's title. The job's text is known only to the tab that started the job. */
export function jobTitle(job: Job): string {
  const { by, isDryRun } = storedRequest(job);
  const verb = isDryRun ? `Dry run: ${KINDS[job.kind].toLowerCase()}` : KINDS[job.kind];
  if (job.kind === 'revert') return `${verb} ${by ? actorName(by) : 'a period'}`;
  const text = keptText(job.id);
  return text === undefined ? `${verb} a text` : `${verb} “${shortenTitle(text)}”`;
}

const MAX_TITLE = 80;
const shortenTitle = (text: string) => (text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE)}…` : text);

const modeText = (mode: Mode) => MODES[mode].form.label.toLowerCase();
const PARTS = { both: 'contents and paths', content: 'contents', path: 'paths' };
const PLACES: Record<string, string> = {
  current: 'current files',
  superseded: 'superseded versions',
  drafts: 'open drafts',
};

/** Describes a find's request, without the text. */
export function describeFind(request: StoredRequest): string {
  const { mode = 'literal', where = 'both', places = [], by } = request;
  const kind = mode === 'literal' ? literalText(request) : modeText(mode);
  const parts = [kind, PARTS[where], places.map((place) => PLACES[place]).join(', ')];
  return [...parts, ...(by ? [`by ${actorName(by)}`] : [])].join(' · ');
}

/** Describes how a find or an erasure compares texts. */
export function literalText({ isExact, ignoresCase }: StoredRequest): string {
  if (!isExact) return modeText('literal');
  return ignoresCase ? 'exact text, ignoring case' : 'exact text';
}

/** Names the job that selected the tenants, if it may have missed some. */
export function foundByText({ found_by_state: state }: Job['selection']): string | null {
  if (state === 'cancelled') return 'The find that selected the tenants was cancelled before its end.';
  return state === 'inexact' ? 'The find that selected the tenants could not read all versions.' : null;
}

/** Whether a find has read every place that can hold a text, so that the find is the dry run for an erasure. */
export function isEverywhere(request: StoredRequest): boolean {
  const { mode, where, places = [], by, since, until } = request;
  return mode === 'literal' && where === 'both' && places.length === 3 && !by && !since && !until;
}

/** Describes a job's selected tenants. */
export function describeTenants({
  selection,
  only_tenants,
}: {
  selection: TenantSelection;
  only_tenants: string[] | null;
}): string {
  const { search, status, metadata = {}, except = [], found_by } = selection;
  const parts = [
    ...(found_by ? ['tenants of an earlier job'] : []),
    ...(only_tenants === null ? [] : [joinTenants(only_tenants)]),
    ...(search ? [`tenants with “${search}”`] : []),
    ...(status ? [`${status} tenants`] : []),
    ...Object.entries(metadata).map(([key, value]) => `${key}=${value}`),
  ];
  const all = parts.length === 0 ? 'all tenants' : parts.join(', ');
  return except.length === 0 ? all : `${all}, except ${joinTenants(except)}`;
}

const joinTenants = (tenants: string[]) =>
  tenants.length > 3 ? count(tenants.length, 'tenant') : tenants.join(', ');

type Counted = Pick<JobOutcome, 'counts' | 'is_exact'>;

/** Words for the counts, in the sentence's order: singular and plural. */
const FOUND = [
  ['current', 'current'],
  ['superseded', 'superseded'],
  ['drafts', 'in drafts'],
  ['paths', 'by path'],
  ['directories', 'directory', 'directories'],
] as const;

/** Nouns for an erasure's counts: singular and plural. */
const ERASED = [
  ['files', 'current file', 'current files'],
  ['versions', 'superseded version', 'superseded versions'],
  ['drafts', 'version in a draft', 'versions in drafts'],
  ['paths', 'path', 'paths'],
  ['directories', 'directory', 'directories'],
  ['results', 'stored result', 'stored results'],
  ['titles', 'title of a draft', 'titles of drafts'],
] as const;

/** Describes an erasure's places, such as `1 current file, 2 superseded versions`. */
export function erasedText({ counts, is_exact }: Counted, isEnded = true): string {
  const parts = ERASED.flatMap(([name, one, many]) => {
    const value = counts[name] ?? 0;
    return value === 0 ? [] : [count(value, one, many)];
  });
  const bound = is_exact || !isEnded ? '' : 'at least ';
  return parts.length === 0 ? 'no places' : `${bound}${parts.join(', ')}`;
}

/** Describes the places that an erasure leaves to the operator. Returns null if there are none. */
export function leftText({ left = 0, settings = 0 }: Counts): string | null {
  const parts = [
    ...(left > 0 ? [`${count(left, 'place')} could not be erased: erase the text again`] : []),
    ...(settings > 0
      ? [`${count(settings, 'setting or origin', 'settings or origins')} with the text: change them`]
      : []),
  ];
  return parts.length === 0 ? null : `${parts.join('; ')}.`;
}

/** Describes the hits in a tenant or a job, such as `at least 3 hits in 2 files: 1 current, 2 superseded`. */
export function foundText({ counts, is_exact }: Counted, isEnded = true): string {
  const { hits = 0, files = 0 } = counts;
  const parts = FOUND.flatMap(([name, one, many = one]) => {
    const value = counts[name] ?? 0;
    return value === 0 ? [] : [count(value, one, many)];
  });
  const bound = is_exact || !isEnded ? '' : 'at least ';
  const end = parts.length === 0 ? '' : `: ${parts.join(', ')}`;
  return `${bound}${count(hits, 'hit')} in ${count(files, 'file')}${end}`;
}

/** Describes a revert's changes, such as `2 files, 1 directory`. */
export function changesText(counts: Counts): string {
  const { files = 0, directories = 0 } = counts;
  const parts = [
    ...(files > 0 ? [count(files, 'file')] : []),
    ...(directories > 0 ? [count(directories, 'directory', 'directories')] : []),
  ];
  return parts.length === 0 ? 'no changes' : parts.join(', ');
}

const CHANGED = 'precondition_failed';

/** Returns the words for a tenant's error code. */
export const errorText = (code: string) =>
  code === CHANGED ? 'changed since the dry run' : code.replaceAll('_', ' ');
