import type { MemoryPath } from '../memory/path.ts';
import { changeOf, type SameContent, type ThreeWay } from './three-way.ts';

/* What a merge makes of one file. */

/** How a reviewer resolves a file: as the draft has it, as the original has it, or with a text. */
export type Resolution = 'draft' | 'original' | { text: string };

/** What happens to a file in the original; null deletes it. `keep`: it keeps its own content. */
export type Outcome = { path: MemoryPath; content: 'keep' | 'draft' | { text: string } } | null;

/**
 * Why the two sides cannot be combined: both changed the same lines, both moved the file, to different paths, or one
 * deleted what the other changed. (Files that block it are found later.)
 */
export type FileConflict = 'content' | 'path' | 'deleted_in_draft' | 'deleted_in_original';

/** The lines of both sides together, or null when they conflict. */
export type MergedTexts = ReadonlyMap<string, string | null>;

export interface MergedFile {
  outcome: Outcome;
  conflict: FileConflict | null;
}

/**
 * Whether both sides changed the content in different ways, so that only the lines tell whether the changes can be
 * combined.
 */
export function needsLines({ base, draft, original }: ThreeWay, same: SameContent): boolean {
  if (base === null || draft === null || original === null) return false;
  return !same(draft, original) && !same(base, draft) && !same(base, original);
}

/** @param texts the merged lines of the files of which `needsLines` says so, by their ids */
export function mergeFile(file: ThreeWay, same: SameContent, texts: MergedTexts): MergedFile {
  const { base, draft, original } = file;
  const asIs = stay(file);
  const inDraft = changeOf(base, draft, same);
  if (inDraft === null) return { outcome: asIs, conflict: null };
  const inOriginal = changeOf(base, original, same);
  if (inOriginal === null) return { outcome: asDraft(file, same), conflict: null };
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

/** The path of the side that moved the file; undefined when both did, to different paths. */
function mergedPath({ base, draft, original }: ThreeWay): MemoryPath | undefined {
  if (draft === null || original === null || draft.path === original.path) return original?.path;
  if (draft.path === base?.path) return original.path;
  return original.path === base?.path ? draft.path : undefined;
}

/**
 * The file as the reviewer resolved it. With a text, it moves to the path that the sides agree on, or else to that of
 * the draft.
 */
export function resolveFile(file: ThreeWay, resolution: Resolution, same: SameContent): Outcome {
  if (resolution === 'original') return stay(file);
  if (resolution === 'draft') return asDraft(file, same);
  const path = mergedPath(file) ?? file.draft?.path ?? file.original?.path;
  return path === undefined ? null : { path, content: { text: resolution.text } };
}

/** The file as the original has it. */
export function stay({ original }: ThreeWay): Outcome {
  return original === null ? null : { path: original.path, content: 'keep' };
}

/** The file as the draft has it. */
export function asDraft({ draft, original }: ThreeWay, same: SameContent): Outcome {
  if (draft === null) return null;
  const isKept = original !== null && same(draft, original);
  return { path: draft.path, content: isKept ? 'keep' : 'draft' };
}
