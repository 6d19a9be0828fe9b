import type { Command } from 'commander';
import { ServiceError } from '../errors.ts';
import { refuseMounted } from '../tenants/mounts.ts';
import { Tenants } from '../tenants/tenants.ts';
import { amount } from '../util/amount.ts';
import { tenantId } from './arguments.ts';
import { confirm, type Io } from './io.ts';
import { registerMountCommands } from './mount-commands.ts';
import { printLine } from './output.ts';
import { audited, type Open, withDatabase, withTenant } from './session.ts';
import { registerTenantCopyCommands } from './tenant-copy-commands.ts';
import { registerTenantListCommand } from './tenant-list-command.ts';
import { registerTenantCreateCommand, registerTenantSetCommand } from './tenant-settings-commands.ts';
import { registerTenantShowCommand } from './tenant-show-command.ts';

/** `tenants create|list|show|set|mount|unmount|mounts|suspend|resume|copy|rename|delete`. */
export function registerTenantCommands(program: Command, open: Open, io: Io = process): void {
  const tenants = program.command('tenants').description('Create, change, copy, rename, and delete tenants.');
  registerTenantCreateCommand(tenants, open, io);
  registerTenantListCommand(tenants, open, io);
  registerTenantShowCommand(tenants, open, io);
  registerTenantSetCommand(tenants, open, io);
  registerMountCommands(tenants, open, io);
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
          await audited(
            database,
            `${name}Tenant`,
            { tenant, details: { suspended: { new: suspended } } },
            async () => {
              if (!(await new Tenants(database).suspend(tenant, suspended)))
                throw new ServiceError('no_such_tenant', tenant);
            },
          );
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
    .option('--force', 'delete it although other tenants mount it')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', '\nExample:\n  memory-service tenants delete acme --yes')
    .action((tenant: string, { yes, force }: { yes?: boolean; force?: boolean }) =>
      withTenant(open, tenant, async ({ database, tenant: { files, bytes } }) => {
        if (!force) await refuseMounted(database, tenant);
        if (!yes) {
          const what = `${amount(files, 'file')} (${amount(bytes, 'byte')})`;
          await confirm(io, `Permanently delete tenant ${tenant} with ${what}?`, 'Nothing was deleted.');
        }
        const erased = await audited(database, 'deleteTenant', { tenant }, async (note) => {
          const rows = await new Tenants(database).delete(tenant);
          if (rows === undefined) throw new ServiceError('no_such_tenant', tenant);
          note({ details: { ...rows } });
          return rows;
        });
        printLine(
          io.stdout,
          `Deleted tenant ${tenant}: 1 row of tenants, ${erased.entries} rows of entries, ${erased.versions} rows of versions, ${erased.directories} rows of past_directories, ${erased.answers} rows of idempotency_keys, ${erased.keys} rows of api_keys.`,
        );
      }),
    );
}
