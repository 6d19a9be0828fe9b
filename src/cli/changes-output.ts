import type { Config } from '../config.ts';
import type { ChangeOptions, Changes, FileChange } from '../history/changes.ts';
import { amount } from './io.ts';
import { operatorOrigin } from './operator.ts';

/** How a command that changes many files does it: as the operator, within the configured limits. */
export function changeOptions(config: Config, dryRun: boolean): ChangeOptions {
  return {
    origin: operatorOrigin(),
    quotas: { maxFiles: config.MAX_TENANT_FILES, maxBytes: config.MAX_TENANT_BYTES },
    historyDays: config.HISTORY_DAYS,
    dryRun,
  };
}

/** A line for each file. */
export function* changeLines(files: Iterable<FileChange>): Generator<string> {
  for (const file of files) {
    if (file.change === 'renamed') yield `R ${file.from} -> ${file.path}\n`;
    else yield `${LETTERS[file.change]} ${file.path}\n`;
  }
}

const LETTERS = { added: 'A', modified: 'M', deleted: 'D' } as const;

/** Counts what changed: `2 files added, 1 file renamed, 1 directory removed`. */
export function summary({ files, directoriesMade, directoriesRemoved }: Changes): string {
  const counts = (['added', 'modified', 'deleted', 'renamed'] as const).flatMap((change) => {
    const count = files.filter((file) => file.change === change).length;
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

/** What the help of a command that prints `changeLines` says of them. */
export const CHANGE_LINES = 'Prints a line for each file: A added, M modified, D deleted, R renamed.';

export const DRY_RUN = ['--dry-run', 'make the same checks and only say what would change'] as const;
