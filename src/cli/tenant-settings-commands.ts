import { type Command, Option } from 'commander';
import { OperatorError } from '../errors.ts';
import type { TenantSettings } from '../tenants/queries.ts';
import { Tenants } from '../tenants/tenants.ts';
import { historyDays, limit, newTenantId, tenantId } from './arguments.ts';
import { confirm } from './confirm.ts';
import { amount, type Io } from './io.ts';
import { printLine } from './output.ts';
import { type Open, withDatabase } from './session.ts';
import { existingTenant, noTenant } from './tenant-lookup.ts';
import { addSelectionOptions, isSelective, type Selection, selectTenants } from './tenant-selection.ts';

interface LimitOptions {
  maxFileBytes?: number | 'default';
  maxBytes?: number | 'default';
  maxFiles?: number | 'default';
  maxViewChars?: number | 'default';
  ratePerMinute?: number | 'default';
  maxBodyBytes?: number | 'default';
  ttlDays?: number | 'default';
  historyDays?: number | 'default';
  maxHistoryBytes?: number | 'default';
  redact?: 'off' | 'mask' | 'reject' | 'default';
}

interface SetOptions extends LimitOptions, Selection {
  all?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

function addLimitOptions(command: Command): Command {
  return command
    .option('--max-file-bytes <n>', 'largest file, in bytes', limit)
    .option('--max-bytes <n>', 'all files together, in bytes', limit)
    .option('--max-files <n>', 'number of files', limit)
    .option('--max-view-chars <n>', 'longest result of view', limit)
    .option('--rate-per-minute <n>', 'requests a minute', limit)
    .option('--max-body-bytes <n>', 'largest request body, within the limit of the service', limit)
    .option('--ttl-days <n>', 'days after which a file that is not used is removed', limit)
    .option('--history-days <n>', 'days for which superseded versions are kept; 0: none', historyDays)
    .option('--max-history-bytes <n>', 'bytes of history', limit)
    .addOption(
      new Option('--redact <mode>', 'what happens to secrets').choices(['off', 'mask', 'reject', 'default']),
    );
}

/** The settings to change; `default` becomes null, which commander would not let through as an option's value. */
function settingsFrom(options: LimitOptions): Partial<TenantSettings> {
  const { maxFileBytes, maxBytes, maxFiles, maxViewChars, ratePerMinute, maxBodyBytes, ...others } = options;
  const limits = { maxFileBytes, maxBytes, maxFiles, maxViewChars, ratePerMinute, maxBodyBytes };
  const { ttlDays, redact, historyDays: days, maxHistoryBytes } = others;
  const all = { ...limits, ttlDays, redact, historyDays: days, maxHistoryBytes };
  return Object.fromEntries(
    Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, value === 'default' ? null : value]),
  );
}

/** `tenants create`. */
export function registerTenantCreateCommand(tenants: Command, open: Open, io: Io): void {
  addLimitOptions(
    tenants.command('create').description('Make a tenant.').argument('<tenant>', 'its id', newTenantId),
  )
    .addHelpText('after', '\nExample:\n  memory-service tenants create acme --max-files 500')
    .action((tenant: string, options: LimitOptions) =>
      withDatabase(open, async ({ database }) => {
        const all = new Tenants(database);
        if (!(await all.create(tenant))) throw new OperatorError(`There is a tenant ${tenant} already.`);
        await all.set(tenant, settingsFrom(options));
        printLine(io.stdout, `Created tenant ${tenant}.`);
      }),
    );
}

/** `tenants set`. */
export function registerTenantSetCommand(tenants: Command, open: Open, io: Io): void {
  addSelectionOptions(
    addLimitOptions(
      tenants
        .command('set')
        .description('Change the settings of one tenant, of several, or of all that options select.')
        .argument('[tenants...]', 'their ids', (value, before: string[] = []) => [
          ...before,
          tenantId(value),
        ]),
    ),
  )
    .option('--all', 'all tenants')
    .option('--dry-run', 'only say which tenants would be changed')
    .option('--yes', 'do not ask before changing selected tenants')
    .addHelpText(
      'after',
      `
Examples:
  memory-service tenants set acme --max-bytes 0 --ttl-days 90 --redact mask
  memory-service tenants set acme globex --max-files default
  memory-service tenants set --prefix eu- --rate-per-minute 600 --dry-run`,
    )
    .action((ids: string[], options: SetOptions, command: Command) => {
      const settings = settingsFrom(options);
      if (Object.keys(settings).length === 0) command.error('error: nothing to set');
      if ([ids.length > 0, options.all ?? false, isSelective(options)].filter(Boolean).length !== 1) {
        command.error('error: name tenants, or select them with --prefix, --search, …, or use --all');
      }
      return withDatabase(open, async ({ config, database }) => {
        const all = new Tenants(database);
        const isNamed = ids.length > 0;
        // All of them before the first is changed: a typo in the last id changes none.
        const chosen = isNamed
          ? await Promise.all(ids.map((id) => existingTenant(all, id)))
          : await selectTenants(all, config, options);
        if (chosen.length === 0)
          throw new OperatorError('No tenant is selected. See: memory-service tenants list');
        if (options.dryRun) {
          for (const { id } of chosen) printLine(io.stdout, id);
          io.stderr.write(`Would change ${amount(chosen.length, 'tenant')}.\n`);
          return;
        }
        if (!isNamed && !options.yes) {
          await confirm(io, `Change ${amount(chosen.length, 'tenant')}?`, 'Nothing was changed.');
        }
        for (const { id } of chosen) if (!(await all.set(id, settings))) throw noTenant(id);
        const [first] = chosen;
        const what = chosen.length === 1 ? `tenant ${first?.id}` : amount(chosen.length, 'tenant');
        printLine(io.stdout, `Changed ${what}. It takes effect within AUTH_CACHE_SECONDS.`);
      });
    });
}
