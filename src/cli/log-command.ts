import { type Command, Option } from 'commander';
import { withContents } from '../history/change.ts';
import type { History } from '../history/history.ts';
import { type LogEntry, type LogOptions, log } from '../history/log.ts';
import { patchOf } from '../history/patch.ts';
import { actorText, versionRecord } from '../history/version.ts';
import type { MemoryPath } from '../memory/path.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { limitArgument, TIME_HELP, timeArgument } from './history-arguments.ts';
import { type Io, print } from './io.ts';
import { patchText, reasonOf, styled } from './patch-output.ts';
import type { Open } from './session.ts';
import { withTenant } from './tenant-session.ts';

interface Options extends Omit<LogOptions, 'path'> {
  patch?: boolean;
  json?: boolean;
  content?: boolean;
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
      "Show the versions of a tenant's files, newest first. Of a file: wherever it was; of a directory: of all below it.",
    )
    .argument('<tenant>', 'its id', tenantId)
    .argument('[path]', 'a file or a directory, there now or earlier', memoryPath)
    .option('--since <time>', 'those from then on', timeArgument)
    .option('--until <time>', 'those up to then', timeArgument)
    .option(
      '--by <actor>',
      "a key's id or label, a token's subject, an operator's or a job's name, `operator`, or `anonymous`",
    )
    .addOption(
      new Option('--operation <op>', 'those of one kind').choices(['created', 'modified', 'deleted']),
    )
    .option('--limit <n>', 'so many at most', limitArgument)
    .option('-p, --patch', 'with what each changed, as a unified diff')
    .option('--json', 'as JSON, an object a line')
    .option('--content', 'with --json: with the content')
    .addHelpText('after', `${TIME_HELP}\n${EXAMPLES}`)
    .action((tenant: string, path: MemoryPath | undefined, options: Options) =>
      withTenant(open, tenant, async ({ history }) => {
        const { patch, json, content, ...filter } = options;
        const entries = log(history, tenant, path === undefined ? filter : { ...filter, path });
        const output = { patch: patch ?? false, content: content ?? false };
        await print(
          io.stdout,
          json ? jsonLines(history, tenant, entries, output) : lines(history, tenant, entries, output, io),
        );
      }),
    );
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
      ...(patch && { patch: patchOf(before, after) ?? null }),
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
      yield `${head}${line(entry)}\n`;
      head = '';
    }
    return;
  }
  for await (const { change, before, after } of withContents(history, tenant, entries)) {
    yield `${styled(stdout, 'yellow', line(change))}\n`;
    const text = patchOf(before, after);
    yield text === undefined ? `(no diff: ${reasonOf(before, after)})\n\n` : `${patchText(stdout, text)}\n`;
  }
}

const COLUMNS = { time: 27, version: 36, operation: 9, bytes: 9, actor: 20 } as const;
const HEAD = row('TIME', 'VERSION', 'OPERATION', 'BYTES', 'BY', 'PATH\n');

function row(
  time: string,
  version: string,
  operation: string,
  bytes: string,
  actor: string,
  path: string,
): string {
  return [
    time.padEnd(COLUMNS.time),
    version.padEnd(COLUMNS.version),
    operation.padEnd(COLUMNS.operation),
    bytes.padStart(COLUMNS.bytes),
    actor.padEnd(COLUMNS.actor),
    path,
  ].join('  ');
}

function line({ version, before, after }: LogEntry): string {
  const { createdAt, id, operation, contentSizeBytes, actor } = version;
  const bytes = contentSizeBytes === null ? '-' : String(contentSizeBytes);
  const isMoved = before.kind === 'file' && after.kind === 'file' && before.path !== after.path;
  const path = isMoved ? `${before.path} -> ${after.path}` : (version.path ?? redacted(version));
  return row(createdAt, id, operation, bytes, actorText(actor), path);
}

function redacted({ redactedAt, redactedBy }: LogEntry['version']): string {
  const by = redactedBy === null ? '' : ` by ${actorText(redactedBy)}`;
  return `(redacted ${redactedAt}${by})`;
}
