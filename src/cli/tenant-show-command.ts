import type { Command } from 'commander';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { ALL_SETTINGS, settingsFrom } from '../tenants/settings.ts';
import { Tenants } from '../tenants/tenants.ts';
import { amount } from '../util/amount.ts';
import { snakeCase } from '../util/snake-case.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { DEFAULTS_NOTE, printJson, printLine, printTable, time } from './output.ts';
import { type Open, withTenant } from './session.ts';

/** `tenants show`. */
export function registerTenantShowCommand(tenants: Command, open: Open, io: Io): void {
  tenants
    .command('show')
    .description(
      "Show a tenant's usage and settings in effect. Settings that the tenant does not have come from this command's environment variables, which may differ from those of the running service.",
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--json', "print JSON: the tenant's own settings (null for none) and the effective ones")
    .addHelpText('after', '\nExample:\n  memory-service tenants show acme')
    .action((tenant: string, { json }: { json?: boolean }) =>
      withTenant(open, tenant, async ({ config, database, tenant: row }) => {
        const all = new Tenants(database);
        const lastActivityAt = time(await all.lastActivity(tenant));
        const answers = await all.countAnswers(tenant);
        if (json) {
          return printJson(io.stdout, {
            ...usageOf(row),
            ...{ name: row.name ?? row.id, description: row.description },
            ...{ answers, lastActivityAt },
            ...settingsFrom((name) => row[name]),
            effective: effectiveSettings(row, config),
            metadata: row.metadata,
            mounts: row.mounts,
          });
        }
        const usage = usageOf(row);
        const { id, files, bytes, historyVersions, historyBytes, createdAt, suspendedAt, archivedAt } = usage;
        printTable(
          io.stdout,
          ['TENANT', id],
          [
            ...detailRows(row),
            ['files', String(files)],
            ['bytes', String(bytes)],
            ['history', `${amount(historyVersions, 'version')} (${amount(historyBytes, 'byte')})`],
            ['stored answers', String(answers)],
            ['created', createdAt],
            ...(row.mounts.length === 0 ? [] : [['mounts', row.mounts.map(({ name }) => name).join(', ')]]),
            ['last activity', lastActivityAt ?? 'never'],
            ['status', suspendedAt === null ? 'active' : `suspended since ${suspendedAt}`],
            ...(archivedAt === null
              ? []
              : [['archived', `since ${archivedAt}: files can only be read and deleted`]]),
          ],
        );
        io.stdout.write('\n');
        const effective = effectiveSettings(row, config);
        printTable(
          io.stdout,
          ['SETTING', 'VALUE', 'FROM'],
          ALL_SETTINGS.map(([name, setting]) => [
            snakeCase(name),
            effective[name] === 0 && 'zero' in setting ? setting.zero : String(effective[name]),
            row[name] === null ? 'environment' : 'tenant',
          ]),
        );
        if (ALL_SETTINGS.some(([name]) => row[name] === null)) printLine(io.stderr, `\n${DEFAULTS_NOTE}`);
      }),
    );
}

/** What people say of a tenant, as far as they do. */
function detailRows({ name, description, metadata }: TenantRow): [string, string][] {
  return [
    ...(name === null ? [] : [['name', name] as [string, string]]),
    ...(description === '' ? [] : [['description', description] as [string, string]]),
    ...Object.entries(metadata).map(([key, value]): [string, string] => [`metadata ${key}`, value]),
  ];
}

const usageOf = (row: TenantRow) => {
  const { id, files, bytes, historyVersions, historyBytes } = row;
  return {
    ...{ id, files, bytes, historyVersions, historyBytes },
    createdAt: time(row.createdAt),
    suspendedAt: time(row.suspendedAt),
    archivedAt: time(row.archivedAt),
  };
};
