import { type Command, Option } from 'commander';
import type { Database } from '../database/database.ts';
import { OperatorError } from '../errors/errors.ts';
import { findEntry } from '../files/listing.ts';
import type { History } from '../history/history.ts';
import { type LogEntry, type LogOptions, log, withContents } from '../history/log.ts';
import { compare, reasonOf } from '../history/patch.ts';
import { shownTime } from '../history/time-text.ts';
import { SOURCE, versionRecord } from '../history/version.ts';
import { formatBytes } from '../lib/units.ts';
import { actorText, actorTextVia } from '../memory/origin.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { memoryPath, positiveInteger, TIME_HELP, tenantId, timeArgument, timesOf } from './arguments.ts';
import { type Io, print } from './io.ts';
import { patchText, shown, styled } from './output.ts';
import { type Open, withTenant } from './session.ts';

/*
 * Called when a command has found nothing, to tell a typo from an empty result.
 */

/** An option that names the actors of a source, instead of one. */
export function sourceOption(description: string): Option {
  return new Option('--source <source>', description).conflicts('by');
}

/** What stands for the actors of a source. */
export function bySource(source: string): string {
  return `${SOURCE}${source}`;
}

/** These are never typos: they stand for a kind of actor. */
const KINDS: ReadonlySet<string> = new Set(['operator', 'anonymous']);

/** @throws OperatorError when an actor has no version in the history */
export async function checkActor(history: History, tenant: string, by: string): Promise<void> {
  if (KINDS.has(by) || (await hasVersion(history, tenant, { by }))) return;
  throw new OperatorError(
    `${JSON.stringify(by)} has made no changes in ${tenant}. See who has: memory-service log ${tenant}`,
  );
}

/** @throws OperatorError when nothing is at a path, and no version was there or below it */
export async function checkPath(
  { history, database }: { history: History; database: Database },
  tenant: string,
  path: MemoryPath,
): Promise<void> {
  if (path === ROOT || (await hasVersion(history, tenant, { path }))) return;
  if ((await findEntry(database, tenant, path)) !== undefined) return;
  throw new OperatorError(
    `${tenant} has no version at ${path} or below it. See: memory-service log ${tenant}`,
  );
}

async function hasVersion(history: History, tenant: string, filter: { by: string } | { path: MemoryPath }) {
  return (await history.versionsPage(tenant, filter, null, 1)).length > 0;
}

interface Options extends Omit<LogOptions, 'path'> {
  patch?: boolean;
  json?: boolean;
  content?: boolean;
  source?: string;
}

const EXAMPLES = `
Examples:
  memory-service log acme
  memory-service log acme /memories/prefs.md -p
  memory-service log acme --since 2d --by laptop --operation deleted
  memory-service log acme --json --limit 100 | jq -r .path`;

/** `log`: what changed, when, and by whom. */
export function registerLogCommand(program: Command, open: Open, io: Io): void {
  program
    .command('log')
    .description(
      "Show the versions of a tenant's files, newest first: of a file under all its past paths, or of everything below a directory.",
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('[path]', 'a file or a directory that exists or existed', memoryPath)
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
    .option('-p, --patch', 'show what each version changed, as a unified diff')
    .option('--json', 'print JSON, one object per line')
    .option('--content', 'with --json: include the content')
    .addHelpText('after', `${TIME_HELP}\n${EXAMPLES}`)
    .action((tenant: string, path: MemoryPath | undefined, options: Options, command: Command) => {
      if (options.content && !options.json) command.error('error: --content works only with --json');
      return withTenant(open, tenant, async ({ database, history }) => {
        const { patch, json, content, since, until, source, ...others } = options;
        if (source !== undefined) others.by = bySource(source);
        const filter = { ...others, ...(await timesOf(database, { since, until })) };
        const entries = withNotice(log(history, tenant, path === undefined ? filter : { ...filter, path }));
        const output = { patch: patch ?? false, content: content ?? false };
        await print(
          io.stdout,
          json ? jsonLines(history, tenant, entries, output) : lines(history, tenant, entries, output, io),
        );

        /** Says so when there are no entries, since a typo looks the same. */
        async function* withNotice(entries: AsyncIterable<LogEntry>): AsyncGenerator<LogEntry> {
          let isEmpty = true;
          for await (const entry of entries) {
            isEmpty = false;
            yield entry;
          }
          if (!isEmpty) return;
          if (path !== undefined) await checkPath({ history, database }, tenant, path);
          if (others.by !== undefined && others.by !== null) await checkActor(history, tenant, others.by);
          io.stderr.write('No version matches.\n');
        }
      });
    });
}

async function* jsonLines(
  history: History,
  tenant: string,
  entries: AsyncIterable<LogEntry>,
  { patch, content }: { patch: boolean; content: boolean },
): AsyncGenerator<string> {
  if (!patch && !content) {
    for await (const { version } of entries) yield `${JSON.stringify(versionRecord(version))}\n`;
    return;
  }
  for await (const { change, before, after } of withContents(history, tenant, entries)) {
    const record = {
      ...versionRecord(change.version),
      ...(content && { content: after.kind === 'file' ? after.content : null }),
      ...(patch && { patch: compare(before, after).patch ?? null }),
    };
    yield `${JSON.stringify(record)}\n`;
  }
}

async function* lines(
  history: History,
  tenant: string,
  entries: AsyncIterable<LogEntry>,
  { patch }: { patch: boolean },
  { stdout }: Io,
): AsyncGenerator<string> {
  if (!patch) {
    let head = HEAD;
    for await (const entry of entries) {
      yield `${head}${shown(stdout, line(entry))}\n`;
      head = '';
    }
    return;
  }
  for await (const { change, before, after } of withContents(history, tenant, entries)) {
    yield `${styled(stdout, 'yellow', shown(stdout, line(change)))}\n`;
    const text = compare(before, after).patch;
    yield text === undefined ? `(no diff: ${reasonOf(before, after)})\n\n` : `${patchText(stdout, text)}\n`;
  }
}

const COLUMNS = { time: 27, version: 36, operation: 9, size: 9, actor: 20 } as const;
const HEAD = row('TIME', 'VERSION', 'OPERATION', 'SIZE', 'BY', 'PATH\n');

function row(
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

/** Shortens a text that is too long for its column; `--json` has the whole. */
function shorten(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

function line({ version, before, after }: LogEntry): string {
  const { createdAt, id, operation, contentSizeBytes, actor, viaTenant } = version;
  const size = contentSizeBytes === null ? '-' : formatBytes(contentSizeBytes);
  const isMoved = before.kind === 'file' && after.kind === 'file' && before.path !== after.path;
  const path = isMoved ? `${before.path} -> ${after.path}` : (version.path ?? redacted(version));
  return row(shownTime(createdAt), id, operation, size, actorTextVia(actor, viaTenant), path);
}

function redacted({ redactedAt, redactedBy }: LogEntry['version']): string {
  const by = redactedBy === null ? '' : ` by ${actorText(redactedBy)}`;
  return `(redacted ${redactedAt === null ? '' : shownTime(redactedAt)}${by})`;
}
