import { Option } from 'commander';
import { getFleetUsage, getUsage, listUsageDays } from '../admin/usage-operations.ts';
import { formatBytes } from '../lib/units.ts';
import { percentUsed } from '../tenants/effective-settings.ts';
import type { Used } from '../tenants/usage.ts';
import { parseDays, tenantId } from './arguments.ts';
import type { Caller } from './caller.ts';
import { type Cli, command } from './cli-command.ts';
import type { Io } from './io.ts';
import { DEFAULTS_HELP, printTable, sizeCell, table } from './output.ts';

export const usageCommand = (cli: Cli) =>
  command(cli, 'usage', 'Show the usage and limits of a tenant, or the total usage of all tenants.')
    .argument('[tenant]', 'tenant ID', tenantId)
    .addOption(
      new Option('--days <days>', 'show each of the last days (UTC) instead: 30, 30d, 4w').argParser(
        parseDays,
      ),
    )
    .option('--json', 'print JSON; with --days one object per line')
    .addHelpText('after', `\n${DEFAULTS_HELP}`)
    .examples(
      'memory-service usage',
      'memory-service usage acme',
      'memory-service usage acme --days 30',
      'memory-service usage --days 30',
    )
    .run(async ({ caller }, tenant: string | undefined, { days }: { days?: number }) => {
      if (days === undefined) return tenant === undefined ? showTotal(caller) : showTenant(caller, tenant);
      // The range includes today, so it starts one day later.
      const query = { since: `${days - 1}d` };
      return tenant === undefined ? showFleetDays(caller, query) : showDays(caller, tenant, query);
    });

interface Measures {
  day: string;
  files: number | null;
  bytes: number | null;
  history_bytes: number | null;
  reads: number;
  writes: number;
  rejected: number;
}

/** Columns with a day's sizes and requests. */
const MEASURES = {
  FILES: (day: Measures) => day.files,
  SIZE: (day: Measures) => sizeCell(day.bytes),
  HISTORY: (day: Measures) => sizeCell(day.history_bytes),
  READS: (day: Measures) => day.reads,
  WRITES: (day: Measures) => day.writes,
  REJECTED: (day: Measures) => day.rejected,
};

async function showDays(caller: Caller, tenant: string, query: { since: string }) {
  const { days } = await caller.call(listUsageDays, { params: { tenant }, query });
  return { lines: days, text: table(days, { DAY: ({ day }) => day, ...MEASURES }) };
}

async function showFleetDays(caller: Caller, query: { since: string }) {
  const { days } = await caller.call(getFleetUsage, { query });
  const text = table(days, {
    DAY: ({ day }) => day,
    TENANTS: ({ tenants }) => tenants,
    ACTIVE: ({ active }) => active,
    ...MEASURES,
  });
  return { lines: days, text };
}

async function showTenant(caller: Caller, tenant: string) {
  const usage = await caller.call(getUsage, { params: { tenant } });
  const rows = [
    usedRow('files', usage.files, String),
    usedRow('size', usage.bytes, formatBytes),
    usedRow('history', usage.history_bytes, formatBytes),
  ];
  const head = [tenant, 'USED', 'LIMIT', 'PERCENT'];
  return { json: usage, text: ({ stdout }: Io) => printTable(stdout, head, rows) };
}

function usedRow(what: string, { used, limit }: Used, format: (value: number) => string): string[] {
  if (limit === null) return [what, format(used), 'no limit', '-'];
  return [what, format(used), format(limit), `${percentUsed(used, limit)}%`];
}

/** Only totals are shown, so the shortest range is requested. */
const TODAY = '0d';

async function showTotal(caller: Caller) {
  const { total } = await caller.call(getFleetUsage, { query: { since: TODAY } });
  const text = table([total], {
    TENANTS: ({ tenants }) => tenants,
    FILES: ({ files }) => files,
    SIZE: ({ bytes }) => sizeCell(bytes),
    VERSIONS: ({ history_versions: versions }) => versions,
    HISTORY: ({ history_bytes: bytes }) => sizeCell(bytes),
  });
  return { json: total, text };
}
