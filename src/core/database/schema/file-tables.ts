import { sql } from 'drizzle-orm';
import {
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { bytea, content, key } from './columns.ts';

/** `renamed` means that only the path changed. */
type Operation = 'created' | 'modified' | 'renamed' | 'deleted';

/**
 * The tree, with one row per file or directory. Constraints protect its invariants against any interleaving and any
 * crash. An entry's parent exists and is a directory, because only directories have a `dir_path`.
 *
 * `entry_is_valid` (migrations/0000_init.sql) checks that `parent_path` matches the path, that only the root has no
 * parent, that only files have a content, and that paths obey the contract's limits. A foreign key to `tenants` would
 * slow down each insert, and is not needed: only functions that have locked the tenant write here.
 */
export const entries = pgTable(
  'entries',
  {
    tenantId: key('tenant_id').notNull(),
    path: key('path').notNull(),
    parentPath: key('parent_path'),
    kind: key('kind').$type<'file' | 'dir'>().notNull(),
    /** A directory's path; null for a file, so that a file cannot be a parent. */
    dirPath: key('dir_path').generatedAlwaysAs(sql`CASE WHEN kind = 'dir' THEN path END`),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    /** Day when a file was last read. Expiration uses it together with `updated_at`. */
    accessedAt: timestamp('accessed_at', { withTimezone: true }).notNull().defaultNow(),
    /**
     * Time when the current version was created; for a directory, the time when it was created at or moved to its path.
     */
    changedAt: timestamp('changed_at', { withTimezone: true }).notNull(),
    // A file's row is its current version. These columns are null for a directory.
    /** Version ID. An edit compares the ID before it writes. */
    version: uuid('version'),
    /** ID of the file's first version. It identifies the file across renames. */
    memoryId: uuid('memory_id'),
    operation: key('operation').$type<Exclude<Operation, 'deleted'>>(),
    /** Actor and request that created the version: `Origin` (src/core/memory/origin.ts). */
    origin: jsonb('origin'),
    content: content('content'),
    sizeBytes: integer('size_bytes').generatedAlwaysAs(sql`octet_length(content)`),
  },
  (t) => [
    // The only index for a path in a tenant. If another complete index began with the tenant, a plan for tenants with
    // few entries could use it, and would read all entries in a large tenant
    // (docs/decisions/0028-flat-to-ten-million-files.md).
    primaryKey({ columns: [t.tenantId, t.path] }),
    // Files have a null `dir_path`, so moving or deleting a file does not check the foreign key.
    unique('entries_directories').on(t.dirPath, t.tenantId),
    index('entries_directory_paths').on(t.tenantId, t.dirPath).where(sql`dir_path IS NOT NULL`),
    foreignKey({
      name: 'entries_parent_is_directory',
      columns: [t.tenantId, t.parentPath],
      foreignColumns: [t.tenantId, t.dirPath],
    }),
    index('entries_children').on(t.tenantId, t.parentPath, t.path).where(sql`parent_path IS NOT NULL`),
    uniqueIndex('entries_memory').on(t.tenantId, t.memoryId).where(sql`memory_id IS NOT NULL`),
    // A single function call, because Postgres parses a constraint's expression in each statement, while a session
    // caches a function's body.
    check(
      'entries_valid',
      sql`entry_is_valid(${t.path}, ${t.parentPath}, ${t.kind}, ${t.sizeBytes}, ${t.version}, ${t.memoryId})`,
    ),
  ],
);

/**
 * Superseded file versions, each valid from `created_at` until `superseded_at`. A deletion is also a version, without
 * content and superseded immediately. An ID begins with `created_at` (memory_id_prefix), so IDs sort by time. Only
 * redaction changes a row.
 *
 * The content is a delta to the file's next newer version: `content` replaces `splice_length` bytes after the first
 * `splice_start` bytes. If both are null, `content` is the complete content.
 */
export const versions = pgTable(
  'versions',
  {
    tenantId: key('tenant_id').notNull(),
    id: uuid('id').notNull(),
    memoryId: uuid('memory_id').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    supersededAt: timestamp('superseded_at', { withTimezone: true }).notNull(),
    /** Size that the row adds to the tenant's `history_bytes` (memory_version_bytes). */
    bytes: integer('bytes').notNull(),
    /** Size of the complete content. Null for a deletion and after redaction, as is the hash. */
    sizeBytes: integer('size_bytes'),
    spliceStart: integer('splice_start'),
    spliceLength: integer('splice_length'),
    operation: key('operation').$type<Operation>().notNull(),
    /** Null after redaction. */
    path: key('path'),
    contentSha256: bytea('content_sha256'),
    origin: jsonb('origin'),
    redactedAt: timestamp('redacted_at', { withTimezone: true }),
    redactedBy: jsonb('redacted_by'),
    content: content('content'),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.id] }),
    // Finds the newer versions from which a content is reconstructed.
    index('versions_memory').on(t.tenantId, t.memoryId, t.id),
    // For retention. The ID allows a batch to end between two versions from the same change.
    index('versions_superseded').on(t.tenantId, t.supersededAt, t.id),
    index('versions_path').on(t.tenantId, t.path, t.id),
    // Counts the redacted files in a past tree without reading the other versions.
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
 * Stored results for writes with an idempotency key. A retried write returns the stored result instead of running
 * again. A foreign key to `tenants` would slow down each insert, and is not needed: only writers that have locked the
 * tenant insert here.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: key('tenant_id').notNull(),
    /** SHA-256 of the caller's key. `request_hash` is the SHA-256 of the request. */
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
