import type { Command } from 'commander';
import type { Database } from '../postgres/database.ts';
import { copyTenant, renameTenant } from '../tenants/copy.ts';
import { amount } from '../util/amount.ts';
import { byteAmount } from '../util/size.ts';
import { newTenantId, tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, operatorOrigin, withDatabase } from './session.ts';

/** `tenants copy` and `tenants rename`. */
export function registerTenantCopyCommands(tenants: Command, open: Open, io: Io): void {
  const forms = [
    {
      name: 'copy',
      description: 'Copy a tenant: its files and settings as of one moment, without keys and history.',
      work: (database: Database, from: string, to: string) =>
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
          const { files, bytes, keys } = copied;
          const moved = name === 'rename' ? `, ${amount(keys, 'key')}` : '';
          printLine(
            io.stdout,
            `${done} tenant ${from} to ${to}: ${amount(files, 'file')} (${byteAmount(bytes)})${moved}.${also}`,
          );
        }),
      );
  }
}
