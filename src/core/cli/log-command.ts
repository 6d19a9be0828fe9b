import { Option } from 'commander';
import { diffVersion } from '../admin/diffs.ts';
import { findAdjacentChanges } from '../admin/timeline-operations.ts';
import { getVersion, listVersions, type VersionEntry } from '../admin/version-operations.ts';
import { OperatorError } from '../errors/errors.ts';
import { displayTime, parseTime } from '../history/time-text.ts';
import type { ActorOrSource } from '../history/version.ts';
import { formatBytes, parseDuration } from '../lib/units.ts';
import { actorText, actorTextVia } from '../memory/origin.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { memoryPath, positiveInteger, sourceOption, TIME_HELP, tenantId, timeArgument } from './arguments.ts';
import { type Caller, iteratePages } from './caller.ts';
import { type Cli, type CliCommand, command } from './cli-command.ts';
import { type Io, print } from './io.ts';
import { findKind } from './memory-commands.ts';
import { applyStyle, patchText, printLine, sanitizeForTerminal } from './output.ts';
import type { LoggedVersion, LogOptions } from './over-tenants.ts';
import { addSelectionOptions, rejectSelection, toSelection } from './selection-options.ts';

/* Checks for commands without results, which distinguish a typo from an empty result. */

/** `--by` values that match a kind of actor. They are valid without any versions. */
const KINDS: ReadonlySet<string> = new Set(['operator', 'anonymous']);

/** @throws OperatorError if the actor or the source has no versions in the history */
export async function checkActor(
  caller: Caller,
  tenant: string,
  { by, source }: ActorOrSource,
): Promise<void> {
  if (by === undefined && source === undefined) return;
  if ((by !== undefined && KINDS.has(by)) || (await hasVersion(caller, tenant, { by, source }))) return;
  const name = by === undefined ? `The source ${JSON.stringify(source)}` : JSON.stringify(by);
  throw new OperatorError(
    `${name} has made no changes in ${tenant}. See who has: memory-service log ${tenant}`,
  );
}

/** @throws OperatorError if the path has neither an entry nor versions */
async function checkPath(caller: Caller, tenant: string, path: MemoryPath): Promise<void> {
  if (path === ROOT || (await hasVersion(caller, tenant, { path }))) return;
  if ((await findKind(caller, tenant, path)) !== undefined) return;
  throw new OperatorError(
    `${tenant} has no version at ${path} or below it. See: memory-service log ${tenant}`,
  );
}

async function hasVersion(caller: Caller, tenant: string, filter: ActorOrSource & { path?: MemoryPath }) {
  const { versions } = await caller.call(listVersions, {
    params: { tenant },
    query: { ...filter, limit: 1 },
  });
  return versions.length > 0;
}

/**
 * Returns the time in an argument. A duration counts back from the database's clock, which also sets the times of
 * changes.
 */
export async function resolveTime(caller: Caller, tenant: string, given: string): Promise<string> {
  if (parseDuration(given) === undefined) return parseTime(given, new Date());
  return (await caller.call(findAdjacentChanges, { params: { tenant }, query: { at: given } })).at;
}

