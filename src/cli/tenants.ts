import { type Command, InvalidArgumentError, Option } from 'commander';
import { listMounts, removeTenantMount, setTenantMount } from '../admin/mounts.ts';
import type { Database } from '../database/database.ts';
import { OperatorError, ServiceError } from '../errors/errors.ts';
import { snakeCase, storableText } from '../lib/text.ts';
import { amount, byteAmount, expectedQuantity, formatQuantity, parseQuantity } from '../lib/units.ts';
import type { Mount } from '../memory/mount.ts';
import { type AuditSubject, changedValues } from '../tenants/audit.ts';
import { type Copied, copyTenant, type Renamed, renameTenant } from '../tenants/copy.ts';
import { forgetTenant } from '../tenants/forget.ts';
import { REFUSED_METADATA_KEY } from '../tenants/ids.ts';
import { isNewMountName, MAX_INSTRUCTIONS, MOUNT_NAME_RULE, refuseMounted } from '../tenants/mounts.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { ALL_SETTINGS, type NumberSetting, type TenantSettings } from '../tenants/settings.ts';
import { mergeDetails, type StoreDetailsChange, Stores } from '../tenants/stores.ts';
import { type Erased, requireTenant, Tenants } from '../tenants/tenants.ts';
import { nameOf, newTenantId, tenantId } from './arguments.ts';
import { type Cli, type Connect, withCaller } from './caller.ts';
import { confirm, type Io } from './io.ts';
import { printJson, printLine, printTable } from './output.ts';
import { audited, type Open, operatorOrigin, withDatabase } from './session.ts';
import {
  addSelectionOptions,
  isSelective,
  registerTenantListCommand,
  registerTenantShowCommand,
  type Selection,
  selectTenants,
} from './tenant-list.ts';

const EFFECT = 'It takes effect within AUTH_CACHE_SECONDS.';

interface MountCommandOptions extends Pick<Mount, 'access' | 'instructions'> {
  name?: string;
}

/** `tenants mount|unmount|mounts`. */
export function registerMountCommands(tenants: Command, connect: Connect, io: Io): void {
  registerMount(tenants, connect, io);
  registerUnmount(tenants, connect, io);
  registerMounts(tenants, connect, io);
}

