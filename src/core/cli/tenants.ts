import { type Command, InvalidArgumentError, Option } from 'commander';
import { listKeys, MAX_PAGE } from '../admin/keys.ts';
import { listMounts, removeTenantMount, setTenantMount } from '../admin/mounts.ts';
import type { TenantRecord } from '../admin/tenant-record.ts';
import {
  copyTenant,
  createTenant,
  deleteTenant,
  getTenant,
  renameTenant,
  updateTenant,
} from '../admin/tenants.ts';
import { OperatorError, ServiceError } from '../errors/errors.ts';
import { snakeCase, storableText } from '../lib/text.ts';
import { amount, byteAmount, expectedQuantity, formatQuantity, parseQuantity } from '../lib/units.ts';
import type { Mount } from '../memory/mount.ts';
import { changedValues } from '../tenants/audit.ts';
import { pairsOf, pairsProblem } from '../tenants/metadata.ts';
import { isNewMountName, MAX_INSTRUCTIONS, MOUNT_NAME_RULE } from '../tenants/mounts.ts';
import { ALL_SETTINGS, type NumberSetting, type TenantSettings } from '../tenants/settings.ts';
import { nameOf, newTenantId, tenantId } from './arguments.ts';
import { type Caller, type Cli, firstItems, readItems, withCaller } from './caller.ts';
import { confirm, type Io } from './io.ts';
import { printJson, printLine, printTable } from './output.ts';
import { RECEIPT_HELP, saveReceipt } from './receipt-file.ts';
import { audited } from './session.ts';
import {
  addFilterOptions,
  filterTenants,
  isFiltered,
  type ListFilter,
  registerTenantListCommand,
  registerTenantShowCommand,
} from './tenant-list.ts';
import { EFFECT, registerTenantStateCommands } from './tenant-state.ts';

interface DeleteOptions {
  yes?: boolean;
  force?: boolean;
  forget?: boolean;
  receipt?: string;
}

interface MountCommandOptions extends Pick<Mount, 'access' | 'instructions'> {
  name?: string;
}

export function registerMountCommands(tenants: Command, cli: Cli): void {
  registerMount(tenants, cli);
  registerUnmount(tenants, cli);
  registerMounts(tenants, cli);
}

