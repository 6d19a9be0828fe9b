import { boolean, index, integer, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { key } from './columns.ts';

/**
 * Webhook endpoints (src/features/webhooks). A replica delivers to an endpoint while it holds the lease. On Citus, the
 * table is on the coordinator, because an endpoint may receive all tenants' events.
 */
export const webhooks = pgTable(
  'webhooks',
  {
    id: key('id').primaryKey(),
    /** The tenant whose events are delivered; null for all tenants. */
    tenantId: key('tenant_id'),
    url: key('url').notNull(),
    /** Key for the signatures. After a rotation, the previous key also signs until `previous_until`. */
    secret: key('secret').notNull(),
    previousSecret: key('previous_secret'),
    previousUntil: timestamp('previous_until', { withTimezone: true }),
    /** Event types; null for all. */
    types: text('types').array(),
    /** A file, or a directory with everything below it; null for all. */
    path: key('path'),
    /** Whether messages have the contents. */
    content: boolean('content').notNull(),
    /** Position in the change feed after the last accepted message. */
    cursor: key('cursor').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    /** Null while the endpoint is enabled. */
    disabledReason: key('disabled_reason'),
    /** First failure since the last accepted message, and the number of failures; null and 0 if there is none. */
    failingSince: timestamp('failing_since', { withTimezone: true }),
    failures: integer('failures').notNull().default(0),
    /** When changes were last lost, because they were no longer in the history. */
    gapAt: timestamp('gap_at', { withTimezone: true }),
    nextAttemptAt: timestamp('next_attempt_at', { withTimezone: true }).notNull(),
    /** Process that delivers to the endpoint, until `lease_until`. */
    holder: key('holder'),
    leaseUntil: timestamp('lease_until', { withTimezone: true }),
  },
  (t) => [index('webhooks_next').on(t.nextAttemptAt), index('webhooks_tenant').on(t.tenantId, t.id)],
);

/** Attempts to deliver a message, without paths and contents. On Citus, the table is on the coordinator. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    webhookId: key('webhook_id').notNull(),
    at: timestamp('at', { withTimezone: true }).notNull(),
    id: uuid('id').notNull(),
    /** The header `webhook-id`, which is the same in each attempt. */
    messageId: key('message_id').notNull(),
    type: key('type').notNull(),
    /** The event's tenant; null for a test, and for a gap in all tenants' changes. */
    tenantId: key('tenant_id'),
    /** HTTP status; null without a response. */
    status: integer('status'),
    /** Reason for a failure; null if the message was accepted. */
    error: key('error'),
    durationMs: integer('duration_ms').notNull(),
  },
  (t) => [primaryKey({ columns: [t.webhookId, t.at, t.id] }), index('webhook_deliveries_at').on(t.at)],
);
