import { signal } from '@preact/signals';
import type { LoadedFile } from '../../api/memory.ts';
import { addUnsaved, removeUnsaved } from '../../ui/unsaved.ts';

/** An edit of a file that is not saved. */
export interface Draft {
  tenant: string;
  path: string;
  /** What it began with. */
  base: LoadedFile;
  text: string;
}

/** It outlives its editor, so that the end of a session does not lose it. */
const draft = signal<Draft | null>(null);
const unsaved = { discard: () => keepDraft(null) };

export function keepDraft(next: Draft | null): void {
  if (next !== null && draft.value === null) addUnsaved(unsaved);
  if (next === null) removeUnsaved(unsaved);
  draft.value = next;
}

export function draftOf(tenant: string, path: string): Draft | null {
  const { value } = draft;
  return value?.tenant === tenant && value.path === path ? value : null;
}
