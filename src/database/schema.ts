import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  customType,
  date,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { snakeCase } from '../lib/text.ts';
import type { Mount } from '../memory/mount.ts';
import { ALL_SETTINGS } from '../tenants/settings.ts';

// Keys compare and sort by byte, which for UTF-8 means by code point, regardless of the collation of the database.
const key = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
// Contents are never compared, so their collation does not matter. "C" avoids the lookup of another.
const content = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

function settingColumns() {
  return Object.fromEntries(
    ALL_SETTINGS.map(([name, setting]) => [
      name,
      'choices' in setting ? key(snakeCase(name)) : bigint(snakeCase(name), { mode: 'number' }),
    ]),
  );
}

/**
 * A tenant and its usage. Every write locks the row of its tenant first, so the counters are exact and the writes of
 * one tenant run one after the other. Readers never wait.
 */
export const tenants = pgTable(
  'tenants',
  {
    id: key('id').primaryKey(),
    fileCount: bigint('file_count', { mode: 'number' }).notNull().default(0),
    byteCount: bigint('byte_count', { mode: 'number' }).notNull().default(0),
    /** When the tenant was suspended; null while it is active. */
    suspendedAt: timestamp('suspended_at', { withTimezone: true }),
    // The tenant's own settings: null means the service's default, 0 no limit.
    ...settingColumns(),
    /** Rows of `versions`. */
    historyVersions: bigint('history_versions', { mode: 'number' }).notNull().default(0),
    /** What the rows of `versions` and `past_directories` take (migrations/functions/memory_history.sql). */
    historyBytes: bigint('history_bytes', { mode: 'number' }).notNull().default(0),
    /** The history is complete since this time. Versions that were replaced or deleted earlier may be missing. */
    historySince: timestamp('history_since', { withTimezone: true }).notNull().defaultNow(),
    /** The time of the latest change, so that the next one's is later. */
    lastChangeAt: timestamp('last_change_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    /** Other tenants whose memories it shows as directories (src/tenants/mounts.ts); null for none. */
    mounts: jsonb('mounts').$type<Mount[]>(),
    // What the Memory Stores API says of the tenant beside its files (src/tenants/store.ts).
    /** Null: its id. */
    name: key('name'),
    description: key('description').notNull().default(''),
    metadata: jsonb('metadata').$type<Record<string, string>>().notNull().default({}),
    /** Since when files may only be read and deleted; null while they may be changed. */
    archivedAt: timestamp('archived_at', { withTimezone: true }),
    /** When one of these was last changed. */
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    /** The tenant that this one is a draft of (src/drafts); null for any other tenant. */
    draftOf: key('draft_of'),
  },
  (t) => [
    // Each write pays for every check, so there is none of the settings: what changes them validates them
    // (src/tenants).
    check('tenants_usage_not_negative', sql`${t.fileCount} >= 0 AND ${t.byteCount} >= 0`),
    index('tenants_created').on(t.createdAt, t.id),
    // To find who mounts a tenant.
    index('tenants_with_mounts').on(t.id).where(sql`mounts IS NOT NULL`),
    index('tenants_drafts').on(t.draftOf).where(sql`draft_of IS NOT NULL`),
  ],
);

/**
 * The tree: one row per file or directory. The constraints hold its invariants, so no interleaving and no crash can
 * break them. The parent of an entry exists and is a directory (only those have a `dir_path`). By `entry_is_valid`
 * (migrations/0000_init.sql), `parent_path` matches the path, only the root has no parent, only files have a content,
 * and paths stay within the limits of the contract. There is no foreign key to `tenants`, which would make each
 * insert slower: only functions that have locked the tenant write here.
 */
export const entries = pgTable(
  'entries',
  {
    tenantId: key('tenant_id').notNull(),
    path: key('path').notNull(),
    parentPath: key('parent_path'),
    kind: key('kind').$type<'file' | 'dir'>().notNull(),
    /** The path of a directory; null for a file, so that a file cannot be a parent. */
    dirPath: key('dir_path').generatedAlwaysAs(sql`CASE WHEN kind = 'dir' THEN path END`),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    /** When a file was last read, to the day. Expiration uses it together with `updated_at`. */
    accessedAt: timestamp('accessed_at', { withTimezone: true }).notNull().defaultNow(),
    /** The time of the head version; for a directory, the time since which it is at its path. */
    changedAt: timestamp('changed_at', { withTimezone: true }).notNull(),
    // The row of a file is its head version. Null for a directory.
    /** The version's id, which changes with every change of the file. An edit compares it before it writes. */
    version: uuid('version'),
    /** Identifies the file wherever it moves: the id of its first version. */
    memoryId: uuid('memory_id'),
    operation: key('operation').$type<Exclude<Operation, 'deleted'>>(),
    /** Who created the version, in which request: `Origin` (src/memory/origin.ts). */
    origin: jsonb('origin'),
    content: content('content'),
    sizeBytes: integer('size_bytes').generatedAlwaysAs(sql`octet_length(content)`),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.path] }),
    // Null for files, which no child can refer to, so the foreign key costs nothing when a file is moved or deleted.
    unique('entries_directories').on(t.tenantId, t.dirPath),
    foreignKey({
      name: 'entries_parent_is_directory',
      columns: [t.tenantId, t.parentPath],
      foreignColumns: [t.tenantId, t.dirPath],
    }),
    index('entries_children').on(t.tenantId, t.parentPath, t.path),
    uniqueIndex('entries_memory').on(t.tenantId, t.memoryId).where(sql`memory_id IS NOT NULL`),
    // A short expression, because Postgres parses that of a constraint again in each statement, while a session
    // caches the body of a function.
    check(
      'entries_valid',
      sql`entry_is_valid(${t.path}, ${t.parentPath}, ${t.kind}, ${t.sizeBytes}, ${t.version}, ${t.memoryId})`,
    ),
  ],
);