export const logCommand = (cli: Cli) =>
  command(
    cli,
    'log',
    "Show the versions of a tenant's files, newest first: of a file under all its past paths, or of everything below a directory. Or of many tenants, one after another.",
  )
    .argument('[tenant]', 'tenant ID; choose many tenants with options instead', tenantId)
    .argument('[path]', 'a file or a directory that exists or existed', memoryPath)
    .with((log) => cli.overTenants && addSelectionOptions(log))
    .option(
      '--path-contains <text>',
      'only versions whose path, before or after the change, contains this text',
    )
    .option('--since <time>', 'only versions since this time', timeArgument)
    .option('--until <time>', 'only versions up to this time', timeArgument)
    .option(
      '--by <actor>',
      'only versions by this actor: the ID or label of a key, the subject of a token, the name of an operator or a job, `operator`, or `anonymous`',
    )
    .addOption(sourceOption('only versions written with keys of this source: web, import, …'))
    .option('--by-contains <text>', 'only versions by actors with this text in their type, names or ID')
    .addOption(
      new Option('--operation <op>', 'only versions of one kind').choices([
        'created',
        'modified',
        'renamed',
        'deleted',
      ]),
    )
    .option('--limit <n>', 'maximum number of versions', positiveInteger)
    .option('-p, --patch', 'show the changes of each version, as a unified diff')
    .option('--json', 'print JSON, one object per line')
    .option('--content', 'with --json: include the content')
    .addHelpText('after', TIME_HELP)
    .examples(
      'memory-service log acme',
      'memory-service log acme /memories/prefs.md -p',
      'memory-service log acme --since 2d --by laptop --operation deleted',
      'memory-service log acme --json --limit 100 | jq -r .path',
      'memory-service log --all --source web --since 1d',
    )
    .action(
      (
        tenant: string | undefined,
        path: MemoryPath | undefined,
        options: LogOptions,
        command: CliCommand,
      ) => {
        const { patch = false, json = false, content = false } = options;
        if (content && !json) command.error('error: --content works only with --json');
        const readVersions = versionsReader(cli, tenant, path, options, command);
        const output = { patch, content, isOfMany: tenant === undefined };
        return command.runConnected(async ({ caller, io }) => {
          const versions = readVersions(caller, io);
          await print(
            io.stdout,
            json ? jsonLines(caller, versions, output) : formatLog(caller, versions, output, io),
          );
        });
      },
    );

/** @throws CommanderError if the arguments cannot be combined */
function versionsReader(
  { overTenants }: Cli,
  tenant: string | undefined,
  path: MemoryPath | undefined,
  options: LogOptions,
  command: CliCommand,
): (caller: Caller, io: Io) => AsyncGenerator<LoggedVersion> {
  if (tenant === undefined) {
    if (overTenants === undefined) return command.error("error: missing required argument 'tenant'");
    const selection = toSelection(options, command);
    return (caller, io) => withNotice(overTenants.versions(caller, selection, options), io, async () => {});
  }
  rejectSelection(options, command);
  return (caller, io) =>
    withNotice(iterateVersions(caller, tenant, path, options), io, async () => {
      // A typo in the path or the actor has no versions either.
      if (path !== undefined) await checkPath(caller, tenant, path);
      await checkActor(caller, tenant, options);
    });
}

/** Yields the versions. Without versions, the function runs a check, and prints a notice. */
async function* withNotice(
  versions: AsyncIterable<LoggedVersion>,
  { stderr }: Io,
  checkNone: () => Promise<void>,
): AsyncGenerator<LoggedVersion> {
  let isEmpty = true;
  for await (const version of versions) {
    isEmpty = false;
    yield version;
  }
  if (!isEmpty) return;
  await checkNone();
  printLine(stderr, 'No version matches.');
}

const PAGE = 200;

async function* iterateVersions(
  caller: Caller,
  tenant: string,
  path: MemoryPath | undefined,
  { limit = Number.POSITIVE_INFINITY, since, until, ...options }: LogOptions,
): AsyncGenerator<LoggedVersion> {
  const query = {
    path,
    path_contains: options.pathContains,
    // The times are resolved once, so that all pages use the same times.
    since: since && (await resolveTime(caller, tenant, since)),
    until: until && (await resolveTime(caller, tenant, until)),
    by: options.by,
    source: options.source,
    by_contains: options.byContains,
    operation: options.operation,
  };
  let left = limit;
  const pages = iteratePages((after) =>
    caller.call(listVersions, {
      params: { tenant },
      query: { ...query, limit: Math.min(PAGE, left), after },
    }),
  );
  for await (const { versions } of pages) {
    for (const version of versions) yield { tenant, ...version };
    left -= versions.length;
    if (left <= 0) return;
  }
}

/** Returns a version as JSON, with the fields in docs/history.md. */
export function versionJson<Version extends VersionEntry>({
  previous_version: _,
  previous_path: __,
  ...version
}: Version) {
  return version;
}

