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

// Byte order, which for UTF-8 is code point order, regardless of the collation of the database.
const key = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
// Contents are never compared. "C" avoids the lookup of another collation.
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
 * A tenant and its usage. Every write locks the tenant's row first, so the counters are exact, and writes of one tenant
 * are serialized. Readers never wait.
 */
export const tenants = pgTable(
  'tenants',
  {
    id: key('id').primaryKey(),
    fileCount: bigint('file_count', { mode: 'number' }).notNull().default(0),
    byteCount: bigint('byte_count', { mode: 'number' }).notNull().default(0),
    /** Time of the suspension; null while the tenant is active. */
    suspendedAt: timestamp('suspended_at', { withTimezone: true }),
    // Settings of the tenant. Null means the service's default, and 0 means no limit.
    ...settingColumns(),
    /** Number of rows in `versions`. */
    historyVersions: bigint('history_versions', { mode: 'number' }).notNull().default(0),
    /** Size of the rows in `versions` and `past_directories` (migrations/functions/memory_history.sql). */
    historyBytes: bigint('history_bytes', { mode: 'number' }).notNull().default(0),
    /** Start of the complete history. Versions that were superseded earlier may be missing. */
    historySince: timestamp('history_since', { withTimezone: true }).notNull().defaultNow(),
    /** Time of the latest change. The next change gets a later time. */
    lastChangeAt: timestamp('last_change_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    /** Memories of other tenants, shown as directories (src/tenants/mounts.ts); null for none. */
    mounts: jsonb('mounts').$type<Mount[]>(),
    // Fields of the Memory Stores API (src/tenants/store.ts).
    /** Null means the ID of the tenant. */
    name: key('name'),
    description: key('description').notNull().default(''),
    metadata: jsonb('metadata').$type<Record<string, string>>().notNull().default({}),
    /** Time since which files can only be read and deleted; null while they can be changed. */
    archivedAt: timestamp('archived_at', { withTimezone: true }),
    /** Time of the last change to one of these fields. */
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    /** ID of the original tenant if this tenant is a draft (src/drafts); otherwise null. */
    draftOf: key('draft_of'),
  },
  (t) => [
    // Settings have no check constraints, because each write would evaluate them. The code that changes settings
    // validates them (src/tenants).
    check('tenants_usage_not_negative', sql`${t.fileCount} >= 0 AND ${t.byteCount} >= 0`),
    index('tenants_created').on(t.createdAt, t.id),
    index('tenants_with_mounts').on(t.id).where(sql`mounts IS NOT NULL`),
    index('tenants_drafts').on(t.draftOf).where(sql`draft_of IS NOT NULL`),
  ],
);

/**
 * The tree, with one row per file or directory. Constraints protect its invariants against any interleaving and any
 * crash. The parent of an entry exists and is a directory, because only directories have a `dir_path`.
 *
 * `entry_is_valid` (migrations/0000_init.sql) checks that `parent_path` matches the path, that only the root has no
 * parent, that only files have a content, and that paths obey the limits of the contract. A foreign key to `tenants`
 * would slow down each insert, and is not needed: only functions that have locked the tenant write here.
 */
export const entries = pgTable(
  'entries',
  {
    tenantId: key('tenant_id').notNull(),
    path: key('path').notNull(),
    parentPath: key('parent_path'),
    kind: key('kind').$type<'file' | 'dir'>().notNull(),
    /** Path of a directory; null for a file, so that a file cannot be a parent. */
    dirPath: key('dir_path').generatedAlwaysAs(sql`CASE WHEN kind = 'dir' THEN path END`),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    /** Day of the last read of a file. Expiration uses it together with `updated_at`. */
    accessedAt: timestamp('accessed_at', { withTimezone: true }).notNull().defaultNow(),
    /** Time of the current version; for a directory, the time when it was created at or moved to its path. */
    changedAt: timestamp('changed_at', { withTimezone: true }).notNull(),
    // The row of a file is its current version. These columns are null for a directory.
    /** ID of the version. An edit compares the ID before it writes. */
    version: uuid('version'),
    /** ID of the file's first version. It identifies the file across renames. */
    memoryId: uuid('memory_id'),
    operation: key('operation').$type<Exclude<Operation, 'deleted'>>(),
    /** Actor and request that created the version: `Origin` (src/memory/origin.ts). */
    origin: jsonb('origin'),
    content: content('content'),
    sizeBytes: integer('size_bytes').generatedAlwaysAs(sql`octet_length(content)`),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.path] }),
    // Files have a null `dir_path`, so moving or deleting a file does not check the foreign key.
    unique('entries_directories').on(t.tenantId, t.dirPath),
    foreignKey({
      name: 'entries_parent_is_directory',
      columns: [t.tenantId, t.parentPath],
      foreignColumns: [t.tenantId, t.dirPath],
    }),
    index('entries_children').on(t.tenantId, t.parentPath, t.path),
    uniqueIndex('entries_memory').on(t.tenantId, t.memoryId).where(sql`memory_id IS NOT NULL`),
    // A single function call, because Postgres parses a constraint's expression in each statement, while a session
    // caches a function's body.
    check(
      'entries_valid',
      sql`entry_is_valid(${t.path}, ${t.parentPath}, ${t.kind}, ${t.sizeBytes}, ${t.version}, ${t.memoryId})`,
    ),
  ],
);

