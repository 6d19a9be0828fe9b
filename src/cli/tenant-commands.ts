import { createInterface } from 'node:readline/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { MAX_HISTORY_DAYS } from '../config.ts';
import { OperatorError } from '../errors.ts';
import type { TenantRow, TenantSettings } from '../tenants/queries.ts';
import { TENANT_ID, TENANT_ID_RULE } from '../tenants/tenant-id.ts';
import { Tenants } from '../tenants/tenants.ts';
import { printJson, printTable, time } from './output.ts';
import { type Open, withDatabase } from './session.ts';

/** A commander argument parser for tenant ids. */
export function tenantId(value: string): string {
  if (TENANT_ID.test(value)) return value;
  throw new InvalidArgumentError(`A tenant id is ${TENANT_ID_RULE}`);
}

/** A limit: a whole number (0 means no limit), or `default` for the service's own. */
function limit(value: string): number | 'default' {
  if (value === 'default') return value;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Give a whole number (0: no limit), or default.');
}

/** A number of days of history: at most what HISTORY_DAYS allows. */
function days(value: string): number | 'default' {
  if (value === 'default') return value;
  if (/^\d{1,5}$/.test(value) && Number(value) <= MAX_HISTORY_DAYS) return Number(value);
  throw new InvalidArgumentError(`Give a whole number of days from 0 to ${MAX_HISTORY_DAYS}, or default.`);
}

interface LimitOptions {
  maxFileBytes?: number | 'default';
  maxBytes?: number | 'default';
  maxFiles?: number | 'default';
  maxViewChars?: number | 'default';
  ratePerMinute?: number | 'default';
  maxBodyBytes?: number | 'default';
  ttlDays?: number | 'default';
  redact?: 'off' | 'mask' | 'reject' | 'default';
  historyDays?: number | 'default';
  maxHistoryBytes?: number | 'default';
}

function withLimitOptions(command: Command): Command {
  return command
    .option('--max-file-bytes <n>', 'largest file, in bytes', limit)
    .option('--max-bytes <n>', 'all files together, in bytes', limit)
    .option('--max-files <n>', 'number of files', limit)
    .option('--max-view-chars <n>', 'longest result of view', limit)
    .option('--rate-per-minute <n>', 'requests a minute', limit)
    .option('--max-body-bytes <n>', 'largest request body, within the limit of the service', limit)
    .option('--ttl-days <n>', 'days after which a file that is not used is removed', limit)
    .option('--history-days <n>', 'days for which superseded versions are kept; 0: none', days)
    .option('--max-history-bytes <n>', 'bytes of history', limit)
    .addOption(
      new Option('--redact <mode>', 'what happens to secrets').choices(['off', 'mask', 'reject', 'default']),
    );
}

/** The settings to change; `default` becomes null, which commander would not let through as an option's value. */
function settingsFrom(options: LimitOptions): Partial<TenantSettings> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, value === 'default' ? null : value]),
  );
}

const describe = (row: TenantRow) => ({
  ...row,
  createdAt: time(row.createdAt),
  suspendedAt: time(row.suspendedAt),
});

