import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import { createListParser, memoryPath, sourceOption, tenantId } from '../../../core/cli/arguments.ts';
import type { Caller } from '../../../core/cli/caller.ts';
import { type Cli, type CliCommand, command } from '../../../core/cli/cli-command.ts';
import { type Io, print } from '../../../core/cli/io.ts';
import { formatRow, formatVersion, VERSION_HEAD } from '../../../core/cli/log-command.ts';
import { printLine, sanitizeForTerminal } from '../../../core/cli/output.ts';
import { OperatorError, ServiceError } from '../../../core/errors/errors.ts';
import { displayTime } from '../../../core/history/time-text.ts';
import { actorText } from '../../../core/memory/origin.ts';
import type { MemoryPath } from '../../../core/memory/path.ts';
import { type ChangeEvent, EVENT_TYPES } from '../change-event.ts';
import { MAX_PAGE } from '../change-parameters.ts';
import { listChanges } from '../changes-operation.ts';

type EventType = (typeof EVENT_TYPES)[number];

interface Filter {
  path?: MemoryPath;
  type?: EventType[];
  by?: string;
  source?: string;
  content?: boolean;
}

interface Options extends Filter {
  after?: string;
  follow?: boolean;
  json?: boolean;
}

const POLL_MS = 1000;
/** Maximum number of events in a page with contents, of which a page has at most a mebibyte. */
const PAGE_WITH_CONTENTS = 100;

export const changesCommand = (cli: Cli) =>
  command(
    cli,
    'changes',
    "List the changes to a tenant's files, oldest first: the change feed. With --follow, wait for further changes.",
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--after <cursor>', 'only changes after this cursor, which --json prints, or after `now`')
    .option('--path <path>', 'only changes to this file, or below this directory', memoryPath)
    .option(
      '--type <type>',
      `only changes with this type: ${EVENT_TYPES.join(', ')}; may be repeated`,
      createListParser(eventType),
    )
    .option(
      '--by <actor>',
      'only changes by this actor: the ID or label of a key, the subject of a token, or `anonymous`',
    )
    .addOption(sourceOption('only changes with keys of this source: web, import, …'))
    .option('--follow', 'wait for further changes, also while the service restarts, until Ctrl-C')
    .option('--json', 'print JSON, one object per line')
    .option('--content', 'with --json: include the content')
    .examples(
      'memory-service changes acme',
      'memory-service changes acme --after now --follow',
      'memory-service changes acme --type deleted --type redacted --by laptop',
      'memory-service changes acme --json | tail -1 | jq -r .cursor',
    )
    .action(
      (tenant: string, { after, follow = false, json = false, ...filter }: Options, cmd: CliCommand) => {
        if (filter.content && !json) cmd.error('error: --content works only with --json');
        return cmd.runConnected(async ({ caller, io }) => {
          const interrupt = new AbortController();
          const abort = () => interrupt.abort();
          if (follow) process.once('SIGINT', abort);
          const pages = readPages(caller, tenant, after, filter, follow ? interrupt.signal : undefined);
          try {
            await print(io.stdout, lines(pages, json, io));
          } finally {
            process.removeListener('SIGINT', abort);
          }
        });
      },
    );

export function eventType(value: string): EventType {
  const type = EVENT_TYPES.find((each) => each === value);
  if (type !== undefined) return type;
  throw new InvalidArgumentError(`Use one of ${EVENT_TYPES.join(', ')}.`);
}

/** @param following reads further pages until it aborts; undefined stops after the last change */
async function* readPages(
  caller: Caller,
  tenant: string,
  start: string | undefined,
  filter: Filter,
  following: AbortSignal | undefined,
): AsyncGenerator<ChangeEvent[]> {
  const limit = filter.content ? PAGE_WITH_CONTENTS : MAX_PAGE;
  let after = start;
  for (let isFirst = true; !following?.aborted; isFirst = false) {
    const input = { params: { tenant }, query: { ...filter, limit, ...(after !== undefined && { after }) } };
    const page = await caller.call(listChanges, input).catch((error: unknown) => {
      // The first page shows that the arguments are valid.
      if (following !== undefined && !isFirst && isTemporary(error)) return undefined;
      throw error;
    });
    if (page !== undefined) {
      yield page.events;
      after = page.cursor;
      if (page.has_more) continue;
    }
    if (following === undefined) return;
    await delay(POLL_MS, undefined, { signal: following }).catch(() => {});
  }
}

function isTemporary(error: unknown): boolean {
  if (error instanceof OperatorError) return error.isTemporary;
  return error instanceof ServiceError && (error.status >= 500 || error.status === 429);
}

async function* lines(
  pages: AsyncIterable<ChangeEvent[]>,
  isJson: boolean,
  { stdout, stderr }: Io,
): AsyncGenerator<string> {
  let isEmpty = true;
  for await (const events of pages) {
    if (isEmpty && events.length > 0 && !isJson) yield VERSION_HEAD;
    isEmpty &&= events.length === 0;
    for (const event of events)
      yield `${isJson ? JSON.stringify(event) : sanitizeForTerminal(stdout, eventLine(event))}\n`;
  }
  if (isEmpty) printLine(stderr, 'No change matches.');
}

function eventLine(event: ChangeEvent): string {
  const { type, at, actor } = event;
  if ('version' in event) return formatVersion({ ...event.version, operation: type, created_at: at, actor });
  const row = (id: string, text: string) => formatRow(displayTime(at), id, type, '-', actorText(actor), text);
  if ('draft' in event) return row(event.draft.id, event.draft.state);
  if ('share' in event) return row(event.share.id, event.share.access);
  if ('key' in event) return row(event.key.id, `${event.key.kind} key`);
  if ('job' in event) return row(event.job.id, `${event.job.kind} job ${event.job.state}`);
  if ('limit' in event) return row('-', `${event.used_percent}% of the limit on ${event.limit}`);
  return row('-', 'previous_tenant' in event ? `${event.previous_tenant} -> ${event.tenant}` : event.tenant);
}
