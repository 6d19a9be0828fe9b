import type { Draft, DraftChange } from '../../api/drafts-api.ts';
import { directoryAbove, ROOT } from '../memory/tree.ts';

/* Texts for the review. */

/** Explains why a file conflicts. */
export function conflictText({ conflict, base, draft, original, blocked_by }: DraftChange): string {
  switch (conflict) {
    case null:
      return '';
    case 'content':
      return base === null
        ? 'The draft and the original have different files at this path.'
        : 'The draft and the original changed the same lines.';
    case 'path':
      return `Both moved the file: the draft to ${draft?.path}, the original to ${original?.path}.`;
    case 'deleted_in_draft':
      return 'The draft deleted the file, and the original changed it.';
    case 'deleted_in_original':
      return 'The original deleted the file, and the draft changed it.';
    case 'occupied':
      return `Something else is in its place in the original: ${blocked_by?.path}.`;
  }
}

/** Returns a file's old and new path: the draft's path, unless only the original changed the file. */
export function changedPaths({ path, base, draft, original, in_draft }: DraftChange) {
  const now = in_draft === null ? original : draft;
  return { from: base?.path ?? null, path: now?.path ?? base?.path ?? path };
}

/** Returns the word for a change in its mark. */
export const changeWord = ({ conflict, in_draft, in_original }: DraftChange) =>
  conflict === null ? (in_draft ?? in_original ?? '') : 'conflict';

/** Words for each group's count. */
export const GROUPS = {
  conflict: 'conflict',
  both: 'on both sides',
  added: 'added',
  changed: 'changed',
  moved: 'moved',
  deleted: 'deleted',
  original: 'only in the original',
} as const;

export type Group = keyof typeof GROUPS;

export function changeGroup({ conflict, changed_in, in_draft }: DraftChange): Group {
  if (conflict !== null) return 'conflict';
  if (changed_in === 'both') return 'both';
  return in_draft ?? 'original';
}

/** Returns the changes by directory, in path order, with the root's files last. */
export function changesByDirectory(changes: readonly DraftChange[]): [string, DraftChange[]][] {
  const named = changes.map((change) => ({ change, path: changedPaths(change).path }));
  const directories = Map.groupBy(named, ({ path }) => directoryAbove(path));
  const byName = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);
  return [...directories]
    .sort(([a], [b]) => (a === ROOT || (b !== ROOT && b < a) ? 1 : -1))
    .map(([directory, members]) => [directory, members.sort(byName).map(({ change }) => change)]);
}

/** Returns the changes by group, conflicts first. */
export function groupChanges(changes: readonly DraftChange[]): [Group, DraftChange[]][] {
  const groups = Map.groupBy(changes, changeGroup);
  return (Object.keys(GROUPS) as Group[]).flatMap((group) => {
    const members = groups.get(group);
    return members === undefined ? [] : [[group, members] as [Group, DraftChange[]]];
  });
}

/** Describes each side's change to a file. */
export function sidesText({ in_draft, in_original, content_changed }: DraftChange): string {
  if (in_draft === in_original) return `${in_draft} on both sides`;
  const ofDraft = in_draft === 'moved' && content_changed ? 'moved and changed' : in_draft;
  return [ofDraft && `${ofDraft} in the draft`, in_original && `${in_original} in the original`]
    .filter(Boolean)
    .join(', ');
}

export const STATES: Record<Draft['state'], string> = {
  open: 'open',
  merged: 'merged',
  replaced: 'took the place of the original',
  rejected: 'rejected',
  expired: 'expired',
};
