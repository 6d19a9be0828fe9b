import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, primaryKey, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { key } from './columns.ts';
import { tenants } from './tenant-tables.ts';

/**
 * Open and closed drafts of tenants (src/features/drafts). An open draft's memory is a tenant with the draft's ID and a
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
    /** Proposer whose writes the draft collects; null if the draft was created explicitly. */
    keyId: key('key_id'),
    /** Tenant through whose mount the proposer writes; null for other drafts. */
    viaTenant: key('via_tenant'),
    /** Time of the memory state that was copied to the draft. */
    baseAt: timestamp('base_at', { withTimezone: true }).notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
    state: key('state')
      .$type<'open' | 'merged' | 'replaced' | 'rejected' | 'expired'>()
      .notNull()
      .default('open'),
    closedAt: timestamp('closed_at', { withTimezone: true }),
    closedBy: jsonb('closed_by'),
    /** Merge time in the tenant's history; null if the draft was not merged. */
    mergedAt: timestamp('merged_at', { withTimezone: true }),
    /** Reviewers' comments on an open draft (src/features/drafts/comments.ts). */
    comments: jsonb('comments').notNull().default([]),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.id] }),
    uniqueIndex('drafts_of_key').on(t.tenantId, t.keyId).where(sql`state = 'open' AND key_id IS NOT NULL`),
    index('drafts_created').on(t.createdAt, t.id),
    index('drafts_via').on(t.viaTenant).where(sql`via_tenant IS NOT NULL`),
  ],
);

/**
 * An open draft's entries at its creation, by the draft's tenant ID. A file keeps its `memory_id` in the draft, and
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
