import type { Command } from 'commander';
import { expireFiles, pruneHistory, pruneTenantHistory } from '../admin/maintenance.ts';
import type { OperationProgress } from '../admin/operation.ts';
import { amount, byteAmount } from '../lib/units.ts';
import { tenantId } from './arguments.ts';
import { type Cli, withCaller } from './caller.ts';
import { Progress } from './io.ts';
import { DEFAULTS_HELP, printJson, printLine } from './output.ts';

export function registerExpireCommand(program: Command, { connect, io }: Cli): void {
  program
    .command('expire')
    .description(
      "Delete files that were not read or written for MEMORY_TTL_DAYS, or for the tenant's own TTL.",
    )
    .option('--dry-run', 'list the files to delete, without deleting them')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\n${DEFAULTS_HELP}\n\nExample:\n  MEMORY_TTL_DAYS=180 memory-service expire --dry-run`,
    )
    .action(({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const progress = new Progress(io.stderr, dryRun ? 'Counted' : 'Expired', 'tenant');
        const onProgress = (now: OperationProgress) => {
          if (now.step === 'read') progress.update(now.items);
        };
        const { by_tenant: listed, ...expired } = await caller
          .call(expireFiles, { body: { dry_run: dryRun }, onProgress })
          .finally(() => progress.end());
        if (json) return printJson(io.stdout, expired);
        for (const { tenant, files, bytes } of listed) {
          printLine(io.stderr, `${tenant}: ${amount(files, 'file')}, ${byteAmount(bytes)}`);
        }
        const more = expired.tenants - listed.length;
        if (more > 0) printLine(io.stderr, `and ${more} more`);
        const verb = dryRun ? 'Would delete' : 'Deleted';
        printLine(
          io.stdout,
          `${verb} ${amount(expired.files, 'file')} (${byteAmount(expired.bytes)}) of ${amount(expired.tenants, 'tenant')}.`,
        );
      }),
    );
}

export function registerPruneCommand(program: Command, { connect, io }: Cli): void {
  const history = program.command('history').description('Maintain the history of changes.');
  history
    .command('prune')
    .description(
      "Delete superseded versions that are older than HISTORY_DAYS or exceed MAX_TENANT_HISTORY_BYTES, or the tenant's own limits.",
    )
    .argument('[tenant]', 'tenant ID (default: all tenants)', tenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${DEFAULTS_HELP}\n\nExample:\n  memory-service history prune acme`)
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      withCaller(connect, async (caller) => {
        const pruned =
          tenant === undefined
            ? await caller.call(pruneHistory, {})
            : await caller.call(pruneTenantHistory, { params: { tenant } });
        if (json) return printJson(io.stdout, pruned);
        printLine(
          io.stdout,
          `Deleted ${amount(pruned.versions, 'version')} (${byteAmount(pruned.bytes)} of history).`,
        );
      }),
    );
}
