import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../config.ts';
import { OperatorError } from '../errors.ts';
import type { ChangeOptions } from '../history/apply.ts';
import { type Changes, countsOf, type FileChange, summary } from '../history/changes.ts';
import { History } from '../history/history.ts';
import { restoreAt, restoreVersion } from '../history/restore.ts';
import { conflictText, revert } from '../history/revert.ts';
import { shownTime } from '../history/time-text.ts';
import { fullVersionId } from '../history/version.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { amount } from '../util/amount.ts';
import {
  memoryPath,
  TIME_HELP,
  tenantId,
  timeArgument,
  timeOf,
  VERSION_HELP,
  versionArgument,
} from './arguments.ts';
import { bySource, checkActor, sourceOption } from './history-subjects.ts';
import { type Io, Progress, print } from './io.ts';
import { formatJson } from './output.ts';
import { audited, type Open, operatorOrigin, withDatabase } from './session.ts';

interface RestoreOptions {
  at?: string;
  version?: string;
  dryRun?: boolean;
  plan?: string;
  json?: boolean;
}

/** `restore`: a tenant's memory, or a part of it, as it was. */
export function registerRestoreCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('restore')
    .description(
      'Restore a file, a directory, or the whole memory to a past time. With --version, restore a file to that version, at the path it had then; with a path as well, write the content of the version to that path and leave the file where it is. If a path is occupied, nothing changes. Another restore undoes it.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '[path]',
      'the file or directory (default: the whole memory); with --version, where to put its content',
      memoryPath,
    )
    .addOption(new Option('--at <time>', 'the time to restore').argParser(timeArgument).conflicts('version'))
    .option('--version <id>', VERSION_HELP, versionArgument)
    .option(...DRY_RUN)
    .option(...PLAN)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}
${CHANGE_LINES}

Examples:
  memory-service restore acme --at 2h --dry-run
  memory-service restore acme /memories/projects --at 2026-11-17T09:00:00Z
  memory-service restore acme --version 01a20877-6010
  memory-service restore acme /memories/old-notes.md --version 01a20877-6010`,
    )
    .action((tenant: string, path: MemoryPath | undefined, options: RestoreOptions, command: Command) => {
      if (options.at === undefined && options.version === undefined) {
        command.error('error: requires --at <time> or --version <id>');
      }
      return withDatabase(open, async ({ config, database }) => {
        const { dryRun = false, json = false } = options;
        const changes = await audited({ database, io }, 'restore', { tenant, dryRun }, async (note) => {
          const made = await restore(database, tenant, path, options, changeOptions(config, options));
          note({ details: countsOf(made) });
          return made;
        });
        if (json) return print(io.stdout, [formatJson({ tenant, dryRun, ...changes })]);
        await print(io.stdout, changeLines(changes.files));
        io.stderr.write(`${dryRun ? 'Would restore' : 'Restored'} ${tenant}: ${summary(changes)}.\n`);
      });
    });
}

async function restore(
  database: Database,
  tenant: string,
  path: MemoryPath | undefined,
  { at, version }: RestoreOptions,
  options: ChangeOptions,
): Promise<Changes> {
  if (at !== undefined) {
    return restoreAt(database, tenant, { path: path ?? ROOT, at: await timeOf(database, at) }, options);
  }
  const id = await fullVersionId(database, tenant, version ?? '');
  return restoreVersion(database, tenant, { version: id, path }, options);
}

const CONFLICTS = 3;

interface RevertOptions {
  by?: string;
  source?: string;
  since: string;
  until?: string;
  dryRun?: boolean;
  plan?: string;
  json?: boolean;
}

/** `revert`: what one actor did is undone. */
export function registerRevertCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('revert')
    .description(
      'Undo what one actor has done since a time, and nothing else. Files that someone else has changed since are left unchanged and listed, and the exit code is 3.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .option(
      '--by <actor>',
      'the ID or label of a key, the subject of a token, the name of a job, the ID of a draft, `operator`, or `anonymous`; whoever approved a change counts as its author, too',
    )
    .addOption(
      sourceOption('instead of --by: undo what was written with keys of this source: web, import, …'),
    )
    .requiredOption('--since <time>', 'undo changes since this time', timeArgument)
    .option(
      '--until <time>',
      'undo changes up to this time (default: now), and keep later ones',
      timeArgument,
    )
    .option(...DRY_RUN)
    .option(...PLAN)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}
${CHANGE_LINES}

Examples:
  memory-service revert acme --by laptop --since 3d --dry-run
  memory-service revert acme --by key_5f0c2a7d91e4 --since 2026-11-17T09:00:00Z
  memory-service revert acme --by laptop --since 2026-11-17T09:00:00Z --until 2026-11-17T10:00:00Z`,
    )
    .action((tenant: string, options: RevertOptions, command: Command) => {
      const { source, by = source === undefined ? undefined : bySource(source) } = options;
      if (by === undefined) command.error('error: requires --by <actor> or --source <source>');
      return withDatabase(open, async ({ config, database }) => {
        const { dryRun = false, json = false } = options;
        const since = await timeOf(database, options.since);
        const until = options.until === undefined ? undefined : await timeOf(database, options.until);
        const progress = new Progress(io.stderr, 'Read', 'version');
        const onProgress = (versions: number) => progress.update(versions);
        const change = { ...changeOptions(config, options), onProgress };
        const reverted = await audited({ database, io }, 'revert', { tenant, dryRun }, async (note) => {
          const made = await revert(database, tenant, { by, since, until }, change).finally(() =>
            progress.end(),
          );
          note({ details: { ...countsOf(made), conflicts: made.conflicts.length } });
          return made;
        });
        const { conflicts } = reverted;
        if (reverted.files.length + conflicts.length === 0)
          await checkActor(new History(database), tenant, by);
        if (json) {
          await print(io.stdout, [formatJson({ tenant, dryRun, ...reverted })]);
        } else {
          await print(io.stdout, changeLines(reverted.files));
          const end = until === undefined ? '' : ` and until ${shownTime(until)}`;
          const verb = dryRun ? 'Would revert' : 'Reverted';
          io.stderr.write(
            `${verb} what ${by} did in ${tenant} since ${shownTime(since)}${end}: ${summary(reverted)}.\n`,
          );
        }
        if (conflicts.length === 0) return;
        const list = conflicts.map((conflict) => `\n  ${conflictText(conflict)}`).join('');
        throw new OperatorError(`${amount(conflicts.length, 'conflict')}; not fully reverted:${list}`, {
          exitCode: CONFLICTS,
        });
      });
    });
}

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
