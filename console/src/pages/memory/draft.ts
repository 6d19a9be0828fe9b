import { signal } from '@preact/signals';
import type { LoadedFile } from '../../api/memory.ts';
import { addUnsaved, removeUnsaved } from '../../ui/unsaved.ts';

/** An unsaved edit of a file. */
export interface Draft {
  tenant: string;
  path: string;
  /** The file at the start of the edit. */
  base: LoadedFile;
  text: string;
}

/** The unsaved edit. A signal outside the editor keeps the edit after the session ends. */
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
