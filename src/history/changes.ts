import type { MemoryPath } from '../memory/path.ts';
import { amount } from '../util/amount.ts';
import { timeSliced, timeSlicedSort } from '../util/time-slice.ts';
import type { Target } from './plan.ts';

/** What `restore` and `revert` make of one file. */
export type FileChange = {
  memoryId: string;
  path: MemoryPath;
  /** The version that there is; null when the file is added. */
  oldVersion: string | null;
  /** The version that the file becomes like; null when it is deleted. */
  version: string | null;
} & (
  | { change: 'added' | 'modified' | 'deleted' }
  | { change: 'renamed'; from: MemoryPath; contentChanged: boolean }
);

export interface PlannedChanges {
  files: FileChange[];
  directoriesMade: MemoryPath[];
  directoriesRemoved: MemoryPath[];
}

/** In the order of the paths. */
export interface Changes extends PlannedChanges {
  /** Stands for all of it: the same again only while the memory is the same there. */
  plan: string;
  /** When it was done, as all its versions say; null when nothing was. */
  changedAt: string | null;
}

/** What becomes of files, in the order of their paths. */
export async function changesOf(targets: readonly Target[]): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  for await (const target of timeSliced(targets)) changes.push(...changeOf(target));
  return timeSlicedSort(changes, byPath);
}

/** Of two at one path, the file that comes first. */
const byPath = (a: FileChange, b: FileChange) =>
  a.path === b.path ? (a.change < b.change ? -1 : 1) : a.path < b.path ? -1 : 1;

function changeOf({ memoryId, now, past }: Target): FileChange[] {
  const versions = { oldVersion: now?.versionId ?? null, version: past?.versionId ?? null };
  if (past === null)
    return now === null ? [] : [{ change: 'deleted', memoryId, path: now.path, ...versions }];
  const { path } = past;
  if (now === null) return [{ change: 'added', memoryId, path, ...versions }];
  if (now.path === path) return [{ change: 'modified', memoryId, path, ...versions }];
  const contentChanged = now.sha256 !== past.sha256;
  return [{ change: 'renamed', memoryId, from: now.path, path, contentChanged, ...versions }];
}

/** What became of a file, in a word or three. */
export function changeText(file: FileChange): string {
  return file.change === 'renamed' && file.contentChanged ? 'renamed and modified' : file.change;
}

const IN_ORDER = ['added', 'modified', 'deleted', 'renamed', 'renamed and modified'];

/** Counts what changed: `2 files added, 1 file renamed, 1 directory removed`. */
export function summary({ files, directoriesMade, directoriesRemoved }: Changes): string {
  const counts = IN_ORDER.flatMap((change) => {
    const count = files.filter((file) => changeText(file) === change).length;
    return count === 0 ? [] : [`${amount(count, 'file')} ${change}`];
  });
  for (const [{ length }, verb] of [
    [directoriesMade, 'made'] as const,
    [directoriesRemoved, 'removed'] as const,
  ]) {
    if (length > 0) counts.push(`${amount(length, 'directory', 'directories')} ${verb}`);
  }
  return counts.length === 0 ? 'nothing to change' : counts.join(', ');
}

/** What changed, as numbers only. */
export function countsOf({ files, directoriesMade, directoriesRemoved }: Changes) {
  return {
    files: files.length,
    directories_made: directoriesMade.length,
    directories_removed: directoriesRemoved.length,
  };
}
