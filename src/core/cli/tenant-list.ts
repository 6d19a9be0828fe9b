import { type Command, InvalidArgumentError, Option } from 'commander';
import { getTenant, listTenants, MAX_PAGE } from '../admin/tenant-operations.ts';
import type { TenantRecord } from '../admin/tenant-record.ts';
import { getUsage } from '../admin/usage-operations.ts';
import { ServiceError } from '../errors/errors.ts';
import { snakeCase } from '../lib/text-forms.ts';
import { amount, byteAmount, formatBytes } from '../lib/units.ts';
import { fullness } from '../tenants/effective-settings.ts';
import { ALL_SETTINGS, formatSetting } from '../tenants/settings.ts';
import type { TenantStatus } from '../tenants/tenant-listing.ts';
import { metadataOption, parsePercentage, positiveInteger, statusOption, tenantId } from './arguments.ts';
import { type Caller, readList } from './caller.ts';
import { type Cli, command } from './cli-command.ts';
import type { Io } from './io.ts';
import { DEFAULTS_HELP, DEFAULTS_NOTE, printLine, printTable, sizeCell, table, time } from './output.ts';

const ORDERS = ['id', 'files', 'bytes', 'used', 'activity'] as const;

interface ListOptions extends ListFilter {
  sort: (typeof ORDERS)[number];
  limit?: number;
  json?: boolean;
}

interface ListedTenant extends TenantRecord {
  last_activity_at: string | null;
}

/** Number of tenants to query at the same time. The number is below the limit on one admin's concurrent requests. */
const MAX_CONCURRENT = 5;

export const listCommand = (cli: Cli) =>
  command(
    cli,
    'list',
    'List tenants with their usage. The last activity is the latest change, file read (accurate to the day), or use of a key.',
  )
    .with(addFilterOptions)
    .addOption(metadataOption())
    .addOption(new Option('--sort <by>', 'sort order').choices(ORDERS).default('id'))
    .option('--limit <n>', 'maximum number of tenants', positiveInteger)
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${DEFAULTS_HELP}`)
    .examples(
      'memory-service tenants list --sort bytes --limit 20',
      'memory-service tenants list --near-limit 90',
      'memory-service tenants list --status archived --metadata plan=pro',
      'memory-service tenants list --prefix eu- --sort activity --json',
    )
    .run(async ({ caller }, options: ListOptions) => {
      const listed = await readTenants(caller, options);
      const text = table(listed, {
        TENANT: ({ id }) => id,
        FILES: ({ files }) => files,
        SIZE: ({ bytes }) => sizeCell(bytes),
        USED: usedText,
        'LAST ACTIVITY': (tenant) => time(tenant.last_activity_at) ?? 'never',
        STATUS: ({ status }) => status,
      });
      return { json: listed, text };
    });

async function readTenants(
  caller: Caller,
  { sort, limit, json: _, ...filter }: ListOptions,
): Promise<ListedTenant[]> {
  if (sort !== 'activity') return addActivity(caller, await filterTenants(caller, filter, { sort, limit }));
  // The API cannot sort by activity, because activity takes one statement per tenant.
  const listed = await addActivity(caller, await filterTenants(caller, filter));
  return listed.sort(compareActivity).slice(0, limit);
}

function compareActivity(one: ListedTenant, other: ListedTenant): number {
  return (other.last_activity_at ?? '').localeCompare(one.last_activity_at ?? '');
}

async function addActivity(caller: Caller, tenants: TenantRecord[]): Promise<ListedTenant[]> {
  const listed: ListedTenant[] = [];
  for (let from = 0; from < tenants.length; from += MAX_CONCURRENT) {
    const batch = tenants.slice(from, from + MAX_CONCURRENT).map(async (tenant) => ({
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

/** Options for a filter, except `--metadata`, which sets the metadata in `tenants set`. */
export function addFilterOptions(command: Command): Command {
  return command
    .option('--prefix <text>', 'only tenants whose ID starts with this', parseNonEmpty)
    .option('--search <text>', 'only tenants whose ID or name contains this, ignoring case', parseNonEmpty)
    .option(
      '--near-limit <percent>',
      'only tenants that use at least this percentage of their file or byte limit',
      parsePercentage,
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
  return readList(caller, listTenants, { query }, ({ tenants }) => tenants.filter(hasPrefix), limit);
}

function parseNonEmpty(value: string): string {
  if (value !== '') return value;
  throw new InvalidArgumentError('Give at least one character.');
}

export const showCommand = (cli: Cli) =>
  command(cli, 'show', `Show a tenant's usage and settings in effect. ${DEFAULTS_HELP}`)
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', "print JSON: the tenant's own settings (null for none) and the effective ones")
    .examples('memory-service tenants show acme')
    .run(async ({ caller }, tenant: string) => {
      const params = { tenant };
      const record = await caller.call(getTenant, { params });
      const { stored_results, last_activity_at } = await caller.call(getUsage, { params });
      const shown = { ...record, stored_results, last_activity_at };
      return { json: shown, text: (io) => printTenant(io, shown, caller.local !== undefined) };
    });

function printTenant(io: Io, tenant: ListedTenant & { stored_results: number }, isLocal: boolean): void {
  const { stdout, stderr } = io;
  printTable(stdout, ['TENANT', tenant.id], detailRows(tenant));
  printLine(stdout, '');
  const { settings, effective } = tenant;
  const byDefault = isLocal ? 'environment' : 'service';
  const all = ALL_SETTINGS.map(([name, setting]) => ({ name: snakeCase(name), setting }));
  table(all, {
    SETTING: ({ name }) => name,
    VALUE: ({ name, setting }) => formatSetting(setting, effective[name] as number | string),
    FROM: ({ name }) => (settings[name] === null ? byDefault : 'tenant'),
  })(io);
  const hasDefaults = all.some(({ name }) => settings[name] === null);
  if (hasDefaults && isLocal) printLine(stderr, `\n${DEFAULTS_NOTE}`);
}

function detailRows(tenant: ListedTenant & { stored_results: number }): (string | null)[][] {
  const { id, name, description, mounts, suspended_at: suspended, archived_at: archived } = tenant;
  const history = `${amount(tenant.history_versions, 'version')} (${byteAmount(tenant.history_bytes)})`;
  return [
    ...(name === id ? [] : [['name', name]]),
    ...(description === '' ? [] : [['description', description]]),
    ...Object.entries(tenant.metadata).map(([key, value]) => [`metadata ${key}`, value]),
    ['files', String(tenant.files)],
    ['size', formatBytes(tenant.bytes)],
    ['history', history],
    ['stored results', String(tenant.stored_results)],
    ['created', time(tenant.created_at)],
    ...(mounts.length === 0 ? [] : [['mounts', mounts.map((mount) => mount.name).join(', ')]]),
    ['last activity', time(tenant.last_activity_at) ?? 'never'],
    ['status', suspended === null ? 'active' : `suspended since ${time(suspended)}`],
    ...(archived === null
      ? []
      : [['archived', `since ${time(archived)}: files can only be read and deleted`]]),
  ];
}
