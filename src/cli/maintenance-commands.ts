import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { expireFiles } from '../expiration/expiration.ts';
import { pruneHistory } from '../history/pruning.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { amount } from '../util/amount.ts';
import { byteAmount } from '../util/size.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, withDatabase } from './session.ts';

/** `expire`: runs the service's hourly job now. */
export function registerExpireCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('expire')
    .description(
      "Delete files that nobody has read or written for MEMORY_TTL_DAYS, or for the tenant's own TTL.",
    )
    .option('--dry-run', 'show what would be deleted, without deleting it')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  MEMORY_TTL_DAYS=180 memory-service expire --dry-run')
    .action(({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        const verb = dryRun ? 'Would delete' : 'Deleted';
        const expired = await audited({ database, io }, 'expireFiles', { dryRun }, async (note) => {
          const done = await expireFiles(database, {
            defaultTtlDays: config.MEMORY_TTL_DAYS,
            ...tenantDefaults(config),
            dryRun,
            onTenant: (tenant, { files, bytes }) => {
              if (!json) printLine(io.stderr, `${tenant}: ${amount(files, 'file')}, ${byteAmount(bytes)}`);
            },
          });
          if (done === undefined)
            throw new OperatorError('Another process is deleting expired files. Try again later.');
          note({ details: { ...done } });
          return done;
        });
        if (json) return printJson(io.stdout, expired);
        printLine(
          io.stdout,
          `${verb} ${amount(expired.files, 'file')} (${byteAmount(expired.bytes)}) of ${amount(expired.tenants, 'tenant')}.`,
        );
      }),
    );
}

/** `history prune`: runs the service's hourly job now. */
export function registerPruneCommand(program: Command, open: Open, io: Io = process): void {
  const history = program.command('history').description('Maintain the history of changes.');
  history
    .command('prune')
    .description(
      "Delete superseded versions that are older than HISTORY_DAYS or exceed MAX_TENANT_HISTORY_BYTES, or the tenant's own limits.",
    )
    .argument('[tenant]', 'tenant ID (default: all tenants)', tenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service history prune acme')
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        if (tenant !== undefined) await requireTenant(database, tenant);
        const pruned = await audited({ database, io }, 'pruneHistory', { tenant }, async (note) => {
          const done = await pruneHistory(database, { ...tenantDefaults(config), tenant });
          if (done === undefined)
            throw new OperatorError('Another process is pruning the history. Try again later.');
          note({ details: { ...done } });
          return done;
        });
        if (json) return printJson(io.stdout, pruned);
        printLine(
          io.stdout,
          `Deleted ${amount(pruned.versions, 'version')} (${byteAmount(pruned.bytes)} of history).`,
        );
      }),
    );
}
