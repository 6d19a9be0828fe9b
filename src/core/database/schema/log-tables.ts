import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { key } from './columns.ts';

/*
 * The fleet's change log (docs/decisions/0032-change-log.md). The functions that write append to it, and
 * src/features/feed/fleet-log.ts reads it.
 */

/**
 * One row for each change, partitioned by `part`: three partitions, which are truncated in turn. A row has no path and
 * no content. There is no key, because a row is never updated, and an index would slow down each write.
 */
export const changeLog = pgTable(
  'change_log',
  {
    tenantId: key('tenant_id').notNull(),
    /** The change's time, which always increases within a tenant. */
    at: timestamp('at', { withTimezone: true }).notNull(),
    /** The change's transaction, in its node's numbering. */
    xid: bigint('xid', { mode: 'bigint' }).notNull(),
    /** Citus node that numbered the transaction; 0 on one server. */
    node: integer('node').notNull(),
    part: smallint('part').notNull(),
  },
  (t) => [index('change_log_xid').on(t.xid)],
);

/** The partition that gets new rows: a single row; no row while the log is off. On Citus, every node has it. */
export const changeLogState = pgTable(
  'change_log_state',
  {
    part: smallint('part').notNull(),
    /** When the partition was chosen. */
    since: timestamp('since', { withTimezone: true }).notNull(),
  },
  // The condition keeps the planner, which avoids sequential scans, from reading the index for the row.
  () => [uniqueIndex('change_log_state_row').on(sql`(1)`).where(sql`part >= 0`)],
);

/** Snapshots of the log, by which readers page: one row for each node and time. */
export const changeTicks = pgTable(
  'change_ticks',
  {
    at: timestamp('at', { withTimezone: true }).notNull(),
    node: integer('node').notNull(),
    /** The server's system identifier. Transaction numbers mean nothing on another server. */
    system: key('system').notNull(),
    /** A `pg_snapshot`. */
    snapshot: key('snapshot').notNull(),
  },
  (t) => [primaryKey({ columns: [t.at, t.node] })],
);

/**
 * Events in the change feed beside changes to files (migrations/functions/memory_record_event.sql). There is no foreign
 * key, because an event can outlive its tenant. `tenant_id` is empty for a job, and for a key
 * without a tenant.
 */
export const tenantEvents = pgTable(
  'tenant_events',
  {
    tenantId: key('tenant_id').notNull(),
    at: timestamp('at', { withTimezone: true }).notNull(),
    /** Begins with the time, like a version's ID. */
    id: uuid('id').notNull(),
    type: key('type').notNull(),
    actor: jsonb('actor').notNull(),
    /** IDs and other small facts, without paths and contents. */
    details: jsonb('details').notNull(),
    /** Whether the event is only in the list of all tenants' changes, and is deleted with the log. */
    fleetOnly: boolean('fleet_only').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.at, t.id] }),
    index('tenant_events_fleet_only').on(t.at).where(sql`fleet_only`),
  ],
);