/** `renamed` means that only the path changed. */
type Operation = 'created' | 'modified' | 'renamed' | 'deleted';

/**
 * Superseded versions of files, each valid from `created_at` until `superseded_at`. A deletion is also a version,
 * without content and superseded immediately. An ID begins with `created_at` (memory_id_prefix), so IDs sort by time.
 * Only redaction changes a row.
 *
 * The content is a delta to the next newer version of the file: `content` replaces `splice_length` bytes after the
 * first `splice_start` bytes. If both are null, `content` is the complete content.
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
    // For retention. The ID allows a batch to end between two versions of the same change.
    index('versions_superseded').on(t.tenantId, t.supersededAt, t.id),
    index('versions_path').on(t.tenantId, t.path, t.id),
    // Counts the redacted files of a past tree without reading the other versions.
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
 * Stored results of writes with an idempotency key. A retried write returns the stored result instead of running again.
 * A foreign key to `tenants` would slow down each insert, and is not needed: only writers that have locked the tenant
 * insert here.
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

/**
 * API keys, stored and looked up by SHA-256. A service key or an admin key has no tenant. The table is not sharded by
 * tenant, because no query joins it.
 */
export const apiKeys = pgTable(
  'api_keys',
  {
    hash: key('hash').primaryKey(),
    /** Public identifier of the key, for listing and revocation. */
    id: key('id').notNull(),
    tenantId: key('tenant_id'),
    /** `operate` is for admin keys, and `propose` is for tenant keys. */
    access: key('access').$type<'read_write' | 'propose' | 'operate' | 'read_only'>().notNull(),
    /** Whether the key is an admin key, which works only for the admin API. */
    isAdmin: boolean('is_admin').notNull().default(false),
    /** Scope of an admin key; null for all tenants. */
    onlyTenants: text('only_tenants').array(),
    /** Whether a service key may create, change, archive, and delete stores, and redact versions. */
    managesStores: boolean('manages_stores').notNull().default(false),
    label: key('label').notNull().default(''),
    /** Source of the writes made with the key, as declared by the operator; empty if not declared. */
    source: key('source').notNull().default(''),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
    /**
     * Time of the rotation. The new secret is another row with the same ID. Listings show the row in which this column
     * is null.
     */
    rotatedAt: timestamp('rotated_at', { withTimezone: true }),
    /**
     * Hash of the creator and the `Idempotency-Key` under which the key was created. `creation_request` is the hash of
     * the request.
     */
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
 * Audit trail of changes by admins and operators (src/audit). An event is written before the change and updated after
 * it. On Citus, the table is on the coordinator instead of sharded by tenant, because events outlive their tenant.
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
 * Usage of a tenant per UTC day (src/usage). The sizes are from the last update of the row. Requests never write here,
 * so the foreign key to `tenants` slows down no request.
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

/** Total size of all tenants at the end of a UTC day, including tenants that were deleted later. */
export const fleetUsage = pgTable('fleet_usage', {
  day: date('day').primaryKey(),
  tenants: bigint('tenants', { mode: 'number' }).notNull(),
  suspended: bigint('suspended', { mode: 'number' }).notNull(),
  files: bigint('files', { mode: 'number' }).notNull(),
  bytes: bigint('bytes', { mode: 'number' }).notNull(),
  historyBytes: bigint('history_bytes', { mode: 'number' }).notNull(),
});

/**
 * Open and closed drafts of tenants (src/drafts). The memory of an open draft is a tenant with the draft's ID and a
 * `draft_of`.
 */
export const drafts = pgTable(
  'drafts',
  {
    tenantId: key('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    id: key('id').notNull(),
    title: key('title').notNull(),
    /** Actor that created the draft. */
    author: jsonb('author').notNull(),
    /** The propose-only key whose writes go to the draft; null if the draft was created explicitly. */
    keyId: key('key_id'),
    /** Time of the tenant's memory from which the draft was copied. */
    baseAt: timestamp('base_at', { withTimezone: true }).notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    state: key('state')
      .$type<'open' | 'merged' | 'replaced' | 'rejected' | 'expired'>()
      .notNull()
      .default('open'),
    closedAt: timestamp('closed_at', { withTimezone: true }),
    closedBy: jsonb('closed_by'),
    /** Time of the merge in the tenant's history; null if the draft was not merged. */
    mergedAt: timestamp('merged_at', { withTimezone: true }),
    /** Comments of reviewers on an open draft (src/drafts/comments.ts). */
    comments: jsonb('comments').notNull().default([]),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.id] }),
    uniqueIndex('drafts_of_key').on(t.tenantId, t.keyId).where(sql`state = 'open' AND key_id IS NOT NULL`),
    index('drafts_created').on(t.createdAt, t.id),
  ],
);

