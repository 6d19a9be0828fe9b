import type { MemoryPath } from '../memory/path.ts';

/*
 * A file on the three sides of a merge. A revert merges as a draft does: the state without the actor's changes is the
 * draft.
 */

export interface SideFile {
  memoryId: string;
  versionId: string;
  path: MemoryPath;
  /** Bytes. 0 for the base, whose sizes are unknown. */
  sizeBytes: number;
}

/** A file in the base, the draft, and the original. Null if the file does not exist on a side. */
export interface ThreeWay<File extends SideFile = SideFile> {
  /** File ID in the original, or else in the draft, or else in the base. */
  id: string;
  base: File | null;
  draft: File | null;
  original: File | null;
}

/** Change to a file on one side. The content of a `moved` file may have changed too. */
export type ChangeKind = 'added' | 'changed' | 'moved' | 'deleted';

export type SameContent<File extends SideFile = SideFile> = (a: File, b: File) => boolean;

/** Classifies the change to a file on one side since the base; null if unchanged. */
export function sideChange<File extends SideFile>(
  base: File | null,
  side: File | null,
  same: SameContent<File>,
): ChangeKind | null {
  if (base === null) return side === null ? null : 'added';
  if (side === null) return 'deleted';
  if (side.path !== base.path) return 'moved';
  return same(base, side) ? null : 'changed';
}
