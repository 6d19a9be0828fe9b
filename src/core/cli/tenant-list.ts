import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TenantRecord } from '../admin/tenant-record.ts';
import { getTenant, listTenants, MAX_PAGE } from '../admin/tenants.ts';
import { getUsage } from '../admin/usage.ts';
import { ServiceError } from '../errors/errors.ts';
import { snakeCase } from '../lib/text.ts';
import { amount, byteAmount, formatBytes } from '../lib/units.ts';
import { fullness } from '../tenants/effective-settings.ts';
import type { TenantStatus } from '../tenants/listing.ts';
import { ALL_SETTINGS, formatSetting } from '../tenants/settings.ts';
import { metadataOption, percentage, positiveInteger, statusOption, tenantId } from './arguments.ts';
import { type Caller, type Cli, firstItems, readItems, withCaller } from './caller.ts';
import { DEFAULTS_HELP, DEFAULTS_NOTE, printJson, printLine, printTable, size, time } from './output.ts';

const ORDERS = ['id', 'files', 'bytes', 'used', 'activity'] as const;

interface ListOptions extends ListFilter {
  sort: (typeof ORDERS)[number];
  limit?: number;
  json?: boolean;
}

interface ListedTenant extends TenantRecord {
  last_activity_at: string | null;
}

/** Number of tenants to query at once. The number is below the limit of concurrent requests of one admin. */
const AT_ONCE = 5;