function registerMount(tenants: Command, connect: Connect, io: Io): void {
  tenants
    .command('mount')
    .description("Show another tenant's memory as a directory, or change how it is shown.")
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<mounted>', 'ID of the tenant whose memory is shown', tenantId)
    .option('--name <name>', 'name of the directory below /memories (default: the ID)', mountName)
    .addOption(
      new Option('--access <access>', 'what agents may do in it, whatever their keys allow elsewhere')
        .choices(['read_only', 'read_write'])
        .default('read_only'),
    )
    .option('--instructions <text>', 'what it is for, in words for the model', instructionsText, '')
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

function registerUnmount(tenants: Command, connect: Connect, io: Io): void {
  tenants
    .command('unmount')
    .description('Remove a mount. The mounted memory stays as it is.')
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

function registerMounts(tenants: Command, connect: Connect, io: Io): void {
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

type DetailOptions = StoreDetailsChange;

/** Options for what people say of a tenant. */
function addDetailOptions(command: Command): Command {
  return command
    .option('--name <name>', 'a name for people', nameOf(255, 1))
    .option('--description <text>', 'what the memory contains', textOf(0, 1024))
    .option(
      '--metadata <key=value>',
      'a metadata pair (repeatable); an empty value removes it',
      metadataPair,
    );
}

/** The details in the options of a command, without those that are not given. */
function detailsOf({ name, description, metadata }: DetailOptions): StoreDetailsChange {
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
  const [, key = '', given = ''] = /^([^=]{1,64})=([\s\S]{0,512})$/.exec(value) ?? [];
  if (key === '') throw new InvalidArgumentError('Use key=value, with up to 64 and 512 characters.');
  if (key === REFUSED_METADATA_KEY && given !== '')
    throw new InvalidArgumentError(`There must be no pair named ${REFUSED_METADATA_KEY}.`);
  return { ...before, [key]: given === '' ? null : given };
}

/** `default` stands for null, which commander does not accept as an option's value. */
type SettingOptions = { [Name in keyof TenantSettings]?: NonNullable<TenantSettings[Name]> | 'default' };

interface SetOptions extends SettingOptions, DetailOptions, Selection {
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

function settingsOf(options: SettingOptions): Partial<TenantSettings> {
  return Object.fromEntries(
    ALL_SETTINGS.map(([name]) => [name, options[name]] as const)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, value === 'default' ? null : value]),
  );
}

/** `tenants create`. */
export function registerTenantCreateCommand(tenants: Command, open: Open, io: Io): void {
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
      withDatabase(open, async ({ database }) => {
        const settings = settingsOf(options);
        const details = detailsOf(options);
        await audited(
          { database, io },
          'createTenant',
          { tenant, details: { ...settings, ...details } },
          () => new Tenants(database).createWith(tenant, settings, details),
        );
        printLine(io.stdout, `Created tenant ${tenant}.`);
      }),
    );
}

/** `tenants set`. */
export function registerTenantSetCommand(tenants: Command, open: Open, io: Io): void {
  addSelectionOptions(
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
      if (Object.keys({ ...settings, ...details }).length === 0) command.error('error: nothing to set');
      if ([ids.length > 0, options.all ?? false, isSelective(options)].filter(Boolean).length !== 1) {
        command.error('error: name tenants, select them with options such as --prefix, or use --all');
      }
      return withDatabase(open, async ({ config, database }) => {
        const all = new Tenants(database);
        const stores = new Stores(database);
        const isNamed = ids.length > 0;
        // Look all of them up before changing the first, so that a typo in the last ID changes nothing.
        const chosen = isNamed
          ? await Promise.all(ids.map((id) => requireTenant(database, id)))
          : await selectTenants(database, config, options);
        if (chosen.length === 0)
          throw new OperatorError('No matching tenants. See: memory-service tenants list');
        const { dryRun } = options;
        if (!isNamed && !options.yes && !dryRun) {
          await confirm(io, `Change ${amount(chosen.length, 'tenant')}?`, 'Nothing was changed.');
        }
        for (const { id, ...before } of chosen) {
          const changes = changedValues(before, { ...settings, ...details });
          const subject = { tenant: id, details: changes, dryRun };
          await audited({ database, io }, 'updateTenant', subject, async () => {
            if (dryRun) return printLine(io.stdout, id);
            if (Object.keys(details).length > 0) await stores.update(id, (now) => mergeDetails(now, details));
            if (!(await all.set(id, settings))) throw new ServiceError('no_such_tenant', id);
          });
        }
        if (dryRun) {
          io.stderr.write(`Would change ${amount(chosen.length, 'tenant')}.\n`);
          return;
        }
        const [first] = chosen;
        const what = chosen.length === 1 ? `tenant ${first?.id}` : amount(chosen.length, 'tenant');
        printLine(io.stdout, `Changed ${what}. It takes effect within AUTH_CACHE_SECONDS.`);
      });
    });
}

/** `tenants create|list|show|set|mount|unmount|mounts|suspend|resume|copy|rename|delete`. */
export function registerTenantCommands(program: Command, { connect, open, io }: Cli): void {
  const tenants = program.command('tenants').description('Create, change, copy, rename, and delete tenants.');
  registerTenantCreateCommand(tenants, open, io);
  registerTenantListCommand(tenants, open, io);
  registerTenantShowCommand(tenants, open, io);
  registerTenantSetCommand(tenants, open, io);
  registerMountCommands(tenants, connect, io);
  registerSuspend(tenants, open, io);
  registerTenantCopyCommands(tenants, open, io);
  registerDelete(tenants, open, io);
}

function registerSuspend(tenants: Command, open: Open, io: Io): void {
  for (const [name, suspended, done] of [
    ['suspend', true, 'Suspended'],
    ['resume', false, 'Resumed'],
  ] as const) {
    tenants
      .command(name)
      .description(
        suspended ? 'Reject all requests of a tenant.' : 'Accept requests of a suspended tenant again.',
      )
      .argument('<tenant>', 'tenant ID', tenantId)
      .addHelpText('after', `\nExample:\n  memory-service tenants ${name} acme`)
      .action((tenant: string) =>
        withDatabase(open, async ({ database }) => {
          await audited({ database, io }, `${name}Tenant`, { tenant }, async (note) => {
            const { suspendedAt } = await requireTenant(database, tenant);
            if (!(await new Tenants(database).suspend(tenant, suspended)))
              throw new ServiceError('no_such_tenant', tenant);
            note({ details: { suspended: { old: suspendedAt !== null, new: suspended } } });
          });
          printLine(io.stdout, `${done} tenant ${tenant}. It takes effect within AUTH_CACHE_SECONDS.`);
        }),
      );
  }
}

