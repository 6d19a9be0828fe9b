import type { Command } from 'commander';
import type { AuditSubject } from '../audit/audit.ts';
import { forgetTenant } from '../audit/forget.ts';
import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { type Copied, copyTenant, type Renamed, renameTenant } from '../tenants/copy.ts';
import { refuseMounted } from '../tenants/mounts.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { type Erased, requireTenant, Tenants } from '../tenants/tenants.ts';
import { amount } from '../util/amount.ts';
import { byteAmount } from '../util/size.ts';
import { newTenantId, tenantId } from './arguments.ts';
import type { Cli } from './caller.ts';
import { confirm, type Io } from './io.ts';
import { registerMountCommands } from './mount-commands.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, operatorOrigin, withDatabase } from './session.ts';
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
