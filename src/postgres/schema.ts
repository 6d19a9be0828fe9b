import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  customType,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  timestamp,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';

// Keys compare and sort byte by byte, which for UTF-8 is by code point, whatever the database's own collation.
const key = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
// Contents are never compared, so their collation does not matter; "C" spares the look-up of another.
const content = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });

/**
 * A tenant and what it uses. Every write locks its tenant's row first, so the counters are exact and one tenant's
 * writes happen one after the other; readers never wait.
 */
export const tenants = pgTable(
  'tenants',
  {
    id: key('id').primaryKey(),
    fileCount: bigint('file_count', { mode: 'number' }).notNull().default(0),
    byteCount: bigint('byte_count', { mode: 'number' }).notNull().default(0),
    /** Since when the tenant is suspended; null while it is not. */
    suspendedAt: timestamp('suspended_at', { withTimezone: true }),
    // The tenant's own limits: null means the service's default, 0 no limit.
    maxFileBytes: bigint('max_file_bytes', { mode: 'number' }),
    maxBytes: bigint('max_bytes', { mode: 'number' }),
    maxFiles: bigint('max_files', { mode: 'number' }),
    maxViewChars: bigint('max_view_chars', { mode: 'number' }),
    ratePerMinute: bigint('rate_per_minute', { mode: 'number' }),
    maxBodyBytes: bigint('max_body_bytes', { mode: 'number' }),
    ttlDays: bigint('ttl_days', { mode: 'number' }),
    redact: key('redact').$type<'off' | 'mask' | 'reject'>(),
    historyDays: bigint('history_days', { mode: 'number' }),
    maxHistoryBytes: bigint('max_history_bytes', { mode: 'number' }),
    /** Rows of `versions`. */
    historyVersions: bigint('history_versions', { mode: 'number' }).notNull().default(0),
    /** What the history takes: see migrations/functions/memory_history.sql. */
    historyBytes: bigint('history_bytes', { mode: 'number' }).notNull().default(0),
    /** Since when the history is complete: what was replaced or deleted earlier may be missing. */
    historySince: timestamp('history_since', { withTimezone: true }).notNull().defaultNow(),
    /** The time of the latest change, so that the next one's is later. */
    lastChangeAt: timestamp('last_change_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [
    check('tenants_usage_not_negative', sql`${t.fileCount} >= 0 AND ${t.byteCount} >= 0`),
    check('tenants_redact', sql`${t.redact} IN ('off', 'mask', 'reject')`),
  ],
);

/**
 * The tree: a row a file or directory. The constraints are the tree's invariants, so no interleaving and no crash
 * can break them: an entry's parent exists and is a directory (only those have a
 * `dir_path`); and, by `entry_is_valid` (migrations/0005_entry_is_valid.sql), a path says where its parent is, only the root
 * has none, only files have content, and paths stay within the contract's limits.
 */
export const entries = pgTable(
  'entries',
  {
    tenantId: key('tenant_id')
      .notNull()
      .references(() => tenants.id),
    path: key('path').notNull(),
    parentPath: key('parent_path'),
    kind: key('kind').$type<'file' | 'dir'>().notNull(),
    /** The path of a directory, else null: what a parent has to be, so that a file cannot be one. */
    dirPath: key('dir_path').generatedAlwaysAs(sql`CASE WHEN kind = 'dir' THEN path END`),
    content: content('content'),
    sizeBytes: integer('size_bytes').generatedAlwaysAs(sql`octet_length(content)`),
    /** Changes with every change of `content`: what an edit compares before it writes. */
    version: uuid('version'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    /** When a file was last read, to the day: what expiration goes by, together with `updated_at`. */
    accessedAt: timestamp('accessed_at', { withTimezone: true }).notNull().defaultNow(),
    // The row of a file is its head version, with the id `version`. Null means what `memory_heads` says
    // (migrations/functions/memory_history.sql), as in all rows from before there was a history.
    memoryId: uuid('memory_id'),
    contentId: uuid('content_id'),
    operation: key('operation').$type<'created' | 'modified'>(),
    /** The time of the version; of a directory, since when it is at its path. */
    changedAt: timestamp('changed_at', { withTimezone: true }),
    /** Who made the version, and on what request: `Origin` (src/memory/origin.ts). */
    origin: jsonb('origin'),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.path] }),
    // Files have null here, which no child can refer to: the foreign key costs them nothing when they move or go.
    unique('entries_directories').on(t.tenantId, t.dirPath),
    foreignKey({
      name: 'entries_parent_is_directory',
      columns: [t.tenantId, t.parentPath],
      foreignColumns: [t.tenantId, t.dirPath],
    }),
    index('entries_children').on(t.tenantId, t.parentPath, t.path),
    // In a function, because Postgres reads a constraint's expression from its stored text again in each statement, which for these
    // took a fifth of an insert; a function's body is kept by the session.
    check(
      'entries_valid',
      sql`entry_is_valid(${t.path}, ${t.parentPath}, ${t.kind}, ${t.content} IS NOT NULL, ${t.version} IS NOT NULL)`,
    ),
  ],
);

