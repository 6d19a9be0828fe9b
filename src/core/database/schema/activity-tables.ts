import { bigint, jsonb, pgTable, primaryKey, timestamp, uuid } from 'drizzle-orm/pg-core';
import { key } from './columns.ts';

/**
 * Calls in the last hour, by replica and five-minute slot (src/core/tenants/activity.ts). On Citus, the table is on
 * the coordinator, because a row counts the calls for many tenants.
 */
export const activity = pgTable(
  'activity',
  {
    slot: timestamp('slot', { withTimezone: true }).notNull(),
    replica: uuid('replica').notNull(),
    /** The replica's version of the service. */
    version: key('version').notNull(),
    startedAt: timestamp('started_at', { withTimezone: true }).notNull(),
    /** When the replica last wrote the row; null after the replica stopped. */
    seenAt: timestamp('seen_at', { withTimezone: true }),
    reads: bigint('reads', { mode: 'number' }).notNull(),
    writes: bigint('writes', { mode: 'number' }).notNull(),
    rejected: bigint('rejected', { mode: 'number' }).notNull(),
    /** The most frequent calls by tenant, actor, and reason for a rejection. */
    calls: jsonb('calls').notNull(),
    /** Number of executions by command and duration range. */
    durations: jsonb('durations').notNull(),
  },
  (t) => [primaryKey({ columns: [t.slot, t.replica] })],
);
