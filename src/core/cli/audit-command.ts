import { Option } from 'commander';
import { listAuditEvents, MAX_PAGE } from '../admin/audit-events.ts';
import { displayTime } from '../history/time-text.ts';
import { actorText } from '../memory/origin.ts';
import { createListParser, positiveInteger, TIME_HELP, tenantId, timeArgument } from './arguments.ts';
import { readList } from './caller.ts';
import { type Cli, command } from './cli-command.ts';
import { table } from './output.ts';

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

export const auditCommand = (cli: Cli) =>
  command(cli, 'audit', 'List administrative changes, newest first. Events are kept for AUDIT_DAYS.')
    .option('--tenant <tenant>', 'only changes of this tenant', tenantId)
    .option('--key <id>', 'only changes of this key')
    .option(
      '--by <actor>',
      'only by this actor: the ID or label of a key, the subject of a token, or the name of an operator',
    )
    .option(
      '--action <name>',
      'only this operation, such as updateTenant; may be repeated',
      createListParser(String),
    )
    .option('--outcome <outcome>', '`ok`, `failed`, or the code of an error')
    .option('--since <time>', 'only since this time', timeArgument)
    .option('--until <time>', 'only before this time', timeArgument)
    .addOption(new Option('--limit <n>', 'maximum number of events').argParser(positiveInteger).default(50))
    .option('--json', 'print JSON, one object per line')
    .addHelpText('after', TIME_HELP)
    .examples(
      'memory-service audit --tenant acme',
      'memory-service audit --since 7d --outcome failed',
      'memory-service audit --action createKey --json | jq -r .key',
    )
    .run(async ({ caller }, { limit, json: _, ...filter }: Options) => {
      const query = { ...filter, limit: Math.min(limit, MAX_PAGE) };
      const events = await readList(caller, listAuditEvents, { query }, (page) => page.events, limit);
      const text = table(events, {
        TIME: (event) => displayTime(event.at),
        WHO: (event) => actorText(event.actor),
        ACTION: (event) => (event.dry_run ? `${event.action} (dry run)` : event.action),
        TENANT: (event) => event.tenant,
        KEY: (event) => event.key,
        OUTCOME: (event) => event.outcome ?? 'unfinished',
        DETAILS: ({ details }) => (Object.keys(details).length === 0 ? null : JSON.stringify(details)),
      });
      return { lines: events, text };
    });
