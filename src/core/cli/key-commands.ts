import { InvalidArgumentError, Option } from 'commander';
import {
  createKey,
  getKey,
  type KeyRecord,
  listKeys,
  MAX_PAGE,
  revokeKey,
  rotateKey,
  updateKey,
} from '../admin/key-operations.ts';
import { OperatorError } from '../errors/errors.ts';
import { parseDuration } from '../lib/units.ts';
import { type Right, rightSchema } from '../memory/rights.ts';
import { newApiKey } from '../tenants/keys.ts';
import { createNameParser, tenantId } from './arguments.ts';
import { type Caller, readList } from './caller.ts';
import { type Cli, type CliCommand, command, group } from './cli-command.ts';
import { confirm } from './io.ts';
import { printLine, printTable, table, time } from './output.ts';

interface CreateOptions {
  tenant?: string;
  service?: boolean;
  admin?: boolean;
  manageStores?: boolean;
  share?: boolean;
  access: KeyRecord['access'];
  readOnly?: boolean;
  onlyTenants?: string[];
  right: Right[];
  label: string;
  source: string;
  expires?: Date;
  json?: boolean;
}

/** Parses a duration, or a time in a format that JavaScript accepts. */
export function parseExpiry(value: string): Date {
  const duration = parseDuration(value);
  const date = duration === undefined ? new Date(value) : new Date(Date.now() + duration);
  if (Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('Use a duration (90d, 12h) or a time (2027-01-31T00:00:00Z).');
  }
  if (date.getTime() <= Date.now()) throw new InvalidArgumentError('It must be in the future.');
  return date;
}

/** Parses `PATH=ACCESS` and adds the right to the earlier ones. A path may contain `=`. */
function addRight(value: string, earlier: readonly Right[]): Right[] {
  const [, path, access] = /^(.*)=([^=]*)$/.exec(value) ?? [];
  const right = rightSchema.safeParse({ path, access });
  if (right.success) return [...earlier, right.data];
  throw new InvalidArgumentError(
    'Use a path, =, and none, read_only, propose, or read_write: /memories/shared=read_only.',
  );
}

function tenantIds(value: string): string[] {
  return value.split(',').map(tenantId);
}