function registerDelete(tenants: Command, open: Open, io: Io): void {
  tenants
    .command('delete')
    .description('Delete a tenant with its files, history, keys, and settings.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--force', 'delete it even if other tenants mount it')
    .option('--forget', 'replace its ID in the audit trail by a hash, also if it was deleted before')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      '\nExamples:\n  memory-service tenants delete acme --yes\n  memory-service tenants delete acme --forget --yes',
    )
    .action((tenant: string, { yes, force, forget }: { yes?: boolean; force?: boolean; forget?: boolean }) =>
      withDatabase(open, async ({ database }) => {
        const found = await (forget ? new Tenants(database).find(tenant) : requireTenant(database, tenant));
        if (found !== undefined && !force) await refuseMounted(database, tenant, null);
        if (!yes) await confirm(io, questionOf(tenant, found, forget ?? false), 'Nothing was deleted.');
        await audited({ database, io }, 'deleteTenant', { tenant }, async (note) => {
          const erased = found && (await new Tenants(database).delete(tenant));
          if (erased !== undefined) {
            note({ details: { ...erased } });
            printLine(io.stdout, deletedRows(tenant, erased));
          }
          const events = forget ? await forgetInAuditTrail(database, tenant, note, io) : 0;
          // The event of this command contains the ID, too.
          if (erased === undefined && events <= 1) throw new ServiceError('no_such_tenant', tenant);
        });
      }),
    );
}

function questionOf(tenant: string, found: TenantRow | undefined, forget: boolean): string {
  const forgetting = 'replace its ID in the audit trail by a hash';
  if (found === undefined) return `Tenant ${tenant} is deleted already. Permanently ${forgetting}?`;
  const what = `${amount(found.files, 'file')} (${byteAmount(found.bytes)})`;
  return `Permanently delete tenant ${tenant} with ${what}${forget ? `, and ${forgetting}` : ''}?`;
}

function deletedRows(tenant: string, erased: Erased): string {
  return `Deleted tenant ${tenant}: 1 row of tenants, ${erased.entries} rows of entries, ${erased.versions} rows of versions, ${erased.directories} rows of past_directories, ${erased.storedResults} rows of idempotency_keys, ${erased.keys} rows of api_keys.`;
}

/** Returns the number of events that contained the ID. */
async function forgetInAuditTrail(
  database: Database,
  tenant: string,
  note: (more: AuditSubject) => void,
  io: Io,
): Promise<number> {
  const { hash, events } = await forgetTenant(database, tenant);
  note({ tenant: hash, details: { forgotten_events: events } });
  if (events > 1)
    printLine(io.stdout, `Replaced its ID by ${hash} in ${amount(events, 'event')} of the audit trail.`);
  return events;
}

/** How many of the tenants that mount a renamed one are named. */
const NAMED = 5;

/** `tenants copy` and `tenants rename`. */
function registerTenantCopyCommands(tenants: Command, open: Open, io: Io): void {
  const forms = [
    {
      name: 'copy',
      description: 'Copy a tenant: its files and settings as of one moment, without keys and history.',
      work: (database: Database, from: string, to: string): Promise<Copied & Partial<Renamed>> =>
        copyTenant(database, from, to, operatorOrigin()),
      done: 'Copied',
      also: '',
    },
    {
      name: 'rename',
      description:
        'Rename a tenant, with its files, history, settings, keys, and stored results, in one transaction. Clients that send the tenant ID must send the new one.',
      work: renameTenant,
      done: 'Renamed',
      also: ' Keys work for the new tenant within AUTH_CACHE_SECONDS.',
    },
  ];
  for (const { name, description, work, done, also } of forms) {
    tenants
      .command(name)
      .description(`${description} Writes to the tenant wait until it is done.`)
      .argument('<tenant>', 'tenant ID', tenantId)
      .argument('<new>', 'ID of the new tenant', newTenantId)
      .option('--json', 'print JSON')
      .addHelpText('after', `\nExample:\n  memory-service tenants ${name} acme acme-2026`)
      .action((from: string, to: string, { json }: { json?: boolean }) =>
        withDatabase(open, async ({ database }) => {
          const copied = await audited(
            { database, io },
            `${name}Tenant`,
            { tenant: from, details: { to } },
            () => work(database, from, to),
          );
          if (json) return printJson(io.stdout, { from, to, ...copied });
          const { files, bytes, keys, mountedBy = [] } = copied;
          const moved = name === 'rename' ? `, ${amount(keys, 'key')}` : '';
          printLine(
            io.stdout,
            `${done} tenant ${from} to ${to}: ${amount(files, 'file')} (${byteAmount(bytes)})${moved}.${also}`,
          );
          if (mountedBy.length === 0) return;
          const others = mountedBy.length > NAMED ? ' and others' : '';
          printLine(
            io.stdout,
            `It is mounted by ${mountedBy.slice(0, NAMED).join(', ')}${others}, whose mounts show it as before.`,
          );
        }),
      );
  }
}
