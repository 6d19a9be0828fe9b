import type { Command } from 'commander';
import { betweenVersions, changesBetween, type FileDiff } from '../history/diff.ts';
import type { History } from '../history/history.ts';
import { withContents } from '../history/log.ts';
import { compare, differenceOf, type LoadedDiff } from '../history/patch.ts';
import { fullVersionId, isVersionId } from '../history/version.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { TIME_HELP, timeArgument, timeOf, timesOf, versionArgument } from './history-arguments.ts';
import { type Io, print } from './io.ts';
import { patchText } from './patch-output.ts';
import type { Open } from './session.ts';
import { withTenant } from './tenant-session.ts';

interface Options {
  at?: string;
  to?: string;
  json?: boolean;
}

type Subject = { kind: 'version'; id: string } | { kind: 'path'; path: MemoryPath };

const EXAMPLES = `
Examples:
  memory-service diff acme 01a20877-6010
  memory-service diff acme /memories --at 2d
  memory-service diff acme /memories/prefs.md --at 2026-11-20 --to 2026-11-21`;

/** `diff`: what a version changed, or what differs between two versions or times. */
export function registerDiffCommand(program: Command, open: Open, io: Io): void {
  program
    .command('diff')
    .description(
      'Show a unified diff: what a version changed, how two versions differ, or how a path and everything below it differ between two times.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<version|path>', 'ID of a version, or with --at a path', subjectArgument)
    .argument('[version]', 'ID of a second version to compare with the first', versionArgument)
    .option('--at <time>', 'the time to compare from', timeArgument)
    .option('--to <time>', 'the time to compare with (default: now)', timeArgument)
    .option('--json', 'print JSON, one object per line')
    .addHelpText('after', `${TIME_HELP}\n${EXAMPLES}`)
    .action(
      (tenant: string, subject: Subject, second: string | undefined, options: Options, command: Command) => {
        const changesIn = changesOf(tenant, subject, second, options, command);
        return withTenant(open, tenant, async ({ database, history }) => {
          const changes = withContents(history, tenant, await changesIn(history, database));
          await print(io.stdout, output(changes, options.json ?? false, io));
        });
      },
    );
}

function subjectArgument(value: string): Subject {
  return isVersionId(value)
    ? { kind: 'version', id: versionArgument(value) }
    : { kind: 'path', path: memoryPath(value) };
}

/** @throws CommanderError when the arguments do not go together */
function changesOf(
  tenant: string,
  subject: Subject,
  second: string | undefined,
  { at, to }: Options,
  command: Command,
): (history: History, database: Database) => Promise<AsyncGenerator<FileDiff>> {
  if (subject.kind === 'version') {
    if (at !== undefined || to !== undefined) {
      command.error('error: --at and --to work only with a path, not with a version');
    }
    return async (history, database) => {
      const [from, to] = await Promise.all([
        fullVersionId(database, tenant, subject.id),
        second === undefined ? undefined : fullVersionId(database, tenant, second),
      ]);
      return betweenVersions(history, tenant, from, to);
    };
  }
  if (second !== undefined) command.error('error: give two versions, or a path with --at');
  if (at === undefined) command.error('error: to compare a path, give --at <time>');
  return async (history, database) => {
    const from = await timeOf(database, at);
    return changesBetween(history, tenant, subject.path, { from, ...(await timesOf(database, { to })) });
  };
}

async function* output(
  changes: AsyncIterable<LoadedDiff>,
  json: boolean,
  { stdout }: Io,
): AsyncGenerator<string> {
  for await (const change of changes) {
    const difference = await differenceOf(change, compare);
    const { oldPath, path, oldVersion, version, patch, noPatchReason } = difference;
    if (patch === '') continue;
    if (json) {
      yield `${JSON.stringify({ old_path: oldPath, path, old_version: oldVersion, version, patch })}\n`;
    } else if (patch === null) {
      yield `(${path ?? oldPath ?? version}: no diff: ${noPatchReason})\n`;
    } else {
      yield patchText(stdout, patch);
    }
  }
}
