import { actorText } from '../memory/origin.ts';
import { amount } from '../util/amount.ts';
import type { Changes, FileChange } from './apply.ts';
import { shownTime } from './time.ts';
import type { Conflict } from './undo.ts';

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

/** What stays of what an actor did, and why. */
export function conflictText(conflict: Conflict): string {
  const path = conflict.path ?? `the file ${conflict.memoryId}`;
  switch (conflict.reason) {
    case 'changed':
      return `${path}: ${actorText(conflict.changedBy)} changed it at ${shownTime(conflict.changedAt)}. It is left alone.`;
    case 'mixed':
      return `${path}: ${actorText(conflict.changedBy)} changed it in between, at ${shownTime(conflict.changedAt)}. Only what came after is reverted.`;
    case 'occupied':
      return `${path}: something else is at ${conflict.at} now. It is left alone.`;
    case 'pruned':
    case 'redacted':
      return `${path}: what was there before was ${conflict.reason}. It is left alone.`;
  }
}
