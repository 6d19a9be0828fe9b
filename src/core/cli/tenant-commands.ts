import { type Command, InvalidArgumentError, Option } from 'commander';
import { listKeys, MAX_PAGE } from '../admin/key-operations.ts';
import { listMounts, removeTenantMount, setTenantMount } from '../admin/mount-operations.ts';
import {
  copyTenant,
  createTenant,
  deleteTenant,
  getTenant,
  renameTenant,
  updateTenant,
} from '../admin/tenant-operations.ts';
import type { TenantRecord } from '../admin/tenant-record.ts';
import { OperatorError, ServiceError } from '../errors/errors.ts';
import { snakeCase, storableText } from '../lib/text-forms.ts';
import { amount, byteAmount, expectedQuantity, formatQuantity, parseQuantity } from '../lib/units.ts';
import { MOUNT_ACCESS, type Mount } from '../memory/mount.ts';
import { changedValues } from '../tenants/audit.ts';
import { pairsProblem, parsePairs } from '../tenants/metadata.ts';
import { isNewMountName, MAX_INSTRUCTIONS, MOUNT_NAME_RULE } from '../tenants/mounts.ts';
import { pinnedPathsSchema } from '../tenants/pinned-paths.ts';
import {
  ALL_SETTINGS,
  isNumberSetting,
  type NumberSetting,
  type PathsSetting,
  type Setting,
  type TenantSettings,
} from '../tenants/settings.ts';
import { createListParser, createNameParser, newTenantId, tenantId } from './arguments.ts';
import { type Caller, readList } from './caller.ts';
import { type Cli, type CliCommand, command, group } from './cli-command.ts';
import { runAudited } from './cli-session.ts';
import { confirm, type Io } from './io.ts';
import { printLine, table } from './output.ts';
import { RECEIPT_HELP, saveReceipt } from './receipt-file.ts';
import {
  addFilterOptions,
  filterTenants,
  isFiltered,
  type ListFilter,
  listCommand,
  showCommand,
} from './tenant-list.ts';
import { archiveCommand, EFFECT, resumeCommand, suspendCommand } from './tenant-state.ts';

interface DeleteOptions {
  yes?: boolean;
  force?: boolean;
  forget?: boolean;
  receipt?: string;
}

interface MountCommandOptions extends Pick<Mount, 'access' | 'prefix' | 'instructions'> {
  name?: string;
}

