import type { Command } from 'commander';
import { archiveTenant, resumeTenant, suspendTenant } from '../admin/tenants.ts';
import { tenantId } from './arguments.ts';
import { type Cli, withCaller } from './caller.ts';
import { confirm } from './io.ts';
import { printLine } from './output.ts';

export const EFFECT = 'It takes effect within AUTH_CACHE_SECONDS.';

/** Registers the commands that suspend, resume, and archive a tenant. */
export function registerTenantStateCommands(tenants: Command, cli: Cli): void {
  registerSuspend(tenants, cli);
  registerArchive(tenants, cli);
}

function registerSuspend(tenants: Command, { connect, io }: Cli): void {
  for (const [name, operation, description, done] of [
    ['suspend', suspendTenant, 'Reject all requests of a tenant.', 'Suspended'],
    ['resume', resumeTenant, 'Accept requests of a suspended tenant again.', 'Resumed'],
  ] as const) {
    tenants
      .command(name)
      .description(description)
      .argument('<tenant>', 'tenant ID', tenantId)
      .addHelpText('after', `\nExample:\n  memory-service tenants ${name} acme`)
      .action((tenant: string) =>
        withCaller(connect, async (caller) => {
          await caller.call(operation, { params: { tenant } });
          printLine(io.stdout, `${done} tenant ${tenant}. ${EFFECT}`);
        }),
      );
  }
}

function registerArchive(tenants: Command, { connect, io }: Cli): void {
  tenants
    .command('archive')
    .description('Archive a tenant permanently: its files can then only be read and deleted.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      `
There is no command that ends the archive. To reject requests for a while, suspend the tenant. To continue with the
files of an archived tenant, export it, and import the archive into a new tenant.

Example:
  memory-service tenants archive acme`,
    )
    .action((tenant: string, { yes = false }: { yes?: boolean }) =>
      withCaller(connect, async (caller) => {
        if (!yes) await confirm(io, `Archive tenant ${tenant} permanently?`, 'The tenant is unchanged.');
        await caller.call(archiveTenant, { params: { tenant } });
        printLine(io.stdout, `Archived tenant ${tenant}.`);
      }),
    );
}
