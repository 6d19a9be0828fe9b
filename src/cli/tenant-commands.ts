import type { Command } from 'commander';
import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { type Copied, copyTenant, type Renamed, renameTenant } from '../tenants/copy.ts';
import { refuseMounted } from '../tenants/mounts.ts';
import { requireTenant, Tenants } from '../tenants/tenants.ts';
import { amount } from '../util/amount.ts';
import { byteAmount } from '../util/size.ts';
import { newTenantId, tenantId } from './arguments.ts';
import type { Cli } from './caller.ts';
import { confirm, type Io } from './io.ts';
import { registerMountCommands } from './mount-commands.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, operatorOrigin, withDatabase, withTenant } from './session.ts';
import { registerTenantListCommand, registerTenantShowCommand } from './tenant-list-commands.ts';
import { registerTenantCreateCommand, registerTenantSetCommand } from './tenant-settings-commands.ts';

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
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', '\nExample:\n  memory-service tenants delete acme --yes')
    .action((tenant: string, { yes, force }: { yes?: boolean; force?: boolean }) =>
      withTenant(open, tenant, async ({ database, tenant: { files, bytes } }) => {
        if (!force) await refuseMounted(database, tenant, null);
        if (!yes) {
          const what = `${amount(files, 'file')} (${byteAmount(bytes)})`;
          await confirm(io, `Permanently delete tenant ${tenant} with ${what}?`, 'Nothing was deleted.');
        }
        const erased = await audited({ database, io }, 'deleteTenant', { tenant }, async (note) => {
          const rows = await new Tenants(database).delete(tenant);
          if (rows === undefined) throw new ServiceError('no_such_tenant', tenant);
          note({ details: { ...rows } });
          return rows;
        });
        printLine(
          io.stdout,
          `Deleted tenant ${tenant}: 1 row of tenants, ${erased.entries} rows of entries, ${erased.versions} rows of versions, ${erased.directories} rows of past_directories, ${erased.storedResults} rows of idempotency_keys, ${erased.keys} rows of api_keys.`,
        );
      }),
    );
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
