import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  date,
  index,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core';
import { snakeCase } from '../../lib/text-forms.ts';
import type { Mount } from '../../memory/mount.ts';
import type { Rights } from '../../memory/rights.ts';
import { ALL_SETTINGS, isNumberSetting } from '../../tenants/settings.ts';
import { key } from './columns.ts';

function settingColumns() {
  return Object.fromEntries(
    ALL_SETTINGS.map(([name, setting]) => [
      name,
      isNumberSetting(setting) ? bigint(snakeCase(name), { mode: 'number' }) : key(snakeCase(name)),
    ]),
  );
}

/**
 * A tenant and its usage. Every write locks the tenant's row first, so the counters are exact, and a tenant's writes
 * are serialized. Readers never wait.
 */
export const tenants = pgTable(
  'tenants',
  {
    id: key('id').primaryKey(),
    fileCount: bigint('file_count', { mode: 'number' }).notNull().default(0),
    byteCount: bigint('byte_count', { mode: 'number' }).notNull().default(0),
    /** Suspension time; null while the tenant is active. */
    suspendedAt: timestamp('suspended_at', { withTimezone: true }),
    // The tenant's settings. Null means the service's default, and 0 means no limit.
    ...settingColumns(),
    /** Number of rows in `versions`. */
    historyVersions: bigint('history_versions', { mode: 'number' }).notNull().default(0),
    /** Size of the rows in `versions` and `past_directories` (migrations/functions/memory_history.sql). */
    historyBytes: bigint('history_bytes', { mode: 'number' }).notNull().default(0),
    /** Start of the complete history. Versions that were superseded earlier may be missing. */
    historySince: timestamp('history_since', { withTimezone: true }).notNull().defaultNow(),
    /** Time when the latest change was made. The next change gets a later time. */
    lastChangeAt: timestamp('last_change_at', { withTimezone: true }),
    /** Time of the latest event in the tenant's own list (`tenant_events`). The next change gets a later time. */
    lastEventAt: timestamp('last_event_at', { withTimezone: true }),
    /**
     * Time of the latest change that created files with IDs from before, such as a restore or a merge. Null if there was
     * none.
     */
    restoredAt: timestamp('restored_at', { withTimezone: true }),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    /** Other tenants' memories, shown as directories (src/core/tenants/mounts.ts); null for none. */
    mounts: jsonb('mounts').$type<Mount[]>(),
    // Fields in the Memory Stores API (src/core/tenants/store.ts).
    /** Null means the tenant ID. */
    name: key('name'),
    description: key('description').notNull().default(''),
    metadata: jsonb('metadata').$type<Record<string, string>>().notNull().default({}),
    /** Time since which files can only be read and deleted; null while they can be changed. */
    archivedAt: timestamp('archived_at', { withTimezone: true }),
    /** Time when one of these fields last changed. */
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    /** The original tenant's ID if this tenant is a draft (src/features/drafts); otherwise null. */
    draftOf: key('draft_of'),
  },
  (t) => [
    // Settings have no check constraints, because each write would evaluate them. The code that changes settings
    // validates them (src/core/tenants).
    check('tenants_usage_not_negative', sql`${t.fileCount} >= 0 AND ${t.byteCount} >= 0`),
    index('tenants_created').on(t.createdAt, t.id),
    index('tenants_with_mounts').on(t.id).where(sql`mounts IS NOT NULL`),
    index('tenants_drafts').on(t.draftOf).where(sql`draft_of IS NOT NULL`),
  ],
);

/**
 * Console sessions that ended by a sign-out, until their cookies expire. On Citus, the table is on the coordinator.
 */
export const endedSessions = pgTable('ended_sessions', {
  id: uuid('id').primaryKey(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
});

/**
 * API keys, stored and looked up by SHA-256. A service key or an admin key has no tenant. The table is not sharded by
 * tenant, because no query joins it.
 */
export const apiKeys = pgTable(
  'api_keys',
  {
    hash: key('hash').primaryKey(),
    /** Public identifier for the key, for listing and revocation. */
    id: key('id').notNull(),
    tenantId: key('tenant_id'),
    /** `operate` is for admin keys, and `propose` is for tenant keys. */
    access: key('access').$type<'read_write' | 'propose' | 'operate' | 'read_only'>().notNull(),
    /** Whether the key is an admin key, which works only for the admin API. */
    isAdmin: boolean('is_admin').notNull().default(false),
    /** An admin key's scope; null for all tenants. */
    onlyTenants: text('only_tenants').array(),
    /** A tenant key's or service key's rights by path; null if there are none. */
    rights: jsonb('rights').$type<Rights>(),
    /** Whether a service key may create, change, archive, and delete stores, and redact versions. */
    managesStores: boolean('manages_stores').notNull().default(false),
    /** Whether a tenant key may share the tenant's memory with other tenants, and accept their invitations. */
    canShare: boolean('can_share').notNull().default(false),
    label: key('label').notNull().default(''),
    /** Source of the writes made with the key, as declared by the operator; empty if not declared. */
    source: key('source').notNull().default(''),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    expiresAt: timestamp('expires_at', { withTimezone: true }),
    revokedAt: timestamp('revoked_at', { withTimezone: true }),
    lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
    /**
     * Rotation time. The new secret is another row with the same ID. Listings show the row in which this column is
     * null.
     */
    rotatedAt: timestamp('rotated_at', { withTimezone: true }),
    /**
     * Hash of the creator and the `Idempotency-Key` under which the key was created. `creation_request` is the
     * request's hash.
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
    check(
      'api_keys_rights',
      sql`${t.rights} IS NULL OR NOT (${t.isAdmin} OR ${t.managesStores} OR ${t.canShare})`,
    ),
    check('api_keys_admin', sql`NOT ${t.isAdmin} OR ${t.tenantId} IS NULL`),
    check(
      'api_keys_manages_stores',
      sql`NOT ${t.managesStores} OR (${t.tenantId} IS NULL AND NOT ${t.isAdmin})`,
    ),
    check(
      'api_keys_can_share',
      sql`NOT ${t.canShare} OR (${t.tenantId} IS NOT NULL AND ${t.access} = 'read_write')`,
    ),
  ],
);

/**
 * Audit trail for changes by admins and operators (src/core/tenants/audit.ts). An event is written before the change
 * and updated after it. On Citus, the table is on the coordinator instead of sharded by tenant, because events outlive
 * their tenant.
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
 * Usage by a tenant per UTC day (src/core/tenants/usage.ts). The sizes are from the row's last update. Requests never
 * write here, so the foreign key to `tenants` slows down no request.
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
    rejected: bigint('rejected', { mode: 'number' }).notNull(),
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
