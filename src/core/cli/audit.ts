import { type Command, Option } from 'commander';
import { listAuditEvents, MAX_PAGE } from '../admin/audit-events.ts';
import { shownTime } from '../history/time-text.ts';
import { actorText } from '../memory/origin.ts';
import { positiveInteger, repeated, TIME_HELP, tenantId, timeArgument } from './arguments.ts';
import { type Caller, type Cli, firstItems, readItems, withCaller } from './caller.ts';
import { print } from './io.ts';
import { printTable } from './output.ts';

interface Options {
  tenant?: string;
  key?: string;
  by?: string;
  action?: string[];
  outcome?: string;
  since?: string;
  until?: string;
  limit: number;
  json?: boolean;
}

export function registerAuditCommand(program: Command, { connect, io }: Cli): void {
  program
    .command('audit')
    .description('List administrative changes, newest first. Events are kept for AUDIT_DAYS.')
    .option('--tenant <tenant>', 'only changes of this tenant', tenantId)
    .option('--key <id>', 'only changes of this key')
    .option(
      '--by <actor>',
      'only by this actor: the ID or label of a key, the subject of a token, or the name of an operator',
    )
    .option('--action <name>', 'only this operation, such as updateTenant; may be repeated', repeated(String))
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
      withCaller(connect, async (caller) => {
        const events = await readEvents(caller, options);
        if (options.json) {
          return print(
            io.stdout,
            events.map((event) => `${JSON.stringify(event)}\n`),
          );
        }
        printTable(
          io.stdout,
          ['TIME', 'WHO', 'ACTION', 'TENANT', 'KEY', 'OUTCOME', 'DETAILS'],
          events.map((event) => [
            shownTime(event.at),
            actorText(event.actor),
            event.dry_run ? `${event.action} (dry run)` : event.action,
            event.tenant,
            event.key,
            event.outcome ?? 'unfinished',
            Object.keys(event.details).length === 0 ? null : JSON.stringify(event.details),
          ]),
        );
      }),
    );
}

function readEvents(caller: Caller, { limit, json: _, ...filter }: Options) {
  const query = { ...filter, limit: Math.min(limit, MAX_PAGE) };
  return firstItems(
    readItems(caller, listAuditEvents, { query }, ({ events }) => events),
    limit,
  );
}