const mountCommand = (cli: Cli) =>
  command(cli, 'mount', "Show another tenant's memory as a directory, or change how it is shown.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<mounted>', 'ID of the tenant whose memory is shown', tenantId)
    .option('--name <name>', 'name of the directory below /memories (default: the ID)', mountName)
    .addOption(
      new Option('--access <access>', 'access of agents to the directory, regardless of their keys')
        .choices(MOUNT_ACCESS)
        .default('read_only'),
    )
    .option('--prefix <path>', 'file or directory in the other memory that is shown (default: everything)')
    .option('--instructions <text>', 'purpose of the directory, in words for the model', instructionsText, '')
    .examples(
      "memory-service tenants mount builder team --access read_write --instructions 'What all builders have learned.'",
    )
    .action((tenant: string, mounted: string, options: MountCommandOptions, command: CliCommand) => {
      const { name = mounted, access, prefix, instructions } = options;
      if (!isNewMountName(name))
        command.error(`error: the ID ${mounted} cannot be the directory's name; choose one with --name`);
      return command.runConnected(async ({ caller }) => {
        const body = { tenant: mounted, access, prefix, instructions };
        await caller.call(setTenantMount, { params: { tenant, name }, body });
        return `Mounted tenant ${mounted} as /memories/${name} of tenant ${tenant}. ${EFFECT}`;
      });
    });

const unmountCommand = (cli: Cli) =>
  command(cli, 'unmount', 'Remove a mount. The mounted memory is unchanged.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<name>', 'name of the directory, from `tenants mounts`')
    .examples('memory-service tenants unmount builder team')
    .run(async ({ caller }, tenant: string, name: string) => {
      const mount = await caller.call(removeTenantMount, { params: { tenant, name } });
      return `Unmounted tenant ${mount.tenant} from tenant ${tenant}. ${EFFECT}`;
    });

const mountsCommand = (cli: Cli) =>
  command(cli, 'mounts', "List a tenant's mounts, and where it is mounted.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', 'print JSON')
    .examples('memory-service tenants mounts builder')
    .run(async ({ caller }, tenant: string) => {
      const listed = await caller.call(listMounts, { params: { tenant } });
      const { mounts, mounted_by: by, more } = listed;
      const text = (io: Io) => {
        table(mounts, {
          DIRECTORY: ({ name }) => `/memories/${name}`,
          TENANT: (mount) => mount.tenant,
          ACCESS: ({ access }) => access,
          PREFIX: ({ prefix }) => prefix ?? '-',
          STATUS: ({ status }) => status ?? '-',
          INSTRUCTIONS: ({ instructions }) => instructions.split('\n', 1)[0] || '-',
        })(io);
        if (by.length === 0) return;
        printLine(io.stdout, '');
        table(by, {
          'MOUNTED BY': (each) => each.tenant,
          AS: ({ name }) => `/memories/${name}`,
          ACCESS: ({ access }) => access,
        })(io);
        if (more) printLine(io.stderr, `Only the first ${by.length} are shown.`);
      };
      return { json: listed, text };
    });

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
    .option('--name <name>', 'a name for people', createNameParser(255, 1))
    .option(
      '--description <text>',
      'contents of the memory, described for people and agents',
      createTextParser(0, 1024),
    )
    .option(
      '--metadata <key=value>',
      'a metadata pair (repeatable); an empty value removes it',
      metadataPair,
    );
}

function pickDetails({ name, description, metadata }: DetailOptions): DetailOptions {
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function createTextParser(min: number, max: number) {
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
  const [[key, given] = ['', '']] = Object.entries(parsePairs([value]));
  return { ...before, [key]: given === '' ? null : given };
}

/** `default` means null, which commander rejects as an option's value. */
type SettingOptions = { [Name in keyof TenantSettings]?: NonNullable<TenantSettings[Name]> | 'default' };

interface SetOptions extends SettingOptions, DetailOptions, Omit<ListFilter, 'metadata'> {
  all?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

function addSettingOptions(command: Command): Command {
  for (const [name, setting] of ALL_SETTINGS) {
    const flag = `--${snakeCase(name).replaceAll('_', '-')}`;
    command.addOption(settingOption(flag, setting));
  }
  return command;
}

function settingOption(flag: string, setting: Setting): Option {
  const { help } = setting;
  if ('choices' in setting)
    return new Option(`${flag} <mode>`, help).choices([...Object.keys(setting.choices), 'default']);
  if (!isNumberSetting(setting)) return new Option(`${flag} <paths>`, help).argParser(pathsIn(setting));
  const placeholder = PLACEHOLDERS[setting.unit] ?? '<n>';
  return new Option(`${flag} ${placeholder}`, `${help} (0: ${setting.zero})`).argParser(numberIn(setting));
}

function pathsIn(setting: PathsSetting) {
  return (value: string): string => {
    if (value === 'default') return value;
    const { data, error } = pinnedPathsSchema(setting).safeParse(value);
    if (data === undefined) throw new InvalidArgumentError(`It ${error?.issues[0]?.message}`);
    return data;
  };
}

const PLACEHOLDERS: Partial<Record<NumberSetting['unit'], string>> = { bytes: '<size>', days: '<days>' };

const UNITS_HELP = `
<size> is a number of bytes or 500KB, 10MB, 2GB (1 KB: 1,024 bytes); <days> is 30, 30d, or 4w.`;

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

function pickSettings(options: SettingOptions): SettingChanges {
  const changes: SettingChanges = {};
  for (const [name] of ALL_SETTINGS) {
    const value = options[name];
    if (value !== undefined) changes[snakeCase(name)] = value === 'default' ? null : value;
  }
  return changes;
}

const createCommand = (cli: Cli) =>
  command(cli, 'create', 'Create a tenant.')
    .argument('<tenant>', 'tenant ID', newTenantId)
    .with(addSettingOptions)
    .with(addDetailOptions)
    .addHelpText('after', UNITS_HELP)
    .examples('memory-service tenants create acme --max-files 500 --max-bytes 50MB')
    .run(async ({ caller }, tenant: string, options: SettingOptions & DetailOptions) => {
      const { metadata = {}, ...details } = pickDetails(options);
      const pairs = Object.entries(metadata).filter((pair): pair is [string, string] => pair[1] !== null);
      await caller.call(createTenant, {
        body: {
          id: tenant,
          settings: pickSettings(options),
          ...details,
          ...(pairs.length > 0 && { metadata: Object.fromEntries(pairs) }),
        },
      });
      return `Created tenant ${tenant}.`;
    });

const setCommand = (cli: Cli) =>
  command(
    cli,
    'set',
    'Change the settings, names, descriptions and metadata of the named tenants, or of all tenants that match the options.',
  )
    .argument('[tenants...]', 'tenant IDs', createListParser(tenantId))
    .with(addSettingOptions)
    .with(addDetailOptions)
    .with(addFilterOptions)
    .option('--all', 'all tenants')
    .option('--dry-run', 'list the tenants that would change, without changing them')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', UNITS_HELP)
    .examples(
      'memory-service tenants set acme --max-bytes 200MB --ttl-days 90d --secrets mask',
      'memory-service tenants set acme globex --max-files default',
      "memory-service tenants set acme --name 'Acme Inc.' --metadata plan=pro --metadata region=",
      'memory-service tenants set --prefix eu- --rate-per-minute 600 --dry-run',
    )
    .action((ids: string[], options: SetOptions, command: CliCommand) => {
      const settings = pickSettings(options);
      const details = pickDetails(options);
      // Here, `--metadata` sets pairs, and does not filter.
      const { metadata: _, ...filter } = options;
      if (Object.keys({ ...settings, ...details }).length === 0) command.error('error: nothing to set');
      if ([ids.length > 0, options.all ?? false, isFiltered(filter)].filter(Boolean).length !== 1) {
        command.error('error: name tenants, select them with options such as --prefix, or use --all');
      }
      return command.runConnected(async ({ caller, io }) => {
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
          printLine(io.stderr, `Would change ${amount(chosen.length, 'tenant')}.`);
          return;
        }
        if (!isNamed && !options.yes)
          await confirm(io, `Change ${amount(chosen.length, 'tenant')}?`, 'Nothing was changed.');
        const body = { ...(Object.keys(settings).length > 0 && { settings }), ...details };
        for (const { id } of chosen) await caller.call(updateTenant, { params: { tenant: id }, body });
        const [first] = chosen;
        const what = chosen.length === 1 ? `tenant ${first?.id}` : amount(chosen.length, 'tenant');
        return `Changed ${what}. ${EFFECT}`;
      });
    });

/**
 * Records a dry run in the audit trail. The admin API has no dry run for this change, so the command records it itself.
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
  await runAudited({ database: local.database, io }, updateTenant.id, subject, async () => {});
}

/** Tables with a deleted tenant's counts. */
const TABLES = [
  ['entries', 'entries'],
  ['versions', 'versions'],
  ['directories', 'past_directories'],
  ['stored_results', 'idempotency_keys'],
  ['keys', 'api_keys'],
] as const;

const deleteCommand = (cli: Cli) =>
  command(cli, 'delete', 'Delete a tenant with its files, history, keys, and settings.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--force', 'delete it even if other tenants mount it')
    .option(
      '--forget',
      "replace the tenant's ID with a hash in the audit trail, even after the tenant's deletion",
    )
    .option('--receipt <file>', RECEIPT_HELP)
    .option('--yes', 'do not ask for confirmation')
    .examples('memory-service tenants delete acme --yes', 'memory-service tenants delete acme --forget --yes')
    .run(
      async (
        { caller, io },
        tenant: string,
        { yes, force = false, forget = false, receipt: file }: DeleteOptions,
      ) => {
        const params = { tenant };
        const found = await caller.call(getTenant, { params }).catch((error) => {
          if (forget && error instanceof ServiceError && error.reason === 'no_such_tenant') return undefined;
          throw error;
        });
        if (!yes) await confirm(io, confirmationPrompt(tenant, found, forget), 'Nothing was deleted.');
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
            `Replaced its ID with ${forgotten.hash} in ${amount(forgotten.events, 'event')} of the audit trail.`,
          );
      },
    );

function confirmationPrompt(tenant: string, found: TenantRecord | undefined, forget: boolean): string {
  const forgetting = 'replace its ID with a hash in the audit trail';
  if (found === undefined) return `Tenant ${tenant} is deleted already. Permanently ${forgetting}?`;
  return `Permanently delete tenant ${tenant} with ${contentsText(found)}${forget ? `, and ${forgetting}` : ''}?`;
}

const WAITING = 'Writes to the tenant wait until it is done.';

const contentsText = ({ files, bytes }: Pick<TenantRecord, 'files' | 'bytes'>) =>
  `${amount(files, 'file')} (${byteAmount(bytes)})`;

const copyCommand = (cli: Cli) =>
  command(
    cli,
    'copy',
    `Copy a tenant's files and settings in a consistent snapshot, without keys and history. ${WAITING}`,
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<new>', 'ID of the new tenant', newTenantId)
    .option('--json', 'print JSON')
    .examples('memory-service tenants copy acme acme-2026')
    .run(async ({ caller }, tenant: string, to: string) => {
      const copy = await caller.call(copyTenant, { params: { tenant }, body: { to } });
      return { json: copy, text: `Copied tenant ${tenant} to ${to}: ${contentsText(copy)}.` };
    });

/** Maximum number of mounting tenants that the message about a rename lists. */
const NAMED = 5;

const renameCommand = (cli: Cli) =>
  command(
    cli,
    'rename',
    `Rename a tenant, with its files, history, settings, keys, and stored results, in one transaction. Clients that send the tenant ID must send the new one. ${WAITING}`,
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<new>', 'ID of the new tenant', newTenantId)
    .option('--json', 'print JSON')
    .examples('memory-service tenants rename acme acme-2026')
    .run(async ({ caller }, tenant: string, to: string) => {
      const renamed = await caller.call(renameTenant, { params: { tenant }, body: { to } });
      const text = async ({ stdout }: Io) => {
        const query = { tenant: to, limit: MAX_PAGE };
        const keys = await readList(caller, listKeys, { query }, (page) => page.keys);
        const contents = `${contentsText(renamed)}, ${amount(keys.length, 'key')}`;
        printLine(
          stdout,
          `Renamed tenant ${tenant} to ${to}: ${contents}. Keys work for the new ID at once.`,
        );
        const { mounted_by: by } = renamed;
        if (by.length === 0) return;
        const names = `${by.slice(0, NAMED).join(', ')}${by.length > NAMED ? ' and others' : ''}`;
        printLine(stdout, `It is mounted by ${names}, whose mounts show it as before.`);
      };
      return { json: renamed, text };
    });

export const tenantCommands = group('tenants', 'Create, change, archive, copy, rename, and delete tenants.', [
  createCommand,
  listCommand,
  showCommand,
  setCommand,
  mountCommand,
  unmountCommand,
  mountsCommand,
  suspendCommand,
  resumeCommand,
  archiveCommand,
  copyCommand,
  renameCommand,
  deleteCommand,
]);