/** `renamed`: only the path changed. */
type Operation = 'created' | 'modified' | 'renamed' | 'deleted';

/**
 * The versions of files that are no longer the head, each valid from `created_at` until `superseded_at`. A deletion
 * is also a version, without content and superseded immediately. Ids begin with `created_at` (memory_id_prefix), so
 * their order is that of the changes. Rows change only by redaction.
 *
 * The content is that of the next newer version of the file, where `content` replaces `splice_length` bytes after the
 * first `splice_start`. Without these two, `content` is the whole of it.
 */
export const versions = pgTable(
  'versions',
  {
    tenantId: key('tenant_id').notNull(),
    id: uuid('id').notNull(),
    memoryId: uuid('memory_id').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    supersededAt: timestamp('superseded_at', { withTimezone: true }).notNull(),
    /** What the row counts in the tenant's `history_bytes` (memory_version_bytes). */
    bytes: integer('bytes').notNull(),
    /** Of the whole content. Null for a deletion, and once redacted; the same for its hash. */
    sizeBytes: integer('size_bytes'),
    spliceStart: integer('splice_start'),
    spliceLength: integer('splice_length'),
    operation: key('operation').$type<Operation>().notNull(),
    /** Null once redacted. */
    path: key('path'),
    contentSha256: bytea('content_sha256'),
    origin: jsonb('origin'),
    redactedAt: timestamp('redacted_at', { withTimezone: true }),
    redactedBy: jsonb('redacted_by'),
    content: content('content'),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.id] }),
    // From a version to the newer ones that its content is made from.
    index('versions_memory').on(t.tenantId, t.memoryId, t.id),
    // For retention. With the id, a batch ends between versions of one change, too.
    index('versions_superseded').on(t.tenantId, t.supersededAt, t.id),
    index('versions_path').on(t.tenantId, t.path, t.id),
    // To say how many a past tree lacks, without reading all the others.
    index('versions_redacted').on(t.tenantId, t.supersededAt).where(sql`redacted_at IS NOT NULL`),
  ],
);

/** Directories that were deleted or moved. Each was at its path from `created_at` until `removed_at`. */
export const pastDirectories = pgTable(
  'past_directories',
  {
    tenantId: key('tenant_id').notNull(),
    path: key('path').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    removedAt: timestamp('removed_at', { withTimezone: true }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.path, t.removedAt] }),
    index('past_directories_removed').on(t.tenantId, t.removedAt),
  ],
);

/**
 * The results of writes with an idempotency key, so that a retried write gets the same result and is not executed
 * again. There is no foreign key to `tenants`, which would make each insert slower: only writers that have locked the
 * tenant insert here.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: key('tenant_id').notNull(),
    /** SHA-256 of the caller's key, and of the request. */
    keyHash: key('key_hash').notNull(),
    requestHash: key('request_hash').notNull(),
    content: content('content').notNull(),
    isError: boolean('is_error').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.keyHash] }),
    // For pruning.
    index('idempotency_keys_age').on(t.tenantId, t.createdAt),
  ],
);

/**
 * API keys, stored and found by their SHA-256. A key without a tenant is for a service that acts for many, or for
 * administration. The table is not sharded by tenant, because nothing is joined to it.
 */
