import type { Command } from 'commander';
import type { Database } from '../database/database.ts';
import { betweenVersions, changesBetween, type FileDiff } from '../history/diff.ts';
import type { History } from '../history/history.ts';
import { withContents } from '../history/log.ts';
import { compare, differenceOf, type LoadedDiff } from '../history/patch.ts';
import { shownTime } from '../history/time-text.ts';
import { fullVersionId, isVersionId, type Version, versionRecord } from '../history/version.ts';
import { actorText } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import {
  memoryPath,
  TIME_HELP,
  tenantId,
  timeArgument,
  timeOf,
  timesOf,
  VERSION_HELP,
  versionArgument,
} from './arguments.ts';
import { type Io, print } from './io.ts';
import { formatJson, patchText, shown, styled } from './output.ts';
import { type Open, withTenant } from './session.ts';

/** `show`: one version with its content. */
export function registerShowCommand(program: Command, open: Open, io: Io): void {
  program
    .command('show')
    .description('Show a version with its metadata and content.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<version>', VERSION_HELP, versionArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service show acme 01a20877-6010')
    .action((tenant: string, id: string, { json }: { json?: boolean }) =>
      withTenant(open, tenant, async ({ database, history }) => {
        const { version, content } = await history.existing(
          tenant,
          await fullVersionId(database, tenant, id),
        );
        const record = { ...versionRecord(version), content };
        await print(io.stdout, json ? [formatJson(record)] : text(version, content, io.stdout));
      }),
    );
}

function* text(version: Version, content: string | null, stdout: Io['stdout']): Generator<string> {
  const { actor, redactedAt, redactedBy } = version;
  const fields: [string, string | number | null][] = [
    ['version', version.id],
    ['memory', version.memoryId],
    ['operation', version.operation],
    ['path', version.path],
    ['time', shownTime(version.createdAt)],
    ['by', 'id' in actor ? `${actorText(actor)} (${actor.id})` : actorText(actor)],
    ['request', version.requestId],
    ['tool use', version.toolUseId],
    ['via', version.viaTenant],
    ['bytes', version.contentSizeBytes],
    ['sha256', version.contentSha256],
    [
      'redacted',
      redactedAt && `${shownTime(redactedAt)}${redactedBy === null ? '' : ` by ${actorText(redactedBy)}`}`,
    ],
  ];
  for (const [name, value] of fields) {
    if (value !== null)
      yield `${styled(stdout, 'yellow', name.padEnd(9))}  ${shown(stdout, String(value))}\n`;
  }
  if (content === null) return;
  yield `\n${shown(stdout, content)}`;
  if (stdout.isTTY && !content.endsWith('\n')) yield '\n';
}

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