function registerMount(tenants: Command, { connect, io }: Cli): void {
  tenants
    .command('mount')
    .description("Show another tenant's memory as a directory, or change how it is shown.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<mounted>', 'ID of the tenant whose memory is shown', tenantId)
    .option('--name <name>', 'name of the directory below /memories (default: the ID)', mountName)
    .addOption(
      new Option('--access <access>', 'access of agents to the directory, regardless of their keys')
        .choices(['read_only', 'read_write'])
        .default('read_only'),
    )
    .option('--instructions <text>', 'purpose of the directory, in words for the model', instructionsText, '')
    .addHelpText(
      'after',
      "\nExample:\n  memory-service tenants mount builder team --access read_write --instructions 'What all builders have learned.'",
    )
    .action((tenant: string, mounted: string, options: MountCommandOptions, command: Command) => {
      const { name = mounted, access, instructions } = options;
      if (!isNewMountName(name))
        command.error(`error: the ID ${mounted} cannot be the directory's name; choose one with --name`);
      return withCaller(connect, async (caller) => {
        const body = { tenant: mounted, access, instructions };
        await caller.call(setTenantMount, { params: { tenant, name }, body });
        printLine(io.stdout, `Mounted tenant ${mounted} as /memories/${name} of tenant ${tenant}. ${EFFECT}`);
      });
    });
}

function registerUnmount(tenants: Command, { connect, io }: Cli): void {
  tenants
    .command('unmount')
    .description('Remove a mount. The mounted memory is unchanged.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<name>', 'name of the directory, from `tenants mounts`')
    .addHelpText('after', '\nExample:\n  memory-service tenants unmount builder team')
    .action((tenant: string, name: string) =>
      withCaller(connect, async (caller) => {
        const mount = await caller.call(removeTenantMount, { params: { tenant, name } });
        printLine(io.stdout, `Unmounted tenant ${mount.tenant} from tenant ${tenant}. ${EFFECT}`);
      }),
    );
}

function registerMounts(tenants: Command, { connect, io }: Cli): void {
  tenants
    .command('mounts')
    .description("List a tenant's mounts, and where it is mounted.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service tenants mounts builder')
    .action((tenant: string, { json }: { json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const listed = await caller.call(listMounts, { params: { tenant } });
        if (json) return printJson(io.stdout, listed);
        const { mounts, mounted_by: by, more } = listed;
        printTable(
          io.stdout,
          ['DIRECTORY', 'TENANT', 'ACCESS', 'STATUS', 'INSTRUCTIONS'],
          mounts.map(({ name, status, instructions, ...mount }) => [
            `/memories/${name}`,
            mount.tenant,
            mount.access,
            status ?? '-',
            instructions.split('\n', 1)[0] || '-',
          ]),
        );
        if (by.length === 0) return;
        io.stdout.write('\n');
        printTable(
          io.stdout,
          ['MOUNTED BY', 'AS', 'ACCESS'],
          by.map((each) => [each.tenant, `/memories/${each.name}`, each.access]),
        );
        if (more) io.stderr.write(`Only the first ${by.length} are shown.\n`);
      }),
    );
}

function mountName(value: string): string {
  if (isNewMountName(value)) return value;
  throw new InvalidArgumentError(`--name must be ${MOUNT_NAME_RULE}.`);
}

const instructions = storableText(MAX_INSTRUCTIONS);

function instructionsText(value: string): string {
  if (instructions.safeParse(value).success) return value;
  throw new InvalidArgumentError(`Use at most ${MAX_INSTRUCTIONS} characters.`);
}

interface DetailOptions {
  name?: string;
  description?: string;
  /** Pairs to set. A null value removes the pair. */
  metadata?: Record<string, string | null>;
}

function addDetailOptions(command: Command): Command {
  return command
    .option('--name <name>', 'a name for people', nameOf(255, 1))
    .option(
      '--description <text>',
      'contents of the memory, described for people and agents',
      textOf(0, 1024),
    )
    .option(
      '--metadata <key=value>',
      'a metadata pair (repeatable); an empty value removes it',
      metadataPair,
    );
}

function detailsOf({ name, description, metadata }: DetailOptions): DetailOptions {
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function textOf(min: number, max: number) {
  return (value: string): string => {
    if (value.length >= min && value.length <= max) return value;
    throw new InvalidArgumentError(`Use ${min} to ${max} characters.`);
  };
}

function metadataPair(
  value: string,
  before: Record<string, string | null> = {},
): Record<string, string | null> {
  const problem = pairsProblem([value]);
  if (problem !== null) throw new InvalidArgumentError(`The pair ${problem}`);
  const [[key, given] = ['', '']] = Object.entries(pairsOf([value]));
  return { ...before, [key]: given === '' ? null : given };
}

/** `default` means null, which commander rejects as the value of an option. */
type SettingOptions = { [Name in keyof TenantSettings]?: NonNullable<TenantSettings[Name]> | 'default' };

interface SetOptions extends SettingOptions, DetailOptions, Omit<ListFilter, 'metadata'> {
  all?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

function addSettingOptions(command: Command): Command {
  for (const [name, setting] of ALL_SETTINGS) {
    const flag = `--${snakeCase(name).replaceAll('_', '-')}`;
    command.addOption(
      'choices' in setting
        ? new Option(`${flag} <mode>`, setting.help).choices([...Object.keys(setting.choices), 'default'])
        : new Option(
            `${flag} ${PLACEHOLDERS[setting.unit] ?? '<n>'}`,
            `${setting.help} (0: ${setting.zero})`,
          ).argParser(numberIn(setting)),
    );
  }
  return command;
}

const PLACEHOLDERS: Partial<Record<NumberSetting['unit'], string>> = { bytes: '<size>', days: '<days>' };

const UNITS_HELP = `
<size> is a number of bytes or 500KB, 10MB, 2GB (1 KB: 1,024 bytes); <days> is 30, 30d, or 4w.
`;

function numberIn({ max, zero, unit }: NumberSetting) {
  return (value: string): number | 'default' => {
    if (value === 'default') return value;
    const parsed = parseQuantity(value, unit);
    if (parsed !== undefined && parsed <= max) return parsed;
    throw new InvalidArgumentError(
      `Use ${expectedQuantity(unit)}, from 0 (${zero}) to ${formatQuantity(max, unit)}, or default.`,
    );
  };
}

/** Changed settings under their names in the API. */
type SettingChanges = Record<string, TenantSettings[keyof TenantSettings]>;

function settingsOf(options: SettingOptions): SettingChanges {
  const changes: SettingChanges = {};
  for (const [name] of ALL_SETTINGS) {
    const value = options[name];
    if (value !== undefined) changes[snakeCase(name)] = value === 'default' ? null : value;
  }
  return changes;
}

export function registerTenantCreateCommand(tenants: Command, { connect, io }: Cli): void {
  addDetailOptions(
    addSettingOptions(
      tenants
        .command('create')
        .description('Create a tenant.')
        .argument('<tenant>', 'tenant ID', newTenantId),
    ),
  )
    .addHelpText(
      'after',
      `${UNITS_HELP}\nExample:\n  memory-service tenants create acme --max-files 500 --max-bytes 50MB`,
    )
    .action((tenant: string, options: SettingOptions & DetailOptions) =>
      withCaller(connect, async (caller) => {
        const { metadata = {}, ...details } = detailsOf(options);
        const pairs = Object.entries(metadata).filter((pair): pair is [string, string] => pair[1] !== null);
        await caller.call(createTenant, {
          body: {
            id: tenant,
            settings: settingsOf(options),
            ...details,
            ...(pairs.length > 0 && { metadata: Object.fromEntries(pairs) }),
          },
        });
        printLine(io.stdout, `Created tenant ${tenant}.`);
      }),
    );
}

export function registerTenantSetCommand(tenants: Command, { connect, io }: Cli): void {
  addFilterOptions(
    addDetailOptions(
      addSettingOptions(
        tenants
          .command('set')
          .description(
            'Change the settings, names, descriptions and metadata of the named tenants, or of all tenants that match the options.',
          )
          .argument('[tenants...]', 'tenant IDs', (value, before: string[] = []) => [
            ...before,
            tenantId(value),
          ]),
      ),
    ),
  )
    .option('--all', 'all tenants')
    .option('--dry-run', 'list the tenants that would change, without changing them')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      `${UNITS_HELP}
Examples:
  memory-service tenants set acme --max-bytes 200MB --ttl-days 90d --secrets mask
  memory-service tenants set acme globex --max-files default
  memory-service tenants set acme --name 'Acme Inc.' --metadata plan=pro --metadata region=
  memory-service tenants set --prefix eu- --rate-per-minute 600 --dry-run`,
    )
    .action((ids: string[], options: SetOptions, command: Command) => {
      const settings = settingsOf(options);
      const details = detailsOf(options);
      // Here, `--metadata` sets pairs, and does not filter.
      const { metadata: _, ...filter } = options;
      if (Object.keys({ ...settings, ...details }).length === 0) command.error('error: nothing to set');
      if ([ids.length > 0, options.all ?? false, isFiltered(filter)].filter(Boolean).length !== 1) {
        command.error('error: name tenants, select them with options such as --prefix, or use --all');
      }
      return withCaller(connect, async (caller) => {
        const isNamed = ids.length > 0;
        // All tenants are looked up before the first change, so that a typo in one ID rejects the whole command.
        const chosen = isNamed
          ? await Promise.all(ids.map((id) => caller.call(getTenant, { params: { tenant: id } })))
          : await filterTenants(caller, filter);
        if (chosen.length === 0)
          throw new OperatorError('No matching tenants. See: memory-service tenants list');
        if (options.dryRun) {
          for (const tenant of chosen) {
            await recordDryRun(caller, io, tenant, { settings, details });
            printLine(io.stdout, tenant.id);
          }
          io.stderr.write(`Would change ${amount(chosen.length, 'tenant')}.\n`);
          return;
        }
        if (!isNamed && !options.yes)
          await confirm(io, `Change ${amount(chosen.length, 'tenant')}?`, 'Nothing was changed.');
        const body = { ...(Object.keys(settings).length > 0 && { settings }), ...details };
        for (const { id } of chosen) await caller.call(updateTenant, { params: { tenant: id }, body });
        const [first] = chosen;
        const what = chosen.length === 1 ? `tenant ${first?.id}` : amount(chosen.length, 'tenant');
        printLine(io.stdout, `Changed ${what}. ${EFFECT}`);
      });
    });
}

/**
 * Records a dry run in the audit trail. The admin API has no dry run of this change, so the command records it itself.
 */
async function recordDryRun(
  { local }: Caller,
  io: Io,
  tenant: TenantRecord,
  { settings, details }: { settings: SettingChanges; details: DetailOptions },
): Promise<void> {
  if (local === undefined) return;
  const changes = { ...changedValues(tenant.settings, settings), ...changedValues(tenant, details) };
  const subject = { tenant: tenant.id, details: changes, dryRun: true };
  await audited({ database: local.database, io }, updateTenant.id, subject, async () => {});
}

export function registerTenantCommands(program: Command, cli: Cli): void {
  const tenants = program
    .command('tenants')
    .description('Create, change, archive, copy, rename, and delete tenants.');
  registerTenantCreateCommand(tenants, cli);
  registerTenantListCommand(tenants, cli);
  registerTenantShowCommand(tenants, cli);
  registerTenantSetCommand(tenants, cli);
  registerMountCommands(tenants, cli);
  registerTenantStateCommands(tenants, cli);
  registerCopy(tenants, cli);
  registerRename(tenants, cli);
  registerDelete(tenants, cli);
}

/** Tables of the counts of a deleted tenant. */
const TABLES = [
  ['entries', 'entries'],
  ['versions', 'versions'],
  ['directories', 'past_directories'],
  ['stored_results', 'idempotency_keys'],
  ['keys', 'api_keys'],
] as const;

function registerDelete(tenants: Command, { connect, io }: Cli): void {
  tenants
    .command('delete')
    .description('Delete a tenant with its files, history, keys, and settings.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--force', 'delete it even if other tenants mount it')
    .option('--forget', 'replace its ID in the audit trail by a hash, also if it was deleted before')
    .option('--receipt <file>', RECEIPT_HELP)
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      '\nExamples:\n  memory-service tenants delete acme --yes\n  memory-service tenants delete acme --forget --yes',
    )
    .action((tenant: string, { yes, force = false, forget = false, receipt: file }: DeleteOptions) =>
      withCaller(connect, async (caller) => {
        const params = { tenant };
        const found = await caller.call(getTenant, { params }).catch((error) => {
          if (forget && error instanceof ServiceError && error.reason === 'no_such_tenant') return undefined;
          throw error;
        });
        if (!yes) await confirm(io, questionOf(tenant, found, forget), 'Nothing was deleted.');
        const deleted = await caller.call(deleteTenant, {
          params,
          query: { force, forget, receipt: file !== undefined },
        });
        const { erased, forgotten, receipt } = deleted;
        if (file !== undefined) await saveReceipt(file, receipt);
        if (found !== undefined) {
          const rows = TABLES.map(([name, table]) => `${amount(erased[name], 'row')} of ${table}`);
          printLine(io.stdout, `Deleted tenant ${tenant}: 1 row of tenants, ${rows.join(', ')}.`);
        }
        if (forgotten !== undefined && forgotten.events > 1)
          printLine(
            io.stdout,
            `Replaced its ID by ${forgotten.hash} in ${amount(forgotten.events, 'event')} of the audit trail.`,
          );
      }),
    );
}

function questionOf(tenant: string, found: TenantRecord | undefined, forget: boolean): string {
  const forgetting = 'replace its ID in the audit trail by a hash';
  if (found === undefined) return `Tenant ${tenant} is deleted already. Permanently ${forgetting}?`;
  return `Permanently delete tenant ${tenant} with ${contentsOf(found)}${forget ? `, and ${forgetting}` : ''}?`;
}

const WAITING = 'Writes to the tenant wait until it is done.';

const contentsOf = ({ files, bytes }: Pick<TenantRecord, 'files' | 'bytes'>) =>
  `${amount(files, 'file')} (${byteAmount(bytes)})`;

function registerCopy(tenants: Command, { connect, io }: Cli): void {
  tenants
    .command('copy')
    .description(
      `Copy a tenant: its files and settings as of one point in time, without keys and history. ${WAITING}`,
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<new>', 'ID of the new tenant', newTenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service tenants copy acme acme-2026')
    .action((tenant: string, to: string, { json }: { json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const copy = await caller.call(copyTenant, { params: { tenant }, body: { to } });
        if (json) return printJson(io.stdout, copy);
        printLine(io.stdout, `Copied tenant ${tenant} to ${to}: ${contentsOf(copy)}.`);
      }),
    );
}

/** Maximum number of mounting tenants that the message about a rename lists. */
const NAMED = 5;

function registerRename(tenants: Command, { connect, io }: Cli): void {
  tenants
    .command('rename')
    .description(
      `Rename a tenant, with its files, history, settings, keys, and stored results, in one transaction. Clients that send the tenant ID must send the new one. ${WAITING}`,
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<new>', 'ID of the new tenant', newTenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service tenants rename acme acme-2026')
    .action((tenant: string, to: string, { json }: { json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const renamed = await caller.call(renameTenant, { params: { tenant }, body: { to } });
        if (json) return printJson(io.stdout, renamed);
        const query = { tenant: to, limit: MAX_PAGE };
        const keys = await firstItems(readItems(caller, listKeys, { query }, (page) => page.keys));
        printLine(
          io.stdout,
          `Renamed tenant ${tenant} to ${to}: ${contentsOf(renamed)}, ${amount(keys.length, 'key')}. Keys work for the new ID at once.`,
        );
        const { mounted_by: mountedBy } = renamed;
        if (mountedBy.length === 0) return;
        const others = mountedBy.length > NAMED ? ' and others' : '';
        printLine(
          io.stdout,
          `It is mounted by ${mountedBy.slice(0, NAMED).join(', ')}${others}, whose mounts show it as before.`,
        );
      }),
    );
}
