import { type Command, Option } from 'commander';
import type { Database } from '../database/database.ts';
import { shownTime } from '../history/time-text.ts';
import { readPages } from '../lib/pages.ts';
import { renamed, snakeCase } from '../lib/text.ts';
import { actorText } from '../memory/origin.ts';
import { type AuditEvent, listAudit } from '../tenants/audit.ts';
import { positiveInteger, TIME_HELP, tenantId, timeArgument, timesOf } from './arguments.ts';
import { type Io, print } from './io.ts';
import { printTable } from './output.ts';
import { type Open, withDatabase } from './session.ts';

const EVENTS_A_PAGE = 200;

interface Options {
  tenant?: string;
  key?: string;
  by?: string;
  action?: string;
  outcome?: string;
  since?: string;
  until?: string;
  limit: number;
  json?: boolean;
}

/** `audit`: what administrators changed. */
export function registerAuditCommand(program: Command, open: Open, io: Io): void {
  program
    .command('audit')
    .description('List administrative changes, newest first. Events are kept for AUDIT_DAYS.')
    .option('--tenant <tenant>', 'only changes of this tenant', tenantId)
    .option('--key <id>', 'only changes of this key')
    .option(
      '--by <actor>',
      'only by this actor: the ID of a key, the subject of a token or the name of an operator',
    )
    .option('--action <name>', 'only this operation, such as updateTenant')
    .option('--outcome <outcome>', '`ok`, `failed`, or the code of an error')
    .option('--since <time>', 'only since this time', timeArgument)
    .option('--until <time>', 'only before this time', timeArgument)
    .addOption(new Option('--limit <n>', 'maximum number of events').argParser(positiveInteger).default(50))
    .option('--json', 'print JSON, one object per line')
    .addHelpText(
      'after',
      `${TIME_HELP}

Examples:
  memory-service audit --tenant acme
  memory-service audit --since 7d --outcome failed
  memory-service audit --action createKey --json | jq -r .key`,
    )
    .action((options: Options) =>
      withDatabase(open, async ({ database }) => {
        const events = await eventsOf(database, options);
        if (options.json) {
          return print(
            io.stdout,
            events.map((event) => `${JSON.stringify(renamed(event, snakeCase))}\n`),
          );
        }
        printTable(
          io.stdout,
          ['TIME', 'WHO', 'ACTION', 'TENANT', 'KEY', 'OUTCOME', 'DETAILS'],
          events.map((event) => [
            shownTime(event.at),
            actorText(event.actor),
            event.dryRun ? `${event.action} (dry run)` : event.action,
            event.tenant,
            event.key,
            event.outcome ?? 'unfinished',
            Object.keys(event.details).length === 0 ? null : JSON.stringify(event.details),
          ]),
        );
      }),
    );
}

async function eventsOf(database: Database, { limit, by, since, until, ...filter }: Options) {
  const times = await timesOf(database, { since, until });
  const wanted = {
    tenant: filter.tenant ?? null,
    key: filter.key ?? null,
    actor: by ?? null,
    action: filter.action ?? null,
    outcome: filter.outcome ?? null,
    since: times.since ?? null,
    until: times.until ?? null,
    scope: null,
  };
  const pages = readPages<AuditEvent>(
    async (after = undefined) =>
      (await listAudit(database, wanted, { limit: EVENTS_A_PAGE, after: after ?? null })).events,
    EVENTS_A_PAGE,
  );
  const events: AuditEvent[] = [];
  for await (const event of pages) {
    events.push(event);
    if (events.length === limit) break;
  }
  return events;
}
