import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { pruneHistory } from '../history/pruning.ts';
import { Tenants } from '../tenants/tenants.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine } from './output.ts';
import { type Open, withDatabase } from './session.ts';
import { existingTenant } from './tenant-lookup.ts';

/** `history prune`: what the service does by itself every hour, at once. */
export function registerPruneCommand(program: Command, open: Open, io: Io = process): void {
  const history = program.command('history').description('Maintain the history of changes.');
  history
    .command('prune')
    .description(
      'Delete superseded versions that are older than HISTORY_DAYS or over MAX_TENANT_HISTORY_BYTES, or the tenant’s own limits.',
    )
    .argument('[tenant]', 'its id; all tenants otherwise', tenantId)
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  memory-service history prune acme')
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        if (tenant !== undefined) await existingTenant(new Tenants(database), tenant);
        const pruned = await pruneHistory(database, {
          historyDays: config.HISTORY_DAYS,
          maxHistoryBytes: config.MAX_TENANT_HISTORY_BYTES,
          tenant,
        });
        if (pruned === undefined)
          throw new OperatorError('Another process is pruning the history right now.');
        if (json) return printJson(io.stdout, pruned);
        printLine(io.stdout, `Deleted ${pruned.versions} versions (${pruned.bytes} bytes of history).`);
      }),
    );
}
