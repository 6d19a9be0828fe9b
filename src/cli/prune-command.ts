import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { pruneHistory } from '../history/pruning.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { amount } from '../util/amount.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, withDatabase } from './session.ts';

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
        const pruned = await audited(database, 'pruneHistory', { tenant }, async (note) => {
          const done = await pruneHistory(database, { ...tenantDefaults(config), tenant });
          if (done === undefined)
            throw new OperatorError('Another process is pruning the history. Try again later.');
          note({ details: { ...done } });
          return done;
        });
        if (json) return printJson(io.stdout, pruned);
        printLine(
          io.stdout,
          `Deleted ${amount(pruned.versions, 'version')} (${amount(pruned.bytes, 'byte')} of history).`,
        );
      }),
    );
}