/**
 * Entries of an open draft at its creation, by the draft's tenant ID. A file keeps its `memory_id` in the draft, and
 * keeps its version until it is changed there.
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

/**
 * Jobs over many tenants (src/incidents). A replica runs a job while it holds the lease. On Citus, the table is on the
 * coordinator, because a job belongs to no tenant.
 */
export const jobs = pgTable(
  'jobs',
  {
    id: uuid('id').primaryKey(),
    kind: key('kind').notNull(),
    state: key('state').$type<'queued' | 'running' | 'done' | 'cancelled'>().notNull(),
    /** The request without its texts. */
    request: jsonb('request').notNull(),
    /** Texts of the request, such as the text to find. Null after the end of the job. */
    texts: jsonb('texts'),
    /** Filter of tenants (src/incidents/selection.ts). */
    selection: jsonb('selection').notNull(),
    /** Tenants to which the job is limited; null for all tenants that match the selection. */
    onlyTenants: text('only_tenants').array(),
    createdBy: jsonb('created_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    endedAt: timestamp('ended_at', { withTimezone: true }),
    /** ID of the last tenant that the job has completed; empty before the first tenant and after the end. */
    position: key('position').notNull().default(''),
    /** Number of selected tenants when the job was created. */
    tenants: bigint('tenants', { mode: 'number' }).notNull(),
    tenantsDone: bigint('tenants_done', { mode: 'number' }).notNull().default(0),
    tenantsFailed: bigint('tenants_failed', { mode: 'number' }).notNull().default(0),
    /** Whether every completed tenant was processed completely, so that the counts are exact. */
    isComplete: boolean('is_complete').notNull().default(true),
    /** Sums of the counts of the tenants, by name. */
    counts: jsonb('counts').notNull().default({}),
    /** Counts of the tenant that is being processed; null between two tenants. */
    progress: jsonb('progress'),
    /** Process that runs the job, until `lease_until`. */
    holder: key('holder'),
    leaseUntil: timestamp('lease_until', { withTimezone: true }),
    /** Start of the last slice of the job. Jobs take turns in this order. */
    sliceAt: timestamp('slice_at', { withTimezone: true }).notNull(),
  },
  (t) => [
    index('jobs_created').on(t.createdAt, t.id),
    index('jobs_active').on(t.sliceAt, t.id).where(sql`ended_at IS NULL`),
  ],
);

/** Outcomes of jobs for a tenant. Jobs record only tenants with a result or an error. */
export const jobOutcomes = pgTable(
  'job_outcomes',
  {
    tenantId: key('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    jobId: uuid('job_id').notNull(),
    at: timestamp('at', { withTimezone: true }).notNull(),
    /** Code of the error; null for a success. */
    error: key('error'),
    isComplete: boolean('is_complete').notNull(),
    counts: jsonb('counts').notNull(),
    /** Details that depend on the kind of the job, without contents and paths. */
    details: jsonb('details').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.jobId] }), index('job_outcomes_job').on(t.jobId, t.tenantId)],
);

/**
 * The installation: a single row, created when it is first needed. Keys are derived from its secret
 * (src/tenants/installation.ts).
 */
export const installation = pgTable('installation', {
  id: key('id').primaryKey(),
  /** Null if the secret is in `INSTALLATION_SECRET`. */
  secret: bytea('secret'),
  /** Identifies the secret without revealing it. */
  secretId: key('secret_id').notNull(),
  /** Number of changes to `kept_out`, by which replicas notice a change. */
  keptOutChanges: bigint('kept_out_changes', { mode: 'number' }).notNull().default(0),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
});

/** Texts that must not be stored, by keyed hashes (src/memory/secrets/kept-out.ts). On Citus, every node has them. */
export const keptOut = pgTable(
  'kept_out',
  {
    id: uuid('id').primaryKey(),
    /** Empty for all tenants. */
    tenantId: key('tenant_id').notNull(),
    /** HMAC of the normal form of the text. */
    hash: bytea('hash').notNull(),
    /** Keyed tag of the first tokens. */
    prefix: integer('prefix').notNull(),
    /** Number of tokens. */
    tokens: integer('tokens').notNull(),
    label: key('label').notNull().default(''),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    createdBy: jsonb('created_by').notNull(),
  },
  (t) => [unique('kept_out_text').on(t.tenantId, t.hash)],
);

/**
 * Receipts of erasures (src/tenants/receipts.ts), which outlive their tenant. On Citus, the table is on the coordinator.
 */
export const receipts = pgTable(
  'receipts',
  {
    id: uuid('id').primaryKey(),
    at: timestamp('at', { withTimezone: true }).notNull(),
    /** ID of the tenant, or the hash that replaces the ID. Empty for a job over many tenants. */
    tenantId: key('tenant_id').notNull(),
    body: jsonb('body').notNull(),
    signature: key('signature').notNull(),
    keyId: key('key_id').notNull(),
    publicKey: key('public_key').notNull(),
  },
  (t) => [index('receipts_at').on(t.at, t.id), index('receipts_tenant').on(t.tenantId, t.at, t.id)],
);
