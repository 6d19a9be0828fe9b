import { diffTimes, diffVersion } from '../admin/diffs.ts';
import { getVersion, listVersions } from '../admin/version-operations.ts';
import { ServiceError } from '../errors/errors.ts';
import { displayTime } from '../history/time-text.ts';
import { isVersionId } from '../history/version.ts';
import { actorText } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { memoryPath, TIME_HELP, tenantId, timeArgument, VERSION_HELP, versionArgument } from './arguments.ts';
import { type Caller, iteratePages } from './caller.ts';
import { type Cli, type CliCommand, command } from './cli-command.ts';
import { type Io, print } from './io.ts';
import { versionJson } from './log-command.ts';
import { applyStyle, patchText, sanitizeForTerminal } from './output.ts';

/** Maximum number of IDs that an error lists. */
const LISTED = 5;
/** The latest valid time, in milliseconds. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Completes a version's ID from its first characters (`versionArgument`). IDs begin with the version's time in
 * milliseconds.
 *
 * @returns a full ID in lower case; a given full ID is not looked up
 * @throws ServiceError if no version matches, or several match
 */
export async function fullVersionId(caller: Caller, tenant: string, start: string): Promise<string> {
  const digits = start.toLowerCase().replaceAll('-', '');
  if (digits.length === 32) return start.toLowerCase();
  const time = (fill: string, add: number) => {
    const ms = Number.parseInt(digits.slice(0, 12).padEnd(12, fill), 16) + add;
    return new Date(Math.max(0, Math.min(ms, LAST_MS))).toISOString();
  };
  const query = { since: time('0', -1), until: time('f', 1), limit: 200 };
  const pages = iteratePages((after) =>
    caller.call(listVersions, { params: { tenant }, query: { ...query, after } }),
  );
  const found: string[] = [];
  for await (const { versions } of pages) {
    found.push(...versions.flatMap(({ id }) => (id.replaceAll('-', '').startsWith(digits) ? [id] : [])));
    if (found.length > LISTED) break;
  }
  const [only] = found;
  if (only === undefined) throw new ServiceError('no_such_version', tenant, start);
  if (found.length === 1) return only;
  throw new ServiceError(
    'ambiguous_version',
    tenant,
    start,
    found.slice(0, LISTED).sort(),
    found.length > LISTED,
  );
}

export const showCommand = (cli: Cli) =>
  command(cli, 'show', 'Show a version with its metadata and content.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<version>', VERSION_HELP, versionArgument)
    .option('--json', 'print JSON')
    .examples('memory-service show acme 01a20877-6010')
    .run(async ({ caller }, tenant: string, id: string) => {
      const params = { tenant, version: await fullVersionId(caller, tenant, id) };
      const version = await caller.call(getVersion, { params });
      return { json: versionJson(version), text: ({ stdout }) => print(stdout, text(version, stdout)) };
    });

function* text(version: Awaited<ReturnType<typeof getVersion.run>>, stdout: Io['stdout']): Generator<string> {
  const { actor, content, redacted_at: redactedAt, redacted_by: redactedBy } = version;
  const fields: [string, string | number | null][] = [
    ['version', version.id],
    ['memory', version.memory_id],
    ['operation', version.operation],
    ['path', version.path],
    ['time', displayTime(version.created_at)],
    ['by', 'id' in actor ? `${actorText(actor)} (${actor.id})` : actorText(actor)],
    ['request', version.request_id],
    ['tool use', version.tool_use_id],
    ['via', version.via_tenant],
    ['bytes', version.content_size_bytes],
    ['sha256', version.content_sha256],
    [
      'redacted',
      redactedAt && `${displayTime(redactedAt)}${redactedBy === null ? '' : ` by ${actorText(redactedBy)}`}`,
    ],
  ];
  for (const [name, value] of fields) {
    if (value !== null)
      yield `${applyStyle(stdout, 'yellow', name.padEnd(9))}  ${sanitizeForTerminal(stdout, String(value))}\n`;
  }
  if (content === null) return;
  yield `\n${sanitizeForTerminal(stdout, content)}`;
  if (stdout.isTTY && !content.endsWith('\n')) yield '\n';
}

interface Options {
  at?: string;
  to?: string;
  json?: boolean;
}

type Subject = { kind: 'version'; id: string } | { kind: 'path'; path: MemoryPath };

export const diffCommand = (cli: Cli) =>
  command(
    cli,
    'diff',
    'Show a unified diff: the changes of a version, the differences between two versions, or the differences of a path and everything below it between two times.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<version|path>', 'ID of a version, or with --at a path', subjectArgument)
    .argument('[version]', 'ID of a second version to compare with the first', versionArgument)
    .option('--at <time>', 'the time to compare from', timeArgument)
    .option('--to <time>', 'the time to compare with (default: now)', timeArgument)
    .option('--json', 'print JSON, one object per line')
    .addHelpText('after', TIME_HELP)
    .examples(
      'memory-service diff acme 01a20877-6010',
      'memory-service diff acme /memories --at 2d',
      'memory-service diff acme /memories/prefs.md --at 2026-11-20 --to 2026-11-21',
    )
    .action(
      (
        tenant: string,
        subject: Subject,
        second: string | undefined,
        options: Options,
        command: CliCommand,
      ) => {
        const changesIn = createChangeReader(tenant, subject, second, options, command);
        return command.runConnected(({ caller, io }) =>
          print(io.stdout, formatChanges(changesIn(caller), options.json ?? false, io)),
        );
      },
    );

function subjectArgument(value: string): Subject {
  return isVersionId(value)
    ? { kind: 'version', id: versionArgument(value) }
    : { kind: 'path', path: memoryPath(value) };
}

type Difference = Awaited<ReturnType<typeof diffVersion.run>>['changes'][number];

/** @throws CommanderError if the arguments cannot be combined */
function createChangeReader(
  tenant: string,
  subject: Subject,
  second: string | undefined,
  { at, to }: Options,
  command: CliCommand,
): (caller: Caller) => AsyncGenerator<Difference> {
  if (subject.kind === 'version') {
    if (at !== undefined || to !== undefined) {
      command.error('error: --at and --to work only with a path, not with a version');
    }
    return async function* (caller) {
      const first = await fullVersionId(caller, tenant, subject.id);
      const version = second === undefined ? first : await fullVersionId(caller, tenant, second);
      const query = second === undefined ? {} : { against: first };
      yield* (await caller.call(diffVersion, { params: { tenant, version }, query })).changes;
    };
  }
  if (second !== undefined) command.error('error: give two versions, or a path with --at');
  if (at === undefined) command.error('error: to compare a path, give --at <time>');
  return async function* (caller) {
    const query = { path: subject.path, at, to, limit: 100 };
    const pages = iteratePages((after) =>
      caller.call(diffTimes, { params: { tenant }, query: { ...query, after } }),
    );
    for await (const { changes } of pages) yield* changes;
  };
}

async function* formatChanges(
  changes: AsyncIterable<Difference>,
  json: boolean,
  { stdout }: Io,
): AsyncGenerator<string> {
  for await (const { no_patch_reason: reason, ...change } of changes) {
    const { old_path: oldPath, path, version, patch } = change;
    if (json) yield `${JSON.stringify(change)}\n`;
    else if (patch === null) yield `(${path ?? oldPath ?? version}: no diff: ${reason})\n`;
    else yield patchText(stdout, patch);
  }
}