export const apiKeys = pgTable(
  'api_keys',
  {
    hash: key('hash').primaryKey(),
    /** Identifies the key in listings and when it is revoked. Not secret. */
    id: key('id').notNull(),
    tenantId: key('tenant_id'),
    /** `operate` is for admin keys, `propose` for those of tenants. */
    access: key('access').$type<'read_write' | 'propose' | 'operate' | 'read_only'>().notNull(),
    /** Whether the key is for the admin API, and for nothing else. */
    isAdmin: boolean('is_admin').notNull().default(false),
    /** The only tenants that an admin key administers; null: all. */
    onlyTenants: text('only_tenants').array(),
    /** Whether a service key may create, change, archive and delete stores, and redact versions. */
    managesStores: boolean('manages_stores').notNull().default(false),
    label: key('label').notNull().default(''),
    /** Where what is written with the key comes from, in the operator's words; empty: not said. */
    source: key('source').notNull().default(''),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
    /**
     * When the key got a new secret, which is a row of its own with the same id. Listings show the row that is null
     * here.
     */
    rotatedAt: timestamp('rotated_at', { withTimezone: true }),
    /** Hashes of who created the key under which `Idempotency-Key`, and of the request. */
    creationKey: key('creation_key').unique('api_keys_creation'),
    creationRequest: key('creation_request'),
  },
  (t) => [
    index('api_keys_id').on(t.id),
    index('api_keys_tenant').on(t.tenantId),
    index('api_keys_scoped').on(t.id).where(sql`${t.onlyTenants} IS NOT NULL`),
    check(
      'api_keys_access',
      sql`${t.access} IN ('read_write', 'read_only') OR (${t.access} = 'operate' AND ${t.isAdmin})
        OR (${t.access} = 'propose' AND ${t.tenantId} IS NOT NULL)`,
    ),
    check('api_keys_only_tenants', sql`${t.onlyTenants} IS NULL OR ${t.isAdmin}`),
    check('api_keys_admin', sql`NOT ${t.isAdmin} OR ${t.tenantId} IS NULL`),
    check(
      'api_keys_manages_stores',
      sql`NOT ${t.managesStores} OR (${t.tenantId} IS NULL AND NOT ${t.isAdmin})`,
    ),
  ],
);

/**
 * What administrators changed, and who (src/audit). Written before the change and again after it. On Citus it is on
 * the coordinator, not sharded by tenant: the record of a tenant outlives it.
 */
export const auditEvents = pgTable(
  'audit_events',
  {
    id: uuid('id').primaryKey(),
    at: timestamp('at', { withTimezone: true }).notNull().defaultNow(),
    actor: jsonb('actor').notNull(),
    action: key('action').notNull(),
    channel: key('channel').notNull(),
    address: key('address').notNull(),
    requestId: key('request_id'),
    dryRun: boolean('dry_run').notNull(),
    tenantId: key('tenant_id'),
    keyId: key('key_id'),
    details: jsonb('details').notNull().default({}),
    /** Null until the change has ended. */
    outcome: key('outcome'),
  },
  (t) => [index('audit_events_at').on(t.at, t.id), index('audit_events_tenant').on(t.tenantId, t.at, t.id)],
);

/**
 * What a tenant used on a day, by UTC (src/usage). The sizes are those of the last time that the row was written.
 * Deleting the tenant deletes its rows: no request waits for this foreign key, because requests do not write here.
 */
export const tenantUsage = pgTable(
  'tenant_usage',
  {
    tenantId: key('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    day: date('day').notNull(),
    files: bigint('files', { mode: 'number' }).notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    historyBytes: bigint('history_bytes', { mode: 'number' }).notNull(),
    reads: bigint('reads', { mode: 'number' }).notNull(),
    writes: bigint('writes', { mode: 'number' }).notNull(),
    refused: bigint('refused', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.day] }), index('tenant_usage_day').on(t.day)],
);

/** The sizes of all tenants together at the end of a day, by UTC: tenants that were deleted later count, too. */
export const fleetUsage = pgTable('fleet_usage', {
  day: date('day').primaryKey(),
  tenants: bigint('tenants', { mode: 'number' }).notNull(),
  suspended: bigint('suspended', { mode: 'number' }).notNull(),
  files: bigint('files', { mode: 'number' }).notNull(),
  bytes: bigint('bytes', { mode: 'number' }).notNull(),
  historyBytes: bigint('history_bytes', { mode: 'number' }).notNull(),
});

/**
 * The drafts of tenants, open and closed (src/drafts). The memory of an open one is that of a tenant with the draft's
 * id, whose `draft_of` says whose draft it is.
 */
export const drafts = pgTable(
  'drafts',
  {
    tenantId: key('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    id: key('id').notNull(),
    title: key('title').notNull(),
    /** Who made it: an actor of the history. */
    author: jsonb('author').notNull(),
    /** The propose-only key whose writes go into it; null for a draft that was made for other work. */
    keyId: key('key_id'),
    /** It began as the tenant's memory at this time. */
    baseAt: timestamp('base_at', { withTimezone: true }).notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    state: key('state')
      .$type<'open' | 'merged' | 'replaced' | 'rejected' | 'expired'>()
      .notNull()
      .default('open'),
    closedAt: timestamp('closed_at', { withTimezone: true }),
    closedBy: jsonb('closed_by'),
    /** The time of the change in the tenant's history, of a draft that was merged. */
    mergedAt: timestamp('merged_at', { withTimezone: true }),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.id] }),
    uniqueIndex('drafts_of_key').on(t.tenantId, t.keyId).where(sql`state = 'open' AND key_id IS NOT NULL`),
    index('drafts_created').on(t.createdAt, t.id),
  ],
);

/**
 * What an open draft began with, by its own id. A file keeps its `memory_id` in the draft, and its version until it
 * is changed there.
 */
export const draftBase = pgTable(
  'draft_base',
  {
    tenantId: key('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    path: key('path').notNull(),
    /** Null for a directory. */
    memoryId: uuid('memory_id'),
    version: uuid('version'),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.path] })],
);
