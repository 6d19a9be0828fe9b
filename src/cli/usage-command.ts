import type { Command } from 'commander';
import { percentOf } from '../tenants/effective-settings.ts';
import { readTenants } from '../tenants/listing.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { requireTenant, Tenants } from '../tenants/tenants.ts';
import { tenantUsage, type Used } from '../tenants/usage.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { DEFAULTS_NOTE, printJson, printTable } from './output.ts';
import { type Open, withDatabase } from './session.ts';

/** `usage`. */
export function registerUsageCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('usage')
    .description('Show the usage and limits of a tenant, or the total usage of all tenants.')
    .argument('[tenant]', 'tenant ID', tenantId)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\n${DEFAULTS_NOTE}\n\nExamples:\n  memory-service usage\n  memory-service usage acme`,
    )
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        if (tenant === undefined) {
          return showTotal(readTenants(database, config, { order: 'id' }), json ?? false, io);
        }
        const row = await requireTenant(database, tenant);
        const usage = await tenantUsage(new Tenants(database), config, row);
        const { files, bytes, historyBytes, historyVersions } = usage;
        if (json) {
          return printJson(io.stdout, {
            ...{ tenants: 1, id: tenant, files: files.used, bytes: bytes.used },
            ...{ historyVersions, historyBytes: historyBytes.used },
            ...{ maxFiles: files.limit ?? 0, maxBytes: bytes.limit ?? 0 },
            maxHistoryBytes: historyBytes.limit ?? 0,
          });
        }
        printTable(
          io.stdout,
          [tenant, 'USED', 'LIMIT', 'PERCENT'],
          [line('files', files), line('bytes', bytes), line('history bytes', historyBytes)],
        );
      }),
    );
}

function line(what: string, { used, limit }: Used): (string | number)[] {
  if (limit === null) return [what, used, 'no limit', '-'];
  return [what, used, String(limit), `${percentOf(used, limit)}%`];
}

async function showTotal(tenants: AsyncIterable<TenantRow>, json: boolean, io: Io): Promise<void> {
  const total = { tenants: 0, files: 0, bytes: 0, historyVersions: 0, historyBytes: 0 };
  for await (const { files, bytes, historyVersions, historyBytes } of tenants) {
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
