import type { OperationProgress } from '../admin/admin-operation.ts';
import { expireFiles, pruneHistory, pruneTenantHistory } from '../admin/maintenance-operations.ts';
import { amount, byteAmount } from '../lib/units.ts';
import { tenantId } from './arguments.ts';
import { type Cli, command, group } from './cli-command.ts';
import { type Io, Progress } from './io.ts';
import { DEFAULTS_HELP, printLine } from './output.ts';

export const expireCommand = (cli: Cli) =>
  command(
    cli,
    'expire',
    "Delete files that were not read or written for MEMORY_TTL_DAYS, or for the tenant's own TTL.",
  )
    .option('--dry-run', 'list the files to delete, without deleting them')
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${DEFAULTS_HELP}`)
    .examples('MEMORY_TTL_DAYS=180 memory-service expire --dry-run')
    .run(async ({ caller, io }, { dryRun = false }: { dryRun?: boolean }) => {
      const progress = new Progress(io.stderr, dryRun ? 'Counted' : 'Expired', 'tenant');
      const onProgress = (now: OperationProgress) => {
        if (now.step === 'read') progress.update(now.items);
      };
      const { by_tenant: listed, ...expired } = await caller
        .call(expireFiles, { body: { dry_run: dryRun }, onProgress })
        .finally(() => progress.end());
      const text = ({ stdout, stderr }: Io) => {
        for (const { tenant, files, bytes } of listed)
          printLine(stderr, `${tenant}: ${amount(files, 'file')}, ${byteAmount(bytes)}`);
        const { tenants, files, bytes } = expired;
        if (tenants > listed.length) printLine(stderr, `and ${tenants - listed.length} more`);
        const done = `${dryRun ? 'Would delete' : 'Deleted'} ${amount(files, 'file')} (${byteAmount(bytes)})`;
        printLine(stdout, `${done} of ${amount(tenants, 'tenant')}.`);
      };
      return { json: expired, text };
    });

const pruneCommand = (cli: Cli) =>
  command(
    cli,
    'prune',
    "Delete superseded versions that are older than HISTORY_DAYS or exceed MAX_TENANT_HISTORY_BYTES, or the tenant's own limits.",
  )
    .argument('[tenant]', 'tenant ID (default: all tenants)', tenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${DEFAULTS_HELP}`)
    .examples('memory-service history prune acme')
    .run(async ({ caller }, tenant: string | undefined) => {
      const pruned =
        tenant === undefined
          ? await caller.call(pruneHistory, {})
          : await caller.call(pruneTenantHistory, { params: { tenant } });
      const text = `Deleted ${amount(pruned.versions, 'version')} (${byteAmount(pruned.bytes)} of history).`;
      return { json: pruned, text };
    });

export const historyCommands = group('history', 'Maintain the history of changes.', [pruneCommand]);
