import type { MemoryPath } from '../memory/path.ts';
import { type SameContent, type SideFile, sideChange, type ThreeWay } from './three-way.ts';

/** A reviewer's resolution for a file: the draft's state, the original's state, or a custom text. */
export type Resolution = 'draft' | 'original' | { text: string };

/** A file's state in the original after a merge. Null deletes the file. `keep` preserves the content. */
export type Outcome = { path: MemoryPath; content: 'keep' | 'draft' | { text: string } } | null;

/**
 * Reason why the two sides of a file cannot be combined: both changed the same lines, both moved the file to different
 * paths, or one side deleted the file and the other side changed it. Blocked paths are found separately.
 */
export type FileConflict = 'content' | 'path' | 'deleted_in_draft' | 'deleted_in_original';

/** Merged lines by file ID; null if the lines conflict. */
export type MergedTexts = ReadonlyMap<string, string | null>;

export interface MergedFile {
  outcome: Outcome;
  conflict: FileConflict | null;
}

/** Whether both sides changed the content differently, so that the file needs a line merge. */
export function needsLines<File extends SideFile>(
  { base, draft, original }: ThreeWay<File>,
  same: SameContent<File>,
): boolean {
  if (base === null || draft === null || original === null) return false;
  return !same(draft, original) && !same(base, draft) && !same(base, original);
}

/** @param texts merged lines by file ID, for the files that `needsLines` */
export function mergeFile<File extends SideFile>(
  file: ThreeWay<File>,
  same: SameContent<File>,
  texts: MergedTexts,
): MergedFile {
  const { base, draft, original } = file;
  const asIs = keepOriginal(file);
  const inDraft = sideChange(base, draft, same);
  if (inDraft === null) return { outcome: asIs, conflict: null };
  const inOriginal = sideChange(base, original, same);
  if (inOriginal === null) return { outcome: takeDraft(file, same), conflict: null };
  if (draft === null || original === null) {
    if (draft === original) return { outcome: null, conflict: null };
    return { outcome: asIs, conflict: draft === null ? 'deleted_in_draft' : 'deleted_in_original' };
  }
  const path = mergedPath(file);
  if (path === undefined) return { outcome: asIs, conflict: 'path' };
  if (same(draft, original)) return { outcome: { path, content: 'keep' }, conflict: null };
  if (base !== null && same(base, draft)) return { outcome: { path, content: 'keep' }, conflict: null };
  if (base !== null && same(base, original)) return { outcome: { path, content: 'draft' }, conflict: null };
  const text = texts.get(file.id) ?? null;
  if (text === null) return { outcome: asIs, conflict: 'content' };
  return { outcome: { path, content: { text } }, conflict: null };
}

/** Returns the path on the side that moved the file, or undefined if both sides moved it to different paths. */
function mergedPath({ base, draft, original }: ThreeWay): MemoryPath | undefined {
  if (draft === null || original === null || draft.path === original.path) return original?.path;
  if (draft.path === base?.path) return original.path;
  return original.path === base?.path ? draft.path : undefined;
}

/**
 * Applies a reviewer's resolution to a file. A custom text is written to the merged path, or to the path in the draft
 * if both sides moved the file to different paths.
 */
export function resolveFile(file: ThreeWay, resolution: Resolution, same: SameContent): Outcome {
  if (resolution === 'original') return keepOriginal(file);
  if (resolution === 'draft') return takeDraft(file, same);
  const path = mergedPath(file) ?? file.draft?.path ?? file.original?.path;
  return path === undefined ? null : { path, content: { text: resolution.text } };
}

/** Keeps the file's state in the original. */
export function keepOriginal({ original }: ThreeWay): Outcome {
  return original === null ? null : { path: original.path, content: 'keep' };
}

/** Uses the file's state in the draft. */
export function takeDraft<File extends SideFile>(
  { draft, original }: ThreeWay<File>,
  same: SameContent<File>,
): Outcome {
  if (draft === null) return null;
  const isKept = original !== null && same(draft, original);
  return { path: draft.path, content: isKept ? 'keep' : 'draft' };
}
