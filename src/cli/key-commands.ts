import { type Command, InvalidArgumentError, Option } from 'commander';
import { newApiKey } from '../api-keys/api-key.ts';
import { Keys } from '../api-keys/api-keys.ts';
import type { KeyRow } from '../api-keys/queries.ts';
import { OperatorError, ServiceError } from '../errors.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine, printTable, time } from './output.ts';
import { type Open, withDatabase } from './session.ts';

interface CreateOptions {
  tenant?: string;
  service?: boolean;
  access: KeyRow['access'];
  label: string;
  expires?: Date;
  json?: boolean;
}

/** `90d`, `12h`, or a time that JavaScript understands. */
function expiry(value: string): Date {
  const [, amount, unit] = /^(\d{1,6})([dh])$/.exec(value) ?? [];
  const date = amount
    ? new Date(Date.now() + Number(amount) * (unit === 'd' ? 86_400_000 : 3_600_000))
    : new Date(value);
  if (Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('Give a duration (90d, 12h) or a time (2027-01-31T00:00:00Z).');
  }
  if (date.getTime() <= Date.now()) throw new InvalidArgumentError('The time is past.');
  return date;
}

const describe = (row: KeyRow) => ({
  ...row,
  createdAt: time(row.createdAt),
  expiresAt: time(row.expiresAt),
  revokedAt: time(row.revokedAt),
  lastUsedAt: time(row.lastUsedAt),
});

/** `keys create|generate|list|revoke`. */
export function registerKeyCommands(program: Command, open: Open, io: Io = process): void {
  const keys = program.command('keys').description('Make, list and revoke API keys.');
  const run = <T>(work: (keys: Keys) => Promise<T>) =>
    withDatabase(open, ({ database }) => work(new Keys(database)));

  keys
    .command('create')
    .description('Make a key and show it: once, only its hash is kept.')
    .option('--tenant <tenant>', 'for one tenant', tenantId)
    .option('--service', 'for all tenants, named with each request by X-Tenant-Id')
    .addOption(
      new Option('--access <access>', 'what it may do')
        .choices(['read_write', 'read_only'])
        .default('read_write'),
    )
    .option('--expires <when>', 'duration (90d, 12h) or time', expiry)
    .option('--label <text>', 'what it is for', '')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  memory-service keys create --tenant acme --expires 90d --label worker',
    )
    .action((options: CreateOptions, command: Command) => {
      if ((options.tenant === undefined) === !options.service) {
        command.error('error: say what the key is for: --tenant <tenant> or --service, one of them');
      }
      return run(async (all) => {
        const { key, hash, id } = newApiKey();
        const tenant = options.tenant ?? null;
        const { access, label } = options;
        const expiresAt = options.expires?.toISOString() ?? null;
        if (!(await all.create({ hash, id, tenant, access, label, expiresAt }))) {
          throw new ServiceError('unknown_tenant', String(tenant));
        }
        if (options.json) return printJson(io.stdout, { id, key, tenant, access, label, expiresAt });
        printLine(io.stderr, `Created key ${id}. This is the only time it is shown:`);
        printLine(io.stdout, key);
      });
    });

  keys
    .command('generate')
    .description('Print a new key without storing it, for BOOTSTRAP or BOOTSTRAP_FILE. Needs no database.')
    .addHelpText('after', '\nExample:\n  memory-service keys generate')
    .action(() => printLine(io.stdout, newApiKey().key));

  keys
    .command('list')
    .description('List keys; never the keys themselves.')
    .option('--tenant <tenant>', 'only those of one tenant', tenantId)
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  memory-service keys list --tenant acme')
    .action(({ tenant, json }: { tenant?: string; json?: boolean }) =>
      run(async (all) => {
        const rows = (await all.list(tenant ?? null)).map(describe);
        if (json) return printJson(io.stdout, rows);
        printTable(
          io.stdout,
          ['ID', 'TENANT', 'ACCESS', 'LABEL', 'CREATED', 'EXPIRES', 'REVOKED', 'LAST USED'],
          rows.map((row) => [
            row.id,
            row.tenant ?? '(service)',
            row.access,
            row.label,
            row.createdAt,
            row.expiresAt,
            row.revokedAt,
            row.lastUsedAt,
          ]),
        );
      }),
    );

  keys
    .command('revoke')
    .description('Revoke a key. It stops working everywhere within AUTH_CACHE_SECONDS.')
    .argument('<id>', 'its id, as `keys list` shows it')
    .addHelpText('after', '\nExample:\n  memory-service keys revoke key_0123456789ab')
    .action((id: string) =>
      run(async (all) => {
        if (!(await all.revoke(id))) {
          throw new OperatorError(
            `There is no key ${id} that is not revoked already. See: memory-service keys list`,
          );
        }
        printLine(io.stdout, `Revoked key ${id}. It stops working everywhere within AUTH_CACHE_SECONDS.`);
      }),
    );
}
