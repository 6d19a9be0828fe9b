import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, primaryKey, timestamp, uuid } from 'drizzle-orm/pg-core';
import { key } from './columns.ts';
import { tenants } from './tenant-tables.ts';

/**
 * Reads of files (src/features/reads). A row has no path and no content: the path is looked up by the file's ID, so it
 * disappears with the file and its history. Requests never write here, so the foreign key slows down no request.
 */
export const reads = pgTable(
  'reads',
  {
    tenantId: key('tenant_id')
      .notNull()
      .references(() => tenants.id, { onDelete: 'cascade' }),
    /** With `READ_LOG=daily`, derived from the day, the file, and the actor; otherwise random. */
    id: uuid('id').notNull(),
    memoryId: uuid('memory_id').notNull(),
    actor: jsonb('actor').notNull(),
    /** Tenant whose mount was used. */
    viaTenant: key('via_tenant'),
    /** The last read's `tool_use` ID, if it had one. */
    toolUseId: key('tool_use_id'),
    count: integer('count').notNull(),
    firstAt: timestamp('first_at', { withTimezone: true }).notNull(),
    lastAt: timestamp('last_at', { withTimezone: true }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.id] }),
    index('reads_last').on(t.tenantId, t.lastAt, t.id),
    index('reads_memory').on(t.tenantId, t.memoryId, t.lastAt),
    index('reads_tool_use').on(t.tenantId, t.toolUseId).where(sql`tool_use_id IS NOT NULL`),
    index('reads_via').on(t.viaTenant).where(sql`via_tenant IS NOT NULL`),
  ],
);