/** `tenants create|list|show|set|suspend|resume|delete` and `usage`. */
export function registerTenantCommands(program: Command, open: Open): void {
  const tenants = program.command('tenants').description('Make, change and erase tenants.');
  const run = <T>(work: (tenants: Tenants) => Promise<T>) =>
    withDatabase(open, ({ database }) => work(new Tenants(database)));

  withLimitOptions(
    tenants.command('create').description('Make a tenant.').argument('<tenant>', 'its id', tenantId),
  )
    .addHelpText('after', '\nExample:\n  memory-service tenants create acme --max-files 500')
    .action((tenant: string, options: LimitOptions) =>
      run(async (all) => {
        if (!(await all.create(tenant))) throw new OperatorError(`There is a tenant ${tenant} already.`);
        await all.set(tenant, settingsFrom(options));
        console.log(`Created tenant ${tenant}.`);
      }),
    );

  tenants
    .command('list')
    .description('List the tenants with what they use.')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  memory-service tenants list --json')
    .action(({ json }: { json?: boolean }) =>
      run(async (all) => {
        const rows = [];
        for await (const row of all.list()) rows.push(describe(row));
        if (json) return printJson(rows);
        printTable(
          ['TENANT', 'FILES', 'BYTES', 'CREATED', 'SUSPENDED'],
          rows.map((row) => [row.id, row.files, row.bytes, row.createdAt, row.suspendedAt]),
        );
      }),
    );

  tenants
    .command('show')
    .description("Show a tenant's usage and settings; - is the service's default.")
    .argument('<tenant>', 'its id', tenantId)
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  memory-service tenants show acme')
    .action((tenant: string, { json }: { json?: boolean }) =>
      run(async (all) => {
        const row = {
          ...describe(await existingTenant(all, tenant)),
          answers: await all.countAnswers(tenant),
        };
        if (json) return printJson(row);
        printTable(
          ['SETTING', 'VALUE'],
          Object.entries(row).map(([name, value]) => [name, value === null ? '-' : String(value)]),
        );
      }),
    );

  withLimitOptions(
    tenants
      .command('set')
      .description("Change a tenant's settings.")
      .argument('<tenant>', 'its id', tenantId),
  )
    .addHelpText(
      'after',
      '\nExample:\n  memory-service tenants set acme --max-bytes 0 --ttl-days 90 --redact mask',
    )
    .action((tenant: string, options: LimitOptions) =>
      run(async (all) => {
        const settings = settingsFrom(options);
        if (Object.keys(settings).length === 0) throw new OperatorError('Say what to set; see --help.');
        if (!(await all.set(tenant, settings))) throw noTenant(tenant);
        console.log(`Changed tenant ${tenant}. It takes effect within AUTH_CACHE_SECONDS.`);
      }),
    );

  for (const [name, suspended, done] of [
    ['suspend', true, 'Suspended'],
    ['resume', false, 'Resumed'],
  ] as const) {
    tenants
      .command(name)
      .description(suspended ? 'Refuse all requests of a tenant.' : 'Let a suspended tenant in again.')
      .argument('<tenant>', 'its id', tenantId)
      .addHelpText('after', `\nExample:\n  memory-service tenants ${name} acme`)
      .action((tenant: string) =>
        run(async (all) => {
          if (!(await all.suspend(tenant, suspended))) throw noTenant(tenant);
          console.log(`${done} tenant ${tenant}. It takes effect within AUTH_CACHE_SECONDS.`);
        }),
      );
  }

  tenants
    .command('delete')
    .description('Erase a tenant: its files, its keys, its settings.')
    .argument('<tenant>', 'its id', tenantId)
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  memory-service tenants delete acme --yes')
    .action((tenant: string, { yes }: { yes?: boolean }) =>
      run(async (all) => {
        const { files, bytes } = await existingTenant(all, tenant);
        if (!yes) await confirm(`Erase tenant ${tenant} with ${files} files (${bytes} bytes) for good?`);
        const erased = await all.delete(tenant);
        if (erased === undefined) throw noTenant(tenant);
        console.log(
          `Erased tenant ${tenant}: 1 row of tenants, ${erased.entries} rows of entries, ${erased.versions} rows of versions, ${erased.contents} rows of version_contents, ${erased.directories} rows of past_directories, ${erased.answers} rows of idempotency_keys, ${erased.keys} rows of api_keys.`,
        );
      }),
    );

  program
    .command('usage')
    .description('Show what one tenant, or all together, use.')
    .argument('[tenant]', 'its id', tenantId)
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  memory-service usage acme')
    .action((tenant: string | undefined, { json }: { json?: boolean }) =>
      run(async (all) => {
        const total = { tenants: 0, files: 0, bytes: 0, historyVersions: 0, historyBytes: 0 };
        const rows = tenant === undefined ? all.list() : [await existingTenant(all, tenant)];
        for await (const { files, bytes, historyVersions, historyBytes } of rows) {
          total.tenants++;
          total.files += files;
          total.bytes += bytes;
          total.historyVersions += historyVersions;
          total.historyBytes += historyBytes;
        }
        if (json) return printJson(total);
        printTable(
          ['TENANTS', 'FILES', 'BYTES', 'HISTORY VERSIONS', 'HISTORY BYTES'],
          [Object.values(total)],
        );
      }),
    );
}

/** @throws OperatorError when there is no such tenant */
export async function existingTenant(tenants: Tenants, tenant: string): Promise<TenantRow> {
  const row = await tenants.find(tenant);
  if (row === undefined) throw noTenant(tenant);
  return row;
}

function noTenant(tenant: string): OperatorError {
  return new OperatorError(`There is no tenant ${tenant}. See: memory-service tenants list`);
}

async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new OperatorError('This erases data: add --yes to do it without being asked.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new OperatorError('Nothing was erased.');
}
