import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { snakeCase } from '../lib/text.ts';
import { amount, byteAmount, formatBytes } from '../lib/units.ts';
import { shownMount } from '../memory/mount.ts';
import { effectiveSettings, fullness } from '../tenants/effective-settings.ts';
import { type ListedTenant, readTenants, type TenantFilter, type TenantOrder } from '../tenants/listing.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { ALL_SETTINGS, formatSetting, settingsFrom } from '../tenants/settings.ts';
import { Tenants } from '../tenants/tenants.ts';
import { percentage, positiveInteger, tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { DEFAULTS_NOTE, printJson, printLine, printTable, size, time } from './output.ts';
import { type Open, withDatabase, withTenant } from './session.ts';

interface ListOptions extends Selection {
  sort: (typeof ORDERS)[number];
  limit?: number;
  json?: boolean;
}

interface Listed extends TenantRow {
  usedPercent: number | null;
  used: string | null;
  lastActivityAt: string | null;
}

const ORDERS = ['id', 'files', 'bytes', 'used', 'activity'] as const;

/** How many tenants are queried at the same time: at most as many as there are connections. */
const AT_ONCE = 8;

/** `tenants list`. */
export function registerTenantListCommand(tenants: Command, open: Open, io: Io): void {
  addSelectionOptions(
    tenants
      .command('list')
      .description(
        'List tenants with their usage. The last activity is the latest change, file read (accurate to the day), or use of a key.',
      ),
  )
    .addOption(new Option('--sort <by>', 'sort order').choices(ORDERS).default('id'))
    .option('--limit <n>', 'maximum number of tenants', positiveInteger)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
${DEFAULTS_NOTE}

Examples:
  memory-service tenants list --sort bytes --limit 20
  memory-service tenants list --near-limit 90
  memory-service tenants list --prefix eu- --sort activity --json`,
    )
    .action((options: ListOptions) =>
      withDatabase(open, async ({ config, database }) => {
        const rows = await listed({ config, database }, options);
        if (options.json) return printJson(io.stdout, rows.map(asJson));
        printTable(
          io.stdout,
          ['TENANT', 'FILES', 'SIZE', 'USED', 'LAST ACTIVITY', 'STATUS'],
          rows.map((row) => [
            row.id,
            row.files,
            size(row.bytes),
            row.used ?? 'no limit',
            row.lastActivityAt ?? 'never',
            row.suspendedAt === null ? 'active' : 'suspended',
          ]),
        );
      }),
    );
}

async function listed(
  { config, database }: { config: Config; database: Database },
  { sort, limit, ...selection }: ListOptions,
): Promise<Listed[]> {
  const isByActivity = sort === 'activity';
  const page = isByActivity ? {} : { order: sort, limit };
  const selected = await selectTenants(database, config, selection, page);
  const rows = selected.map((row) => withUsage(row, config));
  await addActivity(new Tenants(database), rows);
  // To find a tenant's activity takes a statement that reads all of its files, so none sorts by it.
  return isByActivity ? rows.sort(byActivity).slice(0, limit) : rows;
}

function withUsage({ lastChangeAt: _, historySince: __, ...row }: ListedTenant, config: Config): Listed {
  const most = fullness(row, effectiveSettings(row, config));
  const used = most ? `${most.percent}% of ${most.of}` : null;
  return { ...row, usedPercent: most?.percent ?? null, used, lastActivityAt: null };
}

/** The latest first. */
const byActivity = (a: Listed, b: Listed) => (b.lastActivityAt ?? '').localeCompare(a.lastActivityAt ?? '');

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
  return {
    ...row,
    createdAt: time(row.createdAt),
    suspendedAt: time(row.suspendedAt),
    archivedAt: time(row.archivedAt),
  };
}

/** Selects tenants that meet all of the conditions. */
export interface Selection {
  prefix?: string;
  search?: string;
  nearLimit?: number;
  suspended?: boolean;
}

export function addSelectionOptions(command: Command): Command {
  return command
    .option('--prefix <text>', 'only tenants whose ID starts with this', nonEmpty)
    .option('--search <text>', 'only tenants whose ID or name contains this, ignoring case', nonEmpty)
    .option(
      '--near-limit <percent>',
      'only tenants that use at least this percentage of their file or byte limit',
      percentage,
    )
    .option('--suspended', 'only suspended tenants');
}

export function isSelective({ prefix, search, nearLimit, suspended }: Selection): boolean {
  return [prefix, search, nearLimit, suspended].some((each) => each !== undefined);
}

/** Returns the selected tenants, up to a limit. */
export async function selectTenants(
  database: Database,
  config: Config,
  selection: Selection,
  { order = 'id', limit }: { order?: TenantOrder; limit?: number | undefined } = {},
): Promise<ListedTenant[]> {
  const selected: ListedTenant[] = [];
  for await (const tenant of readTenants(database, config, { ...filterOf(selection), order })) {
    selected.push(tenant);
    if (selected.length === limit) break;
  }
  return selected;
}

function filterOf({ prefix, search, nearLimit, suspended }: Selection): TenantFilter {
  return { prefix, search, nearLimit, status: suspended ? 'suspended' : undefined };
}

function nonEmpty(value: string): string {
  if (value !== '') return value;
  throw new InvalidArgumentError('Give at least one character.');
}

/** `tenants show`. */
export function registerTenantShowCommand(tenants: Command, open: Open, io: Io): void {
  tenants
    .command('show')
    .description(
      "Show a tenant's usage and settings in effect. Settings that the tenant does not have come from this command's environment variables, which may differ from those of the running service.",
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', "print JSON: the tenant's own settings (null for none) and the effective ones")
    .addHelpText('after', '\nExample:\n  memory-service tenants show acme')
    .action((tenant: string, { json }: { json?: boolean }) =>
      withTenant(open, tenant, async ({ config, database, tenant: row }) => {
        const all = new Tenants(database);
        const lastActivityAt = time(await all.lastActivity(tenant));
        const storedResults = await all.countStoredResults(tenant);
        if (json) {
          return printJson(io.stdout, {
            ...usageOf(row),
            name: row.name ?? row.id,
            description: row.description,
            storedResults,
            lastActivityAt,
            ...settingsFrom((name) => row[name]),
            effective: effectiveSettings(row, config),
            metadata: row.metadata,
            mounts: row.mounts.map(shownMount),
          });
        }
        const usage = usageOf(row);
        const { id, files, bytes, historyVersions, historyBytes, createdAt, suspendedAt, archivedAt } = usage;
        printTable(
          io.stdout,
          ['TENANT', id],
          [
            ...detailRows(row),
            ['files', String(files)],
            ['size', formatBytes(bytes)],
            ['history', `${amount(historyVersions, 'version')} (${byteAmount(historyBytes)})`],
            ['stored results', String(storedResults)],
            ['created', createdAt],
            ...(row.mounts.length === 0 ? [] : [['mounts', row.mounts.map(({ name }) => name).join(', ')]]),
            ['last activity', lastActivityAt ?? 'never'],
            ['status', suspendedAt === null ? 'active' : `suspended since ${suspendedAt}`],
            ...(archivedAt === null
              ? []
              : [['archived', `since ${archivedAt}: files can only be read and deleted`]]),
          ],
        );
        io.stdout.write('\n');
        const effective = effectiveSettings(row, config);
        printTable(
          io.stdout,
          ['SETTING', 'VALUE', 'FROM'],
          ALL_SETTINGS.map(([name, setting]) => [
            snakeCase(name),
            formatSetting(setting, effective[name]),
            row[name] === null ? 'environment' : 'tenant',
          ]),
        );
        if (ALL_SETTINGS.some(([name]) => row[name] === null)) printLine(io.stderr, `\n${DEFAULTS_NOTE}`);
      }),
    );
}

/** What people say of a tenant, as far as they do. */
function detailRows({ name, description, metadata }: TenantRow): [string, string][] {
  return [
    ...(name === null ? [] : [['name', name] as [string, string]]),
    ...(description === '' ? [] : [['description', description] as [string, string]]),
    ...Object.entries(metadata).map(([key, value]): [string, string] => [`metadata ${key}`, value]),
  ];
}

const usageOf = (row: TenantRow) => {
  const { id, files, bytes, historyVersions, historyBytes } = row;
  return {
    id,
    files,
    bytes,
    historyVersions,
    historyBytes,
    createdAt: time(row.createdAt),
    suspendedAt: time(row.suspendedAt),
    archivedAt: time(row.archivedAt),
  };
};
