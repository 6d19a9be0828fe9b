import { type Command, InvalidArgumentError, Option } from 'commander';
import { Keys, kindOfKey } from '../auth/api-keys.ts';
import type { KeyRow } from '../auth/key-queries.ts';
import { parseDuration } from '../util/duration.ts';
import { nameOf, tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, withDatabase } from './session.ts';

interface CreateOptions {
  tenant?: string;
  service?: boolean;
  admin?: boolean;
  manageStores?: boolean;
  access: KeyRow['access'];
  readOnly?: boolean;
  onlyTenants?: string[];
  label: string;
  source: string;
  expires?: Date;
  json?: boolean;
}

/** Parses a duration, or a time that JavaScript understands. */
export function expiry(value: string): Date {
  const duration = parseDuration(value);
  const date = duration === undefined ? new Date(value) : new Date(Date.now() + duration);
  if (Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('Use a duration (90d, 12h) or a time (2027-01-31T00:00:00Z).');
  }
  if (date.getTime() <= Date.now()) throw new InvalidArgumentError('It must be in the future.');
  return date;
}

function tenantIds(value: string): string[] {
  return value.split(',').map(tenantId);
}

/** `keys create`. */
export function registerKeyCreateCommand(keys: Command, open: Open, io: Io): void {
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
      new Option(
        '--access <access>',
        'what the key allows; propose, with --tenant: what it writes goes into a draft that a reviewer merges; operate, with --admin: everything except managing keys, and creating, copying, renaming and deleting tenants',
      )
        .choices(['read_write', 'propose', 'operate', 'read_only'])
        .default('read_write'),
    )
    .option('--read-only', 'same as --access read_only')
    .option(
      '--only-tenants <tenants>',
      'with --admin: the key administers only these tenants, separated by commas',
      tenantIds,
    )
    .option('--expires <when>', 'when the key expires: a duration (90d, 12h) or a time', expiry)
    .option('--label <text>', 'what the key is for', nameOf(255), '')
    .option(
      '--source <text>',
      'where its writes come from, such as user, web, import or consolidation; recorded in every version',
      nameOf(64),
      '',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  memory-service keys create --tenant acme --expires 90d --label worker
  memory-service keys create --tenant acme --access propose --source web --label browser-agent
  memory-service keys create --service --manage-stores --label control-plane
  memory-service keys create --admin --read-only --label dashboard
  memory-service keys create --admin --access operate --only-tenants acme,globex --label support`,
    )
    .action((options: CreateOptions, command: Command) => {
      const { tenant = null, service = false, admin: isAdmin = false, label, source, json } = options;
      if ([tenant !== null, service, isAdmin].filter(Boolean).length !== 1) {
        command.error('error: requires one of --tenant <tenant>, --service or --admin');
      }
      const { manageStores: managesStores = false } = options;
      const access = options.readOnly ? 'read_only' : options.access;
      if (managesStores && (!service || access === 'read_only')) {
        command.error('error: --manage-stores requires --service, without --read-only');
      }
      const { onlyTenants = null } = options;
      if ((onlyTenants !== null || access === 'operate') && !isAdmin) {
        command.error('error: --only-tenants and --access operate require --admin');
      }
      if (access === 'propose' && tenant === null) {
        command.error('error: --access propose is for --tenant');
      }
      return withDatabase(open, async ({ database }) => {
        const expiresAt = options.expires?.toISOString() ?? null;
        const kind = kindOfKey({ tenant, isAdmin });
        const subject = {
          tenant: tenant ?? undefined,
          details: {
            kind,
            access,
            tenants: onlyTenants,
            manages_stores: managesStores,
            label,
            source,
            expires_at: expiresAt,
          },
        };
        const { key, id } = await audited({ database, io }, 'createKey', subject, async (note) => {
          const purpose = { tenant, isAdmin, managesStores, access, onlyTenants, label, source, expiresAt };
          const issued = await new Keys(database).issue(purpose);
          note({ key: issued.id });
          return issued;
        });
        if (json)
          return printJson(io.stdout, {
            id,
            key,
            kind,
            tenant,
            access,
            tenants: onlyTenants,
            managesStores,
            label,
            source,
            expiresAt,
          });
        printLine(io.stderr, `Created key ${id}. It cannot be shown again:`);
        printLine(io.stdout, key);
      });
    });
}
