import type { Command } from 'commander';
import { effectiveSettings, percentOf } from '../tenants/effective-settings.ts';
import { Tenants } from '../tenants/tenants.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printTable } from './output.ts';
import { type Open, withDatabase } from './session.ts';
import { existingTenant } from './tenant-lookup.ts';

/** `usage`. */
export function registerUsageCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('usage')
    .description('Show what one tenant uses of its limits, or what all use together.')
    .argument('[tenant]', 'its id', tenantId)
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExamples:\n  memory-service usage\n  memory-service usage acme')
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        const tenants = new Tenants(database);
        if (tenant === undefined) return showTotal(tenants, json ?? false, io);
        const row = await existingTenant(tenants, tenant);
        const { id, files, bytes, historyVersions, historyBytes } = row;
        const { maxFiles, maxBytes, maxHistoryBytes } = effectiveSettings(row, config);
        if (json) {
          const limits = { maxFiles, maxBytes, maxHistoryBytes };
          const usage = { tenants: 1, id, files, bytes, historyVersions, historyBytes };
          return printJson(io.stdout, { ...usage, ...limits });
        }
        printTable(
          io.stdout,
          [id, 'USED', 'LIMIT', 'PERCENT'],
          [
            line('files', files, maxFiles),
            line('bytes', bytes, maxBytes),
            line('history bytes', historyBytes, maxHistoryBytes),
          ],
        );
      }),
    );
}

function line(what: string, used: number, limit: number): (string | number)[] {
  if (limit === 0) return [what, used, 'no limit', '-'];
  return [what, used, String(limit), `${percentOf(used, limit)}%`];
}

async function showTotal(tenants: Tenants, json: boolean, io: Io): Promise<void> {
  const total = { tenants: 0, files: 0, bytes: 0, historyVersions: 0, historyBytes: 0 };
  for await (const { files, bytes, historyVersions, historyBytes } of tenants.list()) {
    total.tenants++;
    total.files += files;
    total.bytes += bytes;
    total.historyVersions += historyVersions;
    total.historyBytes += historyBytes;
  }
  if (json) return printJson(io.stdout, total);
  printTable(
    io.stdout,
    ['TENANTS', 'FILES', 'BYTES', 'HISTORY VERSIONS', 'HISTORY BYTES'],
    [Object.values(total)],
  );
}
