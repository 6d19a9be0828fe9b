import type { LoadedFile } from '../../api/memory-api.ts';
import type { Route } from '../../router.ts';
import { keptSignal } from '../../ui/kept.ts';
import { addUnsaved, removeUnsaved } from '../../ui/unsaved.ts';

/** An unsaved edit to a file. */
export interface Draft {
  tenant: string;
  path: string;
  /** The file when the edit started. */
  base: LoadedFile;
  text: string;
}

/** The unsaved edit. A signal outside the editor keeps the edit after the session ends, and after a reload. */
const draft = keptSignal<Draft>('edit');
const unsaved = {
  isKeptAt: ({ segments: [section, tenant, tab], query }: Route) =>
    section === 'tenants' &&
    tenant === draft.value?.tenant &&
    tab === undefined &&
    query.get('path') === draft.value?.path &&
    !query.has('at'),
  discard: () => keepDraft(null),
};
if (draft.value !== null) addUnsaved(unsaved);

export function keepDraft(next: Draft | null): void {
  if (next !== null && draft.value === null) addUnsaved(unsaved);
  if (next === null) removeUnsaved(unsaved);
  draft.value = next;
}

export function findKeptDraft(tenant: string, path: string): Draft | null {
  const { value } = draft;
  return value?.tenant === tenant && value.path === path ? value : null;
}