interface Output {
  patch: boolean;
  content: boolean;
  isOfMany: boolean;
}

async function* jsonLines(
  caller: Caller,
  versions: AsyncIterable<LoggedVersion>,
  { patch, content, isOfMany }: Output,
): AsyncGenerator<string> {
  for await (const { tenant, ...version } of versions) {
    const params = { tenant, version: version.id };
    const record = {
      ...(isOfMany && { tenant }),
      ...versionJson(version),
      ...(content && { content: (await caller.call(getVersion, { params })).content }),
      ...(patch && { patch: (await readPatch(caller, tenant, version)).patch }),
    };
    yield `${JSON.stringify(record)}\n`;
  }
}

/** Returns a version's patch. The patch is empty if the content is unchanged. */
async function readPatch(
  caller: Caller,
  tenant: string,
  { id: version }: VersionEntry,
): Promise<{ patch: string | null; no_patch_reason: string | null }> {
  const { changes } = await caller.call(diffVersion, { params: { tenant, version } });
  return changes[0] ?? { patch: '', no_patch_reason: null };
}

async function* formatLog(
  caller: Caller,
  versions: AsyncIterable<LoggedVersion>,
  { patch, isOfMany }: Output,
  { stdout }: Io,
): AsyncGenerator<string> {
  const versionText = ({ tenant, ...version }: LoggedVersion) =>
    sanitizeForTerminal(
      stdout,
      isOfMany ? `${tenant.padEnd(COLUMNS.tenant)}  ${formatVersion(version)}` : formatVersion(version),
    );
  let head = isOfMany ? `${'TENANT'.padEnd(COLUMNS.tenant)}  ${VERSION_HEAD}` : VERSION_HEAD;
  for await (const version of versions) {
    if (!patch) {
      yield `${head}${versionText(version)}\n`;
      head = '';
      continue;
    }
    const { tenant } = version;
    yield `${applyStyle(stdout, 'yellow', versionText(version))}\n`;
    const { patch: text, no_patch_reason: reason } = await readPatch(caller, tenant, version);
    yield text === null ? `(no diff: ${reason})\n\n` : `${patchText(stdout, text)}\n`;
  }
}

const COLUMNS = { tenant: 20, time: 27, version: 36, operation: 9, size: 9, actor: 20 } as const;
/** Heading of the lines that `formatVersion` returns, with a line break. */
export const VERSION_HEAD = formatRow('TIME', 'VERSION', 'OPERATION', 'SIZE', 'BY', 'PATH\n');

export function formatRow(
  time: string,
  version: string,
  operation: string,
  size: string,
  actor: string,
  path: string,
): string {
  return [
    time.padEnd(COLUMNS.time),
    version.padEnd(COLUMNS.version),
    operation.padEnd(COLUMNS.operation),
    size.padStart(COLUMNS.size),
    shorten(actor, COLUMNS.actor).padEnd(COLUMNS.actor),
    path,
  ].join('  ');
}

/** Shortens a text to its column's width. `--json` prints the full text. */
function shorten(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

/** Formats a version, or another event of the version, as a line. */
export function formatVersion(version: Omit<VersionEntry, 'operation'> & { operation: string }): string {
  const {
    created_at: createdAt,
    id,
    operation,
    content_size_bytes: bytes,
    path,
    previous_path: before,
  } = version;
  const size = bytes === null ? '-' : formatBytes(bytes);
  const isMoved = operation !== 'deleted' && before !== null && path !== null && before !== path;
  const actor = actorTextVia(version.actor, version.via_tenant);
  const paths = isMoved ? `${before} -> ${path}` : (path ?? redactionText(version));
  return formatRow(displayTime(createdAt), id, operation, size, actor, paths);
}

function redactionText({
  redacted_at: at,
  redacted_by: actor,
}: Pick<VersionEntry, 'redacted_at' | 'redacted_by'>): string {
  const by = actor === null ? '' : ` by ${actorText(actor)}`;
  return `(redacted ${at === null ? '' : displayTime(at)}${by})`;
}
