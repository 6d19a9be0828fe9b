import { type Command, Option } from 'commander';
import { getFleetUsage, getUsage, listUsageDays } from '../admin/usage.ts';
import { formatBytes } from '../lib/units.ts';
import { percentOf } from '../tenants/effective-settings.ts';
import type { Used } from '../tenants/usage.ts';
import { numberOfDays, tenantId } from './arguments.ts';
import { type Caller, type Cli, withCaller } from './caller.ts';
import { type Io, print } from './io.ts';
import { DEFAULTS_HELP, printJson, printTable, size } from './output.ts';

interface Options {
  days?: number;
  json?: boolean;
}

export function registerUsageCommand(program: Command, { connect, io }: Cli): void {
  program
    .command('usage')
    .description('Show the usage and limits of a tenant, or the total usage of all tenants.')
    .argument('[tenant]', 'tenant ID', tenantId)
    .addOption(
      new Option('--days <days>', 'show each of the last days (UTC) instead: 30, 30d, 4w').argParser(
        numberOfDays,
      ),
    )
    .option('--json', 'print JSON; with --days one object per line')
    .addHelpText(
      'after',
      `\n${DEFAULTS_HELP}\n\nExamples:\n  memory-service usage\n  memory-service usage acme\n  memory-service usage acme --days 30\n  memory-service usage --days 30`,
    )
    .action((tenant: string | undefined, { days, json = false }: Options) =>
      withCaller(connect, async (caller) => {
        if (days !== undefined) {
          // The range includes today, so it starts one day later.
          const since = `${days - 1}d`;
          await (tenant === undefined
            ? showFleetDays(caller, since, json, io)
            : showDays(caller, tenant, since, json, io));
        } else if (tenant === undefined) await showTotal(caller, json, io);
        else await showTenant(caller, tenant, json, io);
      }),
    );
}

/** Columns with the sizes and requests of a day. */
const MEASURES = ['FILES', 'SIZE', 'HISTORY', 'READS', 'WRITES', 'REFUSED'];

interface Measures {
  files: number | null;
  bytes: number | null;
  history_bytes: number | null;
  reads: number;
  writes: number;
  refused: number;
}

function measuresOf({ files, bytes, history_bytes, reads, writes, refused }: Measures) {
  return [files, size(bytes), size(history_bytes), reads, writes, refused];
}

async function showDays(caller: Caller, tenant: string, since: string, json: boolean, io: Io): Promise<void> {
  const { days } = await caller.call(listUsageDays, { params: { tenant }, query: { since } });
  if (json) return print(io.stdout, days.map(line));
  printTable(
    io.stdout,
    ['DAY', ...MEASURES],
    days.map((each) => [each.day, ...measuresOf(each)]),
  );
}

async function showFleetDays(caller: Caller, since: string, json: boolean, io: Io): Promise<void> {
  const { days } = await caller.call(getFleetUsage, { query: { since } });
  if (json) return print(io.stdout, days.map(line));
  printTable(
    io.stdout,
    ['DAY', 'TENANTS', 'ACTIVE', ...MEASURES],
    days.map((each) => [each.day, each.tenants, each.active, ...measuresOf(each)]),
  );
}

const line = (value: object) => `${JSON.stringify(value)}\n`;

async function showTenant(caller: Caller, tenant: string, json: boolean, io: Io): Promise<void> {
  const usage = await caller.call(getUsage, { params: { tenant } });
  if (json) return printJson(io.stdout, usage);
  printTable(
    io.stdout,
    [tenant, 'USED', 'LIMIT', 'PERCENT'],
    [
      usedRow('files', usage.files, String),
      usedRow('size', usage.bytes, formatBytes),
      usedRow('history', usage.history_bytes, formatBytes),
    ],
  );
}

function usedRow(what: string, { used, limit }: Used, format: (value: number) => string): string[] {
  if (limit === null) return [what, format(used), 'no limit', '-'];
  return [what, format(used), format(limit), `${percentOf(used, limit)}%`];
}

/** Only totals are shown, so the shortest range is requested. */
const TODAY = '0d';

async function showTotal(caller: Caller, json: boolean, io: Io): Promise<void> {
  const { total } = await caller.call(getFleetUsage, { query: { since: TODAY } });
  if (json) return printJson(io.stdout, total);
  printTable(
    io.stdout,
    ['TENANTS', 'FILES', 'SIZE', 'VERSIONS', 'HISTORY'],
    [[total.tenants, total.files, size(total.bytes), total.history_versions, size(total.history_bytes)]],
  );
}