export const createCommand = (cli: Cli) =>
  command(cli, 'create', 'Create a key and print it. Only its hash is stored, so it cannot be shown again.')
    .option('--tenant <tenant>', 'a key for this tenant', tenantId)
    .option('--service', 'a key for all tenants; each request names one in X-Tenant-Id')
    .option(
      '--manage-stores',
      'with --service: the key may also create, change, archive and delete memory stores, and redact versions',
    )
    .option(
      '--share',
      "with --tenant: the key may also share the tenant's memory with other tenants, and accept their invitations",
    )
    .option('--admin', 'a key for the admin API only (ADMIN_PORT)')
    .addOption(
      new Option(
        '--access <access>',
        'access level; propose, with --tenant: a reviewer merges the writes; operate, with --admin: everything except keys, mounts, webhooks, texts kept out of all tenants, and creating, archiving, copying, renaming, or deleting tenants',
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
    .option(
      '--right <path=access>',
      'access to a file or directory: none, read_only, propose (a reviewer merges the writes), or read_write; can be repeated, and the longest path applies',
      addRight,
      [],
    )
    .option('--expires <when>', 'when the key expires: a duration (90d, 12h) or a time', parseExpiry)
    .option('--label <text>', 'purpose of the key', createNameParser(255), '')
    .option(
      '--source <text>',
      'source of its writes, such as user, web, import, or consolidation; recorded in every version',
      createNameParser(64),
      '',
    )
    .option('--json', 'print JSON')
    .examples(
      'memory-service keys create --tenant acme --expires 90d --label worker',
      'memory-service keys create --tenant acme --access propose --source web --label browser-agent',
      'memory-service keys create --tenant acme --right /memories/shared=read_only --right /memories/private=none',
      'memory-service keys create --tenant acme --share --label lead',
      'memory-service keys create --service --manage-stores --label control-plane',
      'memory-service keys create --admin --read-only --label dashboard',
      'memory-service keys create --admin --access operate --only-tenants acme,globex --label support',
    )
    .action((options: CreateOptions, command: CliCommand) => {
      const { tenant = null, service = false, admin: isAdmin = false, label, source } = options;
      if ([tenant !== null, service, isAdmin].filter(Boolean).length !== 1) {
        command.error('error: requires one of --tenant <tenant>, --service or --admin');
      }
      const { manageStores: managesStores = false } = options;
      const access = options.readOnly ? 'read_only' : options.access;
      if (managesStores && (!service || access === 'read_only')) {
        command.error('error: --manage-stores requires --service, without --read-only');
      }
      const { share: canShare = false } = options;
      if (canShare && (tenant === null || access !== 'read_write')) {
        command.error('error: --share requires --tenant, with --access read_write');
      }
      const { onlyTenants = null } = options;
      if ((onlyTenants !== null || access === 'operate') && !isAdmin) {
        command.error('error: --only-tenants and --access operate require --admin');
      }
      if (access === 'propose' && tenant === null) {
        command.error('error: --access propose is for --tenant');
      }
      return command.runConnected(async ({ caller }) => {
        const created = await caller.call(createKey, {
          body: {
            kind: isAdmin ? 'admin' : tenant === null ? 'service' : 'tenant',
            ...(tenant !== null && { tenant }),
            access,
            tenants: onlyTenants,
            manages_stores: managesStores,
            rights: options.right,
            can_share: canShare,
            label,
            source,
            expires_at: options.expires?.toISOString() ?? null,
          },
        });
        const { id, key } = created;
        return { json: created, note: `Created key ${id}. It cannot be shown again:`, text: key };
      });
    });

function accessText({
  access,
  manages_stores: managesStores,
  can_share: canShare,
  tenants,
}: KeyRecord): string {
  const scope = tenants === null ? '' : `, only ${tenants.join(', ')}`;
  return `${access}${managesStores ? ', manages stores' : ''}${canShare ? ', shares' : ''}${scope}`;
}

interface ListOptions {
  tenant?: string;
  kind?: KeyRecord['kind'];
  status?: 'active' | 'expired' | 'revoked';
  search?: string;
  json?: boolean;
}

const generateCommand = (cli: Cli) =>
  command(
    cli,
    'generate',
    'Print a new key without storing it, for BOOTSTRAP or BOOTSTRAP_FILE. Needs no database.',
  )
    .examples('memory-service keys generate')
    .action(() => printLine(cli.io.stdout, newApiKey().key));

const listCommand = (cli: Cli) =>
  command(cli, 'list', 'List keys by their IDs. The keys themselves are not stored.')
    .option('--tenant <tenant>', 'only keys of this tenant', tenantId)
    .addOption(new Option('--kind <kind>', 'only keys of this kind').choices(['tenant', 'service', 'admin']))
    .addOption(
      new Option('--status <status>', 'only keys with this status').choices(['active', 'expired', 'revoked']),
    )
    .option('--search <text>', 'only keys whose ID or label contains this')
    .option('--json', 'print JSON')
    .examples('memory-service keys list --tenant acme')
    .run(async ({ caller }, { json: _, ...filter }: ListOptions) => {
      const keys = await readKeys(caller, filter);
      const text = table(keys, {
        ID: (key) => key.id,
        TENANT: (key) => key.tenant ?? `(${key.kind})`,
        ACCESS: accessText,
        LABEL: (key) => key.label,
        CREATED: (key) => time(key.created_at),
        EXPIRES: (key) => time(key.expires_at),
        REVOKED: (key) => time(key.revoked_at),
        'LAST USED': (key) => time(key.last_used_at),
      });
      return { json: keys, text };
    });

function readKeys(caller: Caller, filter: Omit<ListOptions, 'json'>): Promise<KeyRecord[]> {
  const query = { ...filter, limit: MAX_PAGE };
  return readList(caller, listKeys, { query }, (page) => page.keys);
}

const showCommand = (cli: Cli) =>
  command(
    cli,
    'show',
    'Show a key, and until when its previous secret works. The first use shows after a second; later, the last use may be up to 5 minutes newer.',
  )
    .argument('<id>', 'ID of the key, from `keys list`')
    .option('--json', 'print JSON')
    .examples('memory-service keys show key_0123456789ab')
    .run(async ({ caller }, id: string) => {
      const key = await caller.call(getKey, { params: { id } });
      const { previous } = key;
      const rows = [
        ['for', key.tenant === null ? key.kind : `tenant ${key.tenant}`],
        ['access', accessText(key)],
        ...key.rights.map(({ path, access }) => ['right', `${access} for ${path}`]),
        ['label', key.label],
        ['created', time(key.created_at)],
        ['expires', time(key.expires_at) ?? 'never'],
        ['revoked', time(key.revoked_at)],
        ['last used', time(key.last_used_at) ?? 'never'],
      ];
      if (previous !== null) {
        rows.push(['previous secret until', time(previous.expires_at)]);
        rows.push(['previous secret last used', time(previous.last_used_at) ?? 'never']);
      }
      return { json: key, text: ({ stdout }) => printTable(stdout, ['KEY', key.id], rows) };
    });

const revokeCommand = (cli: Cli) =>
  command(
    cli,
    'revoke',
    'Revoke a key, or all active keys with a label. They stop working within AUTH_CACHE_SECONDS.',
  )
    .argument('[id]', 'ID of the key, from `keys list`')
    .option('--label <text>', 'instead of an ID: the whole label of the keys', createNameParser(255, 1))
    .option('--yes', 'do not ask for confirmation if several keys have the label')
    .examples('memory-service keys revoke key_0123456789ab', 'memory-service keys revoke --label crawler')
    .action((id: string | undefined, { label, yes = false }: RevokeOptions, command: CliCommand) => {
      if ((id === undefined) === (label === undefined))
        command.error('error: requires either the ID of a key or --label <text>');
      return command.runConnected(async ({ caller, io }) => {
        const ids = id === undefined ? await activeKeys(caller, label ?? '') : [id];
        if (ids.length > 1 && !yes)
          await confirm(io, `Revoke ${ids.length} keys: ${ids.join(', ')}?`, 'No key was revoked.');
        for (const each of ids) {
          await caller.call(revokeKey, { params: { id: each } });
          printLine(io.stdout, `Revoked key ${each}. It stops working everywhere within AUTH_CACHE_SECONDS.`);
        }
      });
    });

interface RevokeOptions {
  label?: string;
  yes?: boolean;
}

/** @throws OperatorError if no active key has the label */
async function activeKeys(caller: Caller, label: string): Promise<string[]> {
  const found = await readKeys(caller, { status: 'active', search: label });
  const ids = found.filter((key) => key.label === label).map(({ id }) => id);
  if (ids.length > 0) return ids;
  throw new OperatorError('No active key has this label. See: memory-service keys list');
}

interface UpdateOptions {
  label?: string;
  expires?: Date | 'never';
  right: Right[];
  removeRights?: boolean;
}

const updateCommand = (cli: Cli) =>
  command(cli, 'update', 'Change the label, the expiry, and the rights by path of a key.')
    .argument('<id>', 'ID of the key, from `keys list`')
    .option('--label <text>', 'purpose of the key', createNameParser(255))
    .option(
      '--expires <when>',
      'when the key expires: a duration (90d, 12h), a time, or never',
      parseExpiryOrNever,
    )
    .option(
      '--right <path=access>',
      'access to a file or directory; can be repeated, and replaces all earlier rights',
      addRight,
      [],
    )
    .option('--remove-rights', 'remove all rights by path')
    .examples(
      'memory-service keys update key_0123456789ab --label worker --expires 90d',
      'memory-service keys update key_0123456789ab --right /memories/shared=read_only',
    )
    .action((id: string, options: UpdateOptions, command: CliCommand) => {
      const { label, expires, right, removeRights = false } = options;
      const changesRights = right.length > 0 || removeRights;
      if (label === undefined && expires === undefined && !changesRights)
        command.error('error: nothing to change');
      if (right.length > 0 && removeRights)
        command.error('error: --right and --remove-rights exclude each other');
      const expiresAt = expires === 'never' ? null : expires?.toISOString();
      return command.runConnected(async ({ caller }) => {
        const body = {
          ...(label !== undefined && { label }),
          ...(expiresAt !== undefined && { expires_at: expiresAt }),
          ...(changesRights && { rights: right }),
        };
        await caller.call(updateKey, { params: { id }, body });
        return `Changed key ${id}. It takes effect within AUTH_CACHE_SECONDS.`;
      });
    });

const rotateCommand = (cli: Cli) =>
  command(cli, 'rotate', 'Give a key a new secret and print it. Its ID, label and permissions stay the same.')
    .argument('<id>', 'ID of the key, from `keys list`')
    .option(
      '--overlap <duration>',
      'time for which the previous secret still works: 0s, 1h, 7d',
      parseOverlap,
      0,
    )
    .option('--json', 'print JSON')
    .examples('memory-service keys rotate key_0123456789ab --overlap 1h')
    .run(async ({ caller }, id: string, { overlap: seconds }: { overlap: number }) => {
      const body = { overlap_seconds: seconds };
      const rotated = await caller.call(rotateKey, { params: { id }, body });
      const note = `Rotated key ${id}. The new secret cannot be shown again:`;
      return { json: rotated, note, text: rotated.key };
    });

function parseExpiryOrNever(value: string): Date | 'never' {
  return value === 'never' ? value : parseExpiry(value);
}

const MAX_OVERLAP_MS = 7 * 24 * 60 * 60 * 1000;

/** Parses the time for which a replaced secret works, to seconds. */
export function parseOverlap(value: string): number {
  const duration = value === '0' ? 0 : parseDuration(value);
  if (duration !== undefined && duration <= MAX_OVERLAP_MS) return Math.ceil(duration / 1000);
  throw new InvalidArgumentError('Use a duration of at most 7 days: 0s, 1h, 7d.');
}

export const keyCommands = group('keys', 'Create, list, change, rotate, and revoke API keys.', [
  createCommand,
  generateCommand,
  listCommand,
  showCommand,
  updateCommand,
  rotateCommand,
  revokeCommand,
]);
