import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import { bytea, key } from './columns.ts';
import { tenants } from './tenant-tables.ts';

/**
 * Jobs over many tenants (src/features/incidents). A replica runs a job while it holds the lease. On Citus, the table is on the
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
    /** Texts from the request, such as the text to find. Null after the job ends. */
    texts: jsonb('texts'),
    /** Filter for tenants (src/features/incidents/tenant-selection.ts). */
    selection: jsonb('selection').notNull(),
    /** Tenants to which the job is limited; null for all tenants that match the selection. */
    onlyTenants: text('only_tenants').array(),
    createdBy: jsonb('created_by').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    endedAt: timestamp('ended_at', { withTimezone: true }),
    /** The job's place in its tenants, as JSON; empty before the first tenant and after the end. */
    position: key('position').notNull().default(''),
    /** Number of selected tenants when the job was created. */
    tenants: bigint('tenants', { mode: 'number' }).notNull(),
    tenantsDone: bigint('tenants_done', { mode: 'number' }).notNull().default(0),
    tenantsFailed: bigint('tenants_failed', { mode: 'number' }).notNull().default(0),
    /** Whether every completed tenant was processed completely, so that the counts are exact. */
    isComplete: boolean('is_complete').notNull().default(true),
    /** Totals over the tenants' counts, by name. */
    counts: jsonb('counts').notNull().default({}),
    /** Counts for the tenants that are being processed; null for none. */
    progress: jsonb('progress'),
    /** Process that runs the job, until `lease_until`. */
    holder: key('holder'),
    leaseUntil: timestamp('lease_until', { withTimezone: true }),
    /** IDs of tenants that have arrived since the job was created (src/core/tenants/arrivals.ts). */
    arrived: text('arrived').array().notNull().default([]),
    /** Last claim time. Jobs are claimed in this order. */
    sliceAt: timestamp('slice_at', { withTimezone: true }).notNull(),
  },
  (t) => [
    index('jobs_created').on(t.createdAt, t.id),
    index('jobs_active').on(t.sliceAt, t.id).where(sql`ended_at IS NULL`),
  ],
);

/** Job outcomes for a tenant. Jobs record only tenants with a result or an error. */
export const jobOutcomes = pgTable(
  'job_outcomes',
  {
    tenantId: key('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    jobId: uuid('job_id').notNull(),
    at: timestamp('at', { withTimezone: true }).notNull(),
    /** Error code; null for a success. */
    error: key('error'),
    isComplete: boolean('is_complete').notNull(),
    counts: jsonb('counts').notNull(),
    /** Details that depend on the job kind, without contents and paths. */
    details: jsonb('details').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.jobId] }), index('job_outcomes_job').on(t.jobId, t.tenantId)],
);

/**
 * The installation: a single row, created when it is first needed. Keys are derived from its secret
 * (src/core/tenants/installation.ts).
 */
export const installation = pgTable('installation', {
  id: key('id').primaryKey(),
  /** Null if the secret is in `INSTALLATION_SECRET`. */
  secret: bytea('secret'),
  /** Identifies the secret without revealing it. */
  secretId: key('secret_id').notNull(),
  /** Number of changes to `kept_out`. Replicas compare it to notice a change. */
  keptOutChanges: bigint('kept_out_changes', { mode: 'number' }).notNull().default(0),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
});

/** Texts that must not be stored, by keyed hashes (src/core/memory/secrets/kept-out.ts). On Citus, every node has them. */
export const keptOut = pgTable(
  'kept_out',
  {
    id: uuid('id').primaryKey(),
    /** Empty for all tenants. */
    tenantId: key('tenant_id').notNull(),
    /** HMAC of the text's normal form. */
    hash: bytea('hash').notNull(),
    /** Keyed tag for the first tokens. */
    prefix: integer('prefix').notNull(),
    /** Token count. */
    tokens: integer('tokens').notNull(),
    label: key('label').notNull().default(''),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    createdBy: jsonb('created_by').notNull(),
    /** Number of the change that wrote the row. Replicas use it to read only the rows that have changed. */
    change: bigint('change', { mode: 'number' }).notNull().default(0),
    /**
     * `entry` for a removed entry, whose ID is then its hash; `all` for a row which records that all the tenant's
     * earlier entries were removed. Null for an entry.
     */
    removed: key('removed'),
  },
  (t) => [unique('kept_out_text').on(t.tenantId, t.hash), index('kept_out_change').on(t.change, t.id)],
);

/**
 * Erasure receipts (src/core/tenants/receipts.ts), which outlive their tenant. On Citus, the table is on the
 * coordinator.
 */
export const receipts = pgTable(
  'receipts',
  {
    id: uuid('id').primaryKey(),
    at: timestamp('at', { withTimezone: true }).notNull(),
    /** Tenant ID, or the hash that replaces the ID. Empty for a job over many tenants. */
    tenantId: key('tenant_id').notNull(),
    body: jsonb('body').notNull(),
    signature: key('signature').notNull(),
    keyId: key('key_id').notNull(),
    publicKey: key('public_key').notNull(),
  },
  (t) => [index('receipts_at').on(t.at, t.id), index('receipts_tenant').on(t.tenantId, t.at, t.id)],
);
