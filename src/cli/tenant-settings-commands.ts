import { type Command, InvalidArgumentError, Option } from 'commander';
import { changedValues } from '../audit/audit.ts';
import { OperatorError, ServiceError } from '../errors.ts';
import { REFUSED_METADATA_KEY } from '../tenants/metadata-schema.ts';
import { ALL_SETTINGS, type NumberSetting, type TenantSettings } from '../tenants/settings.ts';
import { mergeDetails, type StoreDetailsChange, Stores } from '../tenants/stores.ts';
import { requireTenant, Tenants } from '../tenants/tenants.ts';
import { amount } from '../util/amount.ts';
import { expectedQuantity, formatQuantity, parseQuantity } from '../util/quantity.ts';
import { snakeCase } from '../util/snake-case.ts';
import { nameOf, newTenantId, tenantId } from './arguments.ts';
import { confirm, type Io } from './io.ts';
import { printLine } from './output.ts';
import { audited, type Open, withDatabase } from './session.ts';
import { addSelectionOptions, isSelective, type Selection, selectTenants } from './tenant-list-commands.ts';

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