/**
 * The versions of files that are no longer the head: each as it was from `created_at` until `superseded_at`. A deletion is a version
 * too, without content and superseded at once. Never changed, but for redaction. Without a foreign key to `tenants`, which each
 * insert would pay for: only functions that have locked the tenant write here.
 */
export const versions = pgTable(
  'versions',
  {
    tenantId: key('tenant_id').notNull(),
    id: uuid('id').notNull(),
    memoryId: uuid('memory_id').notNull(),
    operation: key('operation').$type<'created' | 'modified' | 'deleted'>().notNull(),
    /** Null once redacted. */
    path: key('path'),
    /** Where the content is: in `version_contents`, or in the live file while that still has it. */
    contentId: uuid('content_id'),
    sizeBytes: integer('size_bytes'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    supersededAt: timestamp('superseded_at', { withTimezone: true }).notNull(),
    origin: jsonb('origin'),
    redactedAt: timestamp('redacted_at', { withTimezone: true }),
    redactedBy: jsonb('redacted_by'),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.id] }),
    index('versions_created').on(t.tenantId, t.createdAt),
    // What retention goes by.
    index('versions_superseded').on(t.tenantId, t.supersededAt),
    index('versions_memory').on(t.tenantId, t.memoryId, t.createdAt),
    index('versions_path').on(t.tenantId, t.path, t.createdAt),
  ],
);

/** Contents that no live file has any more. Versions that differ in path only share one. */
export const versionContents = pgTable(
  'version_contents',
  {
    tenantId: key('tenant_id').notNull(),
    id: uuid('id').notNull(),
    content: content('content').notNull(),
    sizeBytes: integer('size_bytes').generatedAlwaysAs(sql`octet_length(content)`),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.id] })],
);

/** Directories that were deleted or moved away: each was at its path from `made_at` until `removed_at`. */
export const pastDirectories = pgTable(
  'past_directories',
  {
    tenantId: key('tenant_id').notNull(),
    path: key('path').notNull(),
    madeAt: timestamp('made_at', { withTimezone: true }).notNull(),
    removedAt: timestamp('removed_at', { withTimezone: true }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.path, t.removedAt] }),
    index('past_directories_removed').on(t.tenantId, t.removedAt),
  ],
);

/**
 * The answers of writes that came with an idempotency key, so that the same write sent again gets the same answer and is not
 * done again. Without a foreign key to `tenants`: a failed first write of a tenant has an answer too.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: key('tenant_id').notNull(),
    /** SHA-256 of what the caller gave as key, and of what it asked for. */
    keyHash: key('key_hash').notNull(),
    requestHash: key('request_hash').notNull(),
    content: content('content').notNull(),
    isError: boolean('is_error').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.keyHash] }),
    // What pruning goes by.
    index('idempotency_keys_age').on(t.tenantId, t.createdAt),
  ],
);

/**
 * API keys. Only a key's SHA-256 is kept, and it is what a key is found by. A key without a tenant is for a service that
 * serves many. Not bound to a tenant's shard: nothing is joined to it.
 */
export const apiKeys = pgTable(
  'api_keys',
  {
    hash: key('hash').primaryKey(),
    /** Names the key where it is listed and revoked; no secret. */
    id: key('id').notNull(),
    tenantId: key('tenant_id'),
    access: key('access').$type<'read_write' | 'read_only'>().notNull(),
    label: key('label').notNull().default(''),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
  },
  (t) => [
    index('api_keys_id').on(t.id),
    index('api_keys_tenant').on(t.tenantId),
    check('api_keys_access', sql`${t.access} IN ('read_write', 'read_only')`),
  ],
);
