import { type Command, InvalidArgumentError, Option } from 'commander';
import { newApiKey } from '../auth/api-key.ts';
import type { KeyRow } from '../auth/api-key-queries.ts';
import { Keys, kindOfKey } from '../auth/api-keys.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { parseDuration } from '../util/duration.ts';
import { tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine, printTable, time } from './output.ts';
import { audited, type Open, withDatabase } from './session.ts';

interface CreateOptions {
  tenant?: string;
  service?: boolean;
  admin?: boolean;
  manageStores?: boolean;
  access: KeyRow['access'];
  readOnly?: boolean;
  label: string;
  expires?: Date;
  json?: boolean;
}

/** Parses a duration, or a time that JavaScript understands. */
function expiry(value: string): Date {
  const duration = parseDuration(value);
  const date = duration === undefined ? new Date(value) : new Date(Date.now() + duration);
  if (Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('Use a duration (90d, 12h) or a time (2027-01-31T00:00:00Z).');
  }
  if (date.getTime() <= Date.now()) throw new InvalidArgumentError('It must be in the future.');
  return date;
}

const describe = ({ isAdmin, ...row }: KeyRow) => ({
  ...row,
  kind: kindOfKey({ ...row, isAdmin }),
  createdAt: time(row.createdAt),
  expiresAt: time(row.expiresAt),
  revokedAt: time(row.revokedAt),
  lastUsedAt: time(row.lastUsedAt),
});

/** `keys create|generate|list|revoke`. */
export function registerKeyCommands(program: Command, open: Open, io: Io = process): void {
  const keys = program.command('keys').description('Create, list, and revoke API keys.');

  keys
    .command('create')
    .description('Create a key and print it. Only its hash is stored, so it cannot be shown again.')
    .option('--tenant <tenant>', 'a key for this tenant', tenantId)
    .option('--service', 'a key for all tenants; each request names one in X-Tenant-Id')
    .option(
      '--manage-stores',
      'with --service: the key may also create, change, archive and delete memory stores, and redact versions',
    )
    .option('--admin', 'a key for the admin API only (ADMIN_PORT)')
    .addOption(
      new Option('--access <access>', 'what the key allows')
        .choices(['read_write', 'read_only'])
        .default('read_write'),
    )
    .option('--read-only', 'same as --access read_only')
    .option('--expires <when>', 'when the key expires: a duration (90d, 12h) or a time', expiry)
    .option('--label <text>', 'what the key is for', '')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  memory-service keys create --tenant acme --expires 90d --label worker
  memory-service keys create --service --manage-stores --label control-plane
  memory-service keys create --admin --read-only --label dashboard`,
    )
    .action((options: CreateOptions, command: Command) => {
      const { tenant = null, service = false, admin: isAdmin = false, label, json } = options;
      if ([tenant !== null, service, isAdmin].filter(Boolean).length !== 1) {
        command.error('error: requires one of --tenant <tenant>, --service or --admin');
      }
      const { manageStores: managesStores = false } = options;
      const access = options.readOnly ? 'read_only' : options.access;
      if (managesStores && (!service || access === 'read_only')) {
        command.error('error: --manage-stores is for --service, and not for a key that only reads');
      }
      return withDatabase(open, async ({ database }) => {
        const expiresAt = options.expires?.toISOString() ?? null;
        const kind = kindOfKey({ tenant, isAdmin });
        const subject = {
          tenant: tenant ?? undefined,
          details: { kind, access, manages_stores: managesStores, label, expires_at: expiresAt },
        };
        const { key, id } = await audited(database, 'createKey', subject, async (note) => {
          const purpose = { tenant, isAdmin, managesStores, access, label, expiresAt };
          const issued = await new Keys(database).issue(purpose);
          note({ key: issued.id });
          return issued;
        });
        if (json)
          return printJson(io.stdout, { id, key, kind, tenant, access, managesStores, label, expiresAt });
        printLine(io.stderr, `Created key ${id}. It cannot be shown again:`);
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
    .description('List keys by their IDs. The keys themselves are not stored.')
    .option('--tenant <tenant>', 'only keys of this tenant', tenantId)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service keys list --tenant acme')
    .action(({ tenant, json }: { tenant?: string; json?: boolean }) =>
      withDatabase(open, async ({ database }) => {
        if (tenant !== undefined) await requireTenant(database, tenant);
        const rows = (await new Keys(database).list(tenant ?? null)).map(describe);
        if (json) return printJson(io.stdout, rows);
        printTable(
          io.stdout,
          ['ID', 'TENANT', 'ACCESS', 'LABEL', 'CREATED', 'EXPIRES', 'REVOKED', 'LAST USED'],
          rows.map((row) => [
            row.id,
            row.tenant ?? `(${row.kind})`,
            row.managesStores ? `${row.access}, manages stores` : row.access,
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
    .argument('<id>', 'ID of the key, from `keys list`')
    .addHelpText('after', '\nExample:\n  memory-service keys revoke key_0123456789ab')
    .action((id: string) =>
      withDatabase(open, async ({ database }) => {
        await audited(database, 'revokeKey', { key: id }, () => new Keys(database).revoke(id));
        printLine(io.stdout, `Revoked key ${id}. It stops working everywhere within AUTH_CACHE_SECONDS.`);
      }),
    );
}
