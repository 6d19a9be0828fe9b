import { archiveTenant, resumeTenant, suspendTenant } from '../admin/tenant-operations.ts';
import { tenantId } from './arguments.ts';
import { type Cli, command } from './cli-command.ts';
import { confirm } from './io.ts';

export const EFFECT = 'It takes effect within AUTH_CACHE_SECONDS.';

export const suspendCommand = (cli: Cli) =>
  command(cli, 'suspend', 'Reject all requests of a tenant.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .examples('memory-service tenants suspend acme')
    .run(async ({ caller }, tenant: string) => {
      await caller.call(suspendTenant, { params: { tenant } });
      return `Suspended tenant ${tenant}. ${EFFECT}`;
    });

export const resumeCommand = (cli: Cli) =>
  command(cli, 'resume', 'Accept requests of a suspended tenant again.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .examples('memory-service tenants resume acme')
    .run(async ({ caller }, tenant: string) => {
      await caller.call(resumeTenant, { params: { tenant } });
      return `Resumed tenant ${tenant}. ${EFFECT}`;
    });

export const archiveCommand = (cli: Cli) =>
  command(cli, 'archive', 'Archive a tenant permanently: its files can then only be read and deleted.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      `
There is no command that ends the archive. To reject requests for a while, suspend the tenant. To continue with the
files of an archived tenant, export it, and import the archive into a new tenant.`,
    )
    .examples('memory-service tenants archive acme')
    .run(async ({ caller, io }, tenant: string, { yes = false }: { yes?: boolean }) => {
      if (!yes) await confirm(io, `Archive tenant ${tenant} permanently?`, 'The tenant is unchanged.');
      await caller.call(archiveTenant, { params: { tenant } });
      return `Archived tenant ${tenant}.`;
    });
