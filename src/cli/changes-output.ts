import { InvalidArgumentError } from 'commander';
import type { Config } from '../config.ts';
import type { ChangeOptions, FileChange } from '../history/apply.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { operatorOrigin } from './operator.ts';

/** The options of a command that changes many files: as the operator, within the configured limits. */
export function changeOptions(
  config: Config,
  { dryRun = false, plan }: { dryRun?: boolean; plan?: string },
): ChangeOptions {
  return {
    origin: operatorOrigin(),
    defaults: tenantDefaults(config),
    dryRun,
    expectedPlan: plan,
  };
}

/** A line for each file. */
export function* changeLines(files: Iterable<FileChange>): Generator<string> {
  for (const file of files) {
    if (file.change === 'renamed') {
      yield `${file.contentChanged ? 'RM' : 'R'} ${file.from} -> ${file.path}\n`;
    } else {
      yield `${LETTERS[file.change]} ${file.path}\n`;
    }
  }
}

const LETTERS = { added: 'A', modified: 'M', deleted: 'D' } as const;

/** What the help of a command that prints `changeLines` says of them. */
export const CHANGE_LINES =
  'Prints a line for each file: A added, M modified, D deleted, R renamed, RM renamed and modified.';

export const DRY_RUN = [
  '--dry-run',
  'run all checks and show what would change, and change nothing',
] as const;

export const PLAN = [
  '--plan <plan>',
  'change nothing unless the changes are still those that --dry-run --json showed with this plan',
  planArgument,
] as const;

function planArgument(given: string): string {
  if (/^[0-9a-f]{64}$/.test(given)) return given;
  throw new InvalidArgumentError('it is the plan that --dry-run --json shows.');
}