export function registerTenantListCommand(tenants: Command, { connect, io }: Cli): void {
  addFilterOptions(
    tenants
      .command('list')
      .description(
        'List tenants with their usage. The last activity is the latest change, file read (accurate to the day), or use of a key.',
      ),
  )
    .addOption(metadataOption())
    .addOption(new Option('--sort <by>', 'sort order').choices(ORDERS).default('id'))
    .option('--limit <n>', 'maximum number of tenants', positiveInteger)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
${DEFAULTS_HELP}

Examples:
  memory-service tenants list --sort bytes --limit 20
  memory-service tenants list --near-limit 90
  memory-service tenants list --status archived --metadata plan=pro
  memory-service tenants list --prefix eu- --sort activity --json`,
    )
    .action((options: ListOptions) =>
      withCaller(connect, async (caller) => {
        const listed = await readTenants(caller, options);
        if (options.json) return printJson(io.stdout, listed);
        printTable(
          io.stdout,
          ['TENANT', 'FILES', 'SIZE', 'USED', 'LAST ACTIVITY', 'STATUS'],
          listed.map((tenant) => [
            tenant.id,
            tenant.files,
            size(tenant.bytes),
            usedText(tenant),
            time(tenant.last_activity_at) ?? 'never',
            tenant.status,
          ]),
        );
      }),
    );
}

async function readTenants(
  caller: Caller,
  { sort, limit, json: _, ...filter }: ListOptions,
): Promise<ListedTenant[]> {
  if (sort !== 'activity') return withActivity(caller, await filterTenants(caller, filter, { sort, limit }));
  // The API cannot sort by activity, because activity takes one statement per tenant.
  const listed = await withActivity(caller, await filterTenants(caller, filter));
  return listed.sort(byActivity).slice(0, limit);
}

function byActivity(one: ListedTenant, other: ListedTenant): number {
  return (other.last_activity_at ?? '').localeCompare(one.last_activity_at ?? '');
}

async function withActivity(caller: Caller, tenants: TenantRecord[]): Promise<ListedTenant[]> {
  const listed: ListedTenant[] = [];
  for (let from = 0; from < tenants.length; from += AT_ONCE) {
    const batch = tenants.slice(from, from + AT_ONCE).map(async (tenant) => ({
      ...tenant,
      last_activity_at: await lastActivity(caller, tenant.id),
    }));
    listed.push(...(await Promise.all(batch)));
  }
  return listed;
}

async function lastActivity(caller: Caller, tenant: string): Promise<string | null> {
  try {
    return (await caller.call(getUsage, { params: { tenant } })).last_activity_at;
  } catch (error) {
    // The tenant was deleted after it was listed.
    if (error instanceof ServiceError && error.reason === 'no_such_tenant') return null;
    throw error;
  }
}

function usedText({ files, bytes, effective }: TenantRecord): string {
  const limits = { maxFiles: Number(effective.max_files), maxBytes: Number(effective.max_bytes) };
  const most = fullness({ files, bytes }, limits);
  return most === undefined ? 'no limit' : `${most.percent}% of ${most.of}`;
}

/** Conditions that listed tenants must all meet. */
export interface ListFilter {
  prefix?: string;
  search?: string;
  nearLimit?: number;
  status?: TenantStatus;
  /** Pairs such as `plan=pro`. */
  metadata?: string[];
}

/** Options of a filter, except `--metadata`, which sets the metadata in `tenants set`. */
export function addFilterOptions(command: Command): Command {
  return command
    .option('--prefix <text>', 'only tenants whose ID starts with this', nonEmpty)
    .option('--search <text>', 'only tenants whose ID or name contains this, ignoring case', nonEmpty)
    .option(
      '--near-limit <percent>',
      'only tenants that use at least this percentage of their file or byte limit',
      percentage,
    )
    .addOption(statusOption());
}

export function isFiltered({ prefix, search, nearLimit, status }: ListFilter): boolean {
  return [prefix, search, nearLimit, status].some((each) => each !== undefined);
}

type Order = Exclude<ListOptions['sort'], 'activity'>;

export function filterTenants(
  caller: Caller,
  { prefix = '', search, nearLimit, status, metadata }: ListFilter,
  { sort = 'id', limit }: { sort?: Order; limit?: number | undefined } = {},
): Promise<TenantRecord[]> {
  // The API has no filter for prefixes, so it searches for IDs that contain the prefix. The results are filtered below.
  const text = search ?? prefix;
  const query = {
    sort,
    limit: prefix === '' ? Math.min(limit ?? MAX_PAGE, MAX_PAGE) : MAX_PAGE,
    ...(text !== '' && { search: text }),
    ...(nearLimit !== undefined && { near_limit: nearLimit }),
    ...(status !== undefined && { status }),
    ...(metadata !== undefined && { metadata }),
  };
  const hasPrefix = ({ id }: TenantRecord) => id.startsWith(prefix);
  return firstItems(
    readItems(caller, listTenants, { query }, ({ tenants }) => tenants.filter(hasPrefix)),
    limit,
  );
}

function nonEmpty(value: string): string {
  if (value !== '') return value;
  throw new InvalidArgumentError('Give at least one character.');
}

export function registerTenantShowCommand(tenants: Command, { connect, io }: Cli): void {
  tenants
    .command('show')
    .description(`Show a tenant's usage and settings in effect. ${DEFAULTS_HELP}`)
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', "print JSON: the tenant's own settings (null for none) and the effective ones")
    .addHelpText('after', '\nExample:\n  memory-service tenants show acme')
    .action((tenant: string, { json }: { json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const params = { tenant };
        const record = await caller.call(getTenant, { params });
        const usage = await caller.call(getUsage, { params });
        const { stored_results, last_activity_at } = usage;
        if (json) return printJson(io.stdout, { ...record, stored_results, last_activity_at });
        printTable(
          io.stdout,
          ['TENANT', record.id],
          [
            ...detailRows(record),
            ['files', String(record.files)],
            ['size', formatBytes(record.bytes)],
            [
              'history',
              `${amount(record.history_versions, 'version')} (${byteAmount(record.history_bytes)})`,
            ],
            ['stored results', String(stored_results)],
            ['created', time(record.created_at)],
            ...(record.mounts.length === 0
              ? []
              : [['mounts', record.mounts.map(({ name }) => name).join(', ')]]),
            ['last activity', time(last_activity_at) ?? 'never'],
            [
              'status',
              record.suspended_at === null ? 'active' : `suspended since ${time(record.suspended_at)}`,
            ],
            ...(record.archived_at === null
              ? []
              : [['archived', `since ${time(record.archived_at)}: files can only be read and deleted`]]),
          ],
        );
        io.stdout.write('\n');
        const { settings, effective } = record;
        const byDefault = caller.local === undefined ? 'service' : 'environment';
        const all = ALL_SETTINGS.map(([name, setting]) => ({ name: snakeCase(name), setting }));
        printTable(
          io.stdout,
          ['SETTING', 'VALUE', 'FROM'],
          all.map(({ name, setting }) => [
            name,
            formatSetting(setting, effective[name] as number | string),
            settings[name] === null ? byDefault : 'tenant',
          ]),
        );
        const hasDefaults = all.some(({ name }) => settings[name] === null);
        if (hasDefaults && caller.local !== undefined) printLine(io.stderr, `\n${DEFAULTS_NOTE}`);
      }),
    );
}

function detailRows({ id, name, description, metadata }: TenantRecord): [string, string][] {
  return [
    ...(name === id ? [] : [['name', name] as [string, string]]),
    ...(description === '' ? [] : [['description', description] as [string, string]]),
    ...Object.entries(metadata).map(([key, value]): [string, string] => [`metadata ${key}`, value]),
  ];
}
