import type { Command } from 'commander';
import type { Config } from '../config.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import type { TenantRow, TenantSettings } from '../tenants/queries.ts';
import { Tenants } from '../tenants/tenants.ts';
import { tenantId } from './arguments.ts';
import { amount, type Io } from './io.ts';
import { printJson, printTable, time } from './output.ts';
import { type Open, withDatabase } from './session.ts';
import { existingTenant } from './tenant-lookup.ts';

/** `tenants show`. */
export function registerTenantShowCommand(tenants: Command, open: Open, io: Io): void {
  tenants
    .command('show')
    .description(
      "Show a tenant's usage and the settings that hold for it: its own, or the service's as this command's environment has them.",
    )
    .argument('<tenant>', 'its id', tenantId)
    .option('--json', "as JSON: the tenant's own settings, with null for none, and the effective ones")
    .addHelpText('after', '\nExample:\n  memory-service tenants show acme')
    .action((tenant: string, { json }: { json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        const all = new Tenants(database);
        const row = await existingTenant(all, tenant);
        const lastActivityAt = time(await all.lastActivity(tenant));
        const answers = await all.countAnswers(tenant);
        if (json) {
          return printJson(io.stdout, {
            ...usageOf(row),
            ...{ answers, lastActivityAt },
            ...settingsOf(row, config),
          });
        }
        const { id, files, bytes, historyVersions, historyBytes, createdAt, suspendedAt } = usageOf(row);
        printTable(
          io.stdout,
          ['TENANT', id],
          [
            ['files', String(files)],
            ['bytes', String(bytes)],
            ['history', `${amount(historyVersions, 'version')} (${amount(historyBytes, 'byte')})`],
            ['stored answers', String(answers)],
            ['created', createdAt],
            ['last activity', lastActivityAt ?? 'never'],
            ['status', suspendedAt === null ? 'active' : `suspended since ${suspendedAt}`],
          ],
        );
        io.stdout.write('\n');
        const { effective, ...own } = settingsOf(row, config);
        printTable(
          io.stdout,
          ['SETTING', 'VALUE', 'FROM'],
          Object.entries(effective).map(([name, value]) => [
            name,
            value === 0 ? (ZEROS[name] ?? 'no limit') : String(value),
            own[name as keyof TenantSettings] === null ? 'service' : 'tenant',
          ]),
        );
      }),
    );
}

const ZEROS: Partial<Record<string, string>> = { ttlDays: 'never expires', historyDays: 'keeps none' };

const usageOf = ({ id, files, bytes, historyVersions, historyBytes, createdAt, suspendedAt }: TenantRow) => ({
  ...{ id, files, bytes, historyVersions, historyBytes },
  createdAt: time(createdAt),
  suspendedAt: time(suspendedAt),
});

function settingsOf(row: TenantRow, config: Config) {
  const { maxFileBytes, maxBytes, maxFiles, maxViewChars, ratePerMinute, maxBodyBytes, ...others } = row;
  const { ttlDays, redact, historyDays, maxHistoryBytes } = others;
  return {
    ...{ maxFileBytes, maxBytes, maxFiles, maxViewChars, ratePerMinute, maxBodyBytes },
    ...{ ttlDays, redact, historyDays, maxHistoryBytes },
    effective: effectiveSettings(row, config),
  };
}
