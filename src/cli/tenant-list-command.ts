import { type Command, Option } from 'commander';
import type { Config } from '../config.ts';
import { effectiveSettings, fullness } from '../tenants/effective-settings.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { Tenants } from '../tenants/tenants.ts';
import { positiveInteger } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printTable, time } from './output.ts';
import { type Open, withDatabase } from './session.ts';
import { addSelectionOptions, type Selection, selectTenants } from './tenant-selection.ts';

interface ListOptions extends Selection {
  sort: keyof typeof ORDERS;
  limit?: number;
  json?: boolean;
}

interface Listed extends TenantRow {
  usedPercent: number | null;
  used: string | null;
  lastActivityAt: string | null;
}

type Order = (a: Listed, b: Listed) => number;

/** Ascending by ID; the others are descending. */
const ORDERS = {
  id: () => 0,
  files: (a, b) => b.files - a.files,
  bytes: (a, b) => b.bytes - a.bytes,
  used: (a, b) => (b.usedPercent ?? -1) - (a.usedPercent ?? -1),
  activity: (a, b) => (b.lastActivityAt ?? '').localeCompare(a.lastActivityAt ?? ''),
} as const satisfies Record<string, Order>;

/** How many tenants are queried at the same time: at most as many as there are connections. */
const AT_ONCE = 8;

/** `tenants list`. */
export function registerTenantListCommand(tenants: Command, open: Open, io: Io): void {
  addSelectionOptions(
    tenants
      .command('list')
      .description(
        'List tenants with their usage. The last activity is the latest of: a file was written, a file was read (to the day), or a key of the tenant was used.',
      ),
  )
    .addOption(new Option('--sort <by>', 'sort order').choices(Object.keys(ORDERS)).default('id'))
    .option('--limit <n>', 'maximum number of tenants', positiveInteger)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  memory-service tenants list --sort bytes --limit 20
  memory-service tenants list --near-limit 90
  memory-service tenants list --prefix eu- --sort activity --json`,
    )
    .action((options: ListOptions) =>
      withDatabase(open, async ({ config, database }) => {
        const all = new Tenants(database);
        const selected = await selectTenants(all, config, options);
        const rows = await listed(all, config, selected, options);
        if (options.json) return printJson(io.stdout, rows.map(asJson));
        printTable(
          io.stdout,
          ['TENANT', 'FILES', 'BYTES', 'USED', 'LAST ACTIVITY', 'STATUS'],
          rows.map((row) => [
            row.id,
            row.files,
            row.bytes,
            row.used ?? 'no limit',
            row.lastActivityAt ?? 'never',
            row.suspendedAt === null ? 'active' : 'suspended',
          ]),
        );
      }),
    );
}

async function listed(
  tenants: Tenants,
  config: Config,
  selected: TenantRow[],
  { sort, limit = selected.length }: ListOptions,
): Promise<Listed[]> {
  const rows = selected.map((row): Listed => {
    const most = fullness(row, effectiveSettings(row, config));
    const used = most ? `${most.percent}% of ${most.of}` : null;
    return { ...row, usedPercent: most?.percent ?? null, used, lastActivityAt: null };
  });
  // The query for the activity reads all files of a tenant, so it runs only for the tenants that are shown, if possible.
  if (sort === 'activity') await addActivity(tenants, rows);
  const shown = rows.sort(ORDERS[sort]).slice(0, limit);
  if (sort !== 'activity') await addActivity(tenants, shown);
  return shown;
}

async function addActivity(tenants: Tenants, rows: Listed[]): Promise<void> {
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    await Promise.all(
      rows.slice(from, from + AT_ONCE).map(async (row) => {
        row.lastActivityAt = time(await tenants.lastActivity(row.id));
      }),
    );
  }
}

function asJson({ used: _, ...row }: Listed) {
  return { ...row, createdAt: time(row.createdAt), suspendedAt: time(row.suspendedAt) };
}
