import { type Command, Option } from 'commander';
import type { Config } from '../config.ts';
import { databaseTime } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import { renamed, snakeCase } from '../lib/text.ts';
import { DAY_MS, formatBytes } from '../lib/units.ts';
import { percentOf } from '../tenants/effective-settings.ts';
import { type FleetDay, fleetDays, fleetTotals } from '../tenants/fleet-usage.ts';
import { requireTenant, Tenants } from '../tenants/tenants.ts';
import { type Days, dayOf, tenantUsage, type UsageDay, type Used, usageDays } from '../tenants/usage.ts';
import { numberOfDays, tenantId } from './arguments.ts';
import { type Io, print } from './io.ts';
import { DEFAULTS_NOTE, printJson, printTable, size } from './output.ts';
import { type Open, withDatabase } from './session.ts';

interface Options {
  days?: number;
  json?: boolean;
}

/** `usage`. */
export function registerUsageCommand(program: Command, open: Open, io: Io = process): void {
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
      `\n${DEFAULTS_NOTE}\n\nExamples:\n  memory-service usage\n  memory-service usage acme\n  memory-service usage acme --days 30\n  memory-service usage --days 30`,
    )
    .action((tenant: string | undefined, { days, json = false }: Options) =>
      withDatabase(open, async ({ config, database }) => {
        if (days !== undefined) {
          const wanted = await lastDays(database, days);
          await (tenant === undefined
            ? showFleetDays(database, wanted, json, io)
            : showDays(database, tenant, wanted, json, io));
        } else if (tenant === undefined) await showTotal(database, config, json, io);
        else await showTenant(database, config, tenant, json, io);
      }),
    );
}

/** Today and the days before it. */
async function lastDays(database: Database, days: number): Promise<Days> {
  const first = new Date((await databaseTime(database)).getTime() - (days - 1) * DAY_MS);
  return { from: dayOf(first), until: null };
}

/** The columns of what a tenant, or all tenants together, had and did on a day. */
const MEASURES = ['FILES', 'SIZE', 'HISTORY', 'READS', 'WRITES', 'REFUSED'];

function measuresOf({ files, bytes, historyBytes, reads, writes, refused }: UsageDay | FleetDay) {
  return [files, size(bytes), size(historyBytes), reads, writes, refused];
}

async function showDays(
  database: Database,
  tenant: string,
  wanted: Days,
  json: boolean,
  io: Io,
): Promise<void> {
  await requireTenant(database, tenant);
  const days = await usageDays(database, tenant, wanted);
  if (json) return print(io.stdout, days.map(line));
  printTable(
    io.stdout,
    ['DAY', ...MEASURES],
    days.map((each) => [each.day, ...measuresOf(each)]),
  );
}

async function showFleetDays(database: Database, wanted: Days, json: boolean, io: Io): Promise<void> {
  const days = await fleetDays(database, wanted);
  if (json) return print(io.stdout, days.map(line));
  printTable(
    io.stdout,
    ['DAY', 'TENANTS', 'ACTIVE', ...MEASURES],
    days.map((each) => [each.day, each.tenants, each.active, ...measuresOf(each)]),
  );
}

const line = (value: object) => `${JSON.stringify(renamed(value, snakeCase))}\n`;

async function showTenant(
  database: Database,
  config: Config,
  tenant: string,
  json: boolean,
  io: Io,
): Promise<void> {
  const row = await requireTenant(database, tenant);
  const { files, bytes, historyBytes, historyVersions } = await tenantUsage(
    new Tenants(database),
    config,
    row,
  );
  if (json) {
    return printJson(io.stdout, {
      tenants: 1,
      id: tenant,
      files: files.used,
      bytes: bytes.used,
      historyVersions,
      historyBytes: historyBytes.used,
      maxFiles: files.limit ?? 0,
      maxBytes: bytes.limit ?? 0,
      maxHistoryBytes: historyBytes.limit ?? 0,
    });
  }
  printTable(
    io.stdout,
    [tenant, 'USED', 'LIMIT', 'PERCENT'],
    [
      usedRow('files', files, String),
      usedRow('size', bytes, formatBytes),
      usedRow('history', historyBytes, formatBytes),
    ],
  );
}

function usedRow(what: string, { used, limit }: Used, format: (value: number) => string): string[] {
  if (limit === null) return [what, format(used), 'no limit', '-'];
  return [what, format(used), format(limit), `${percentOf(used, limit)}%`];
}

async function showTotal(database: Database, config: Config, json: boolean, io: Io): Promise<void> {
  const { tenants, files, bytes, historyVersions, historyBytes } = await fleetTotals(database, config, 100);
  const total = { tenants, files, bytes, historyVersions, historyBytes };
  if (json) return printJson(io.stdout, total);
  printTable(
    io.stdout,
    ['TENANTS', 'FILES', 'SIZE', 'VERSIONS', 'HISTORY'],
    [[tenants, files, size(bytes), historyVersions, size(historyBytes)]],
  );
}
