import { randomBytes, randomUUID } from 'node:crypto';
import { databaseInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { cutPage, type Page, type TimePosition } from '../../core/lib/pages.ts';
import { LAST_ID } from '../../core/lib/uuids.ts';
import type { EVENT_TYPES } from '../feed/change-event.ts';
import type { DeliveryError } from './delivery-errors.ts';

/* Webhook endpoints and their deliveries, in the database. Times are stored times (src/core/lib/rfc3339.ts). */

/** Maximum number of endpoints for a tenant, and for all tenants' events. */
export const MAX_WEBHOOKS = 20;
/** Maximum number of recorded deliveries to an endpoint. */
const MAX_DELIVERIES = 1000;

export type EventType = (typeof EVENT_TYPES)[number];

/** Reasons for disabling an endpoint. */
export const DISABLED_REASONS = ['by_operator', 'failing', 'gone'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** An endpoint's fields that an operator chooses. */
export interface WebhookOptions {
  url: string;
  /** Null for all. */
  types: EventType[] | null;
  /** A file, or a directory with everything below it; null for all. */
  path: string | null;
  content: boolean;
}

export interface Webhook extends WebhookOptions {
  id: string;
  /** Null for all tenants. */
  tenant: string | null;
  createdAt: string;
  disabledReason: DisabledReason | null;
  /** First failure since the last accepted message. */
  failingSince: string | null;
  failures: number;
  gapAt: string | null;
  nextAttemptAt: string;
  previousUntil: string | null;
}

/** An endpoint with its secrets and its position, which lists do not have. */
export interface DeliveredWebhook extends Webhook {
  secret: string;
  previousSecret: string | null;
  cursor: string;
}

const COLUMNS = `
  id, tenant_id AS tenant, url, types, path, content, ${time('created_at')} AS "createdAt",
  disabled_reason AS "disabledReason", ${time('failing_since')} AS "failingSince", failures,
  ${time('gap_at')} AS "gapAt", ${time('next_attempt_at')} AS "nextAttemptAt",
  ${time('previous_until')} AS "previousUntil"`;

export const DELIVERY_COLUMNS = `${COLUMNS}, secret, previous_secret AS "previousSecret", cursor`;

const IN_SCOPE = '($scope::text[] IS NULL OR tenant_id = ANY ($scope::text[]))';

/** `scope` has a limited admin key's tenants; null for all. */
type Scoped = { id: string; scope: string[] | null };

const insertQuery = defineQuery<{
  id: string;
  owner: string | null;
  url: string;
  secret: string;
  types: string[] | null;
  path: string | null;
  content: boolean;
  cursor: string;
  now: string;
  max: number;
}>(
  'insert_webhook',
  `
INSERT INTO webhooks (id, tenant_id, url, secret, types, path, content, cursor, created_at, next_attempt_at)
SELECT $id, $owner::text, $url, $secret, $types::text[], $path::text, $content::boolean, $cursor,
  $now::text::timestamptz, $now::text::timestamptz
WHERE (SELECT count(*) FROM webhooks WHERE tenant_id IS NOT DISTINCT FROM $owner::text) < $max::bigint
`,
);

const listQuery = defineQuery<{ owner: string | null; scope: string[] | null }, Webhook>(
  'list_webhooks',
  `
SELECT ${COLUMNS} FROM webhooks WHERE ($owner::text IS NULL OR tenant_id = $owner) AND ${IN_SCOPE}
ORDER BY tenant_id NULLS FIRST, created_at, id
`,
);

const findQuery = defineQuery<Scoped, DeliveredWebhook>(
  'find_webhook',
  `SELECT ${DELIVERY_COLUMNS} FROM webhooks WHERE id = $id AND ${IN_SCOPE}`,
);

const updateQuery = defineQuery<{
  id: string;
  url: string;
  types: string[] | null;
  path: string | null;
  content: boolean;
}>(
  'update_webhook',
  `
UPDATE webhooks SET url = $url, types = $types::text[], path = $path::text, content = $content::boolean
WHERE id = $id
`,
);

const enableQuery = defineQuery<{ id: string; now: string }>(
  'enable_webhook',
  `
UPDATE webhooks SET disabled_reason = NULL, failing_since = NULL, failures = 0,
  next_attempt_at = $now::text::timestamptz
WHERE id = $id
`,
);

const disableQuery = defineQuery<{ id: string }>(
  'disable_webhook',
  `UPDATE webhooks SET disabled_reason = 'by_operator' WHERE id = $id AND disabled_reason IS NULL`,
);

const rotateQuery = defineQuery<{ id: string; secret: string; until: string }>(
  'rotate_webhook_secret',
  `
UPDATE webhooks SET previous_secret = secret, secret = $secret, previous_until = $until::text::timestamptz
WHERE id = $id
`,
);

const moveQuery = defineQuery<{ id: string; cursor: string; now: string }>(
  'move_webhook',
  `UPDATE webhooks SET cursor = $cursor, next_attempt_at = $now::text::timestamptz WHERE id = $id`,
);

const deleteQuery = defineQuery<{ id: string }>('delete_webhook', 'DELETE FROM webhooks WHERE id = $id');

/** An attempt to deliver a message. */
export interface Delivery {
  at: string;
  id: string;
  /** The header `webhook-id`. */
  messageId: string;
  type: string;
  tenant: string | null;
  status: number | null;
  error: DeliveryError | null;
  durationMs: number;
}

const insertDeliveriesQuery = defineQuery<{
  webhook: string;
  times: string[];
  ids: string[];
  messageIds: string[];
  types: string[];
  tenants: (string | null)[];
  statuses: (number | null)[];
  errors: (string | null)[];
  durations: number[];
}>(
  'insert_webhook_deliveries',
  `
INSERT INTO webhook_deliveries (webhook_id, at, id, message_id, type, tenant_id, status, error, duration_ms)
SELECT $webhook, d.at::timestamptz, d.id::uuid, d.message_id, d.type, d.tenant_id, d.status, d.error, d.duration_ms
FROM unnest(
  $times::text[], $ids::text[], $messageIds::text[], $types::text[], $tenants::text[], $statuses::integer[],
  $errors::text[], $durations::integer[]
) AS d (at, id, message_id, type, tenant_id, status, error, duration_ms)
`,
);

const listDeliveriesQuery = defineQuery<
  { webhook: string; afterAt: string | null; afterId: string | null; limit: number },
  Delivery
>(
  'list_webhook_deliveries',
  `
SELECT ${time('at')} AS at, id::text, message_id AS "messageId", type, tenant_id AS tenant, status, error,
  duration_ms AS "durationMs"
FROM (
  SELECT * FROM webhook_deliveries
  WHERE webhook_id = $webhook AND (at, id) < (
    COALESCE($afterAt::text::timestamptz, 'infinity'), COALESCE($afterId::text::uuid, '${LAST_ID}')
  )
  ORDER BY at DESC, id DESC LIMIT $limit::bigint
) AS page
ORDER BY page.at DESC, page.id DESC
`,
);

const cutDeliveriesQuery = defineQuery<{ webhook: string; kept: number }>(
  'cut_webhook_deliveries',
  `
DELETE FROM webhook_deliveries WHERE webhook_id = $webhook AND at < (
  SELECT kept.at FROM webhook_deliveries AS kept WHERE kept.webhook_id = $webhook
  ORDER BY kept.at DESC OFFSET $kept::bigint - 1 LIMIT 1
)
`,
);

const pruneDeliveriesQuery = defineQuery<{ before: string }>(
  'prune_webhook_deliveries',
  `
DELETE FROM webhook_deliveries AS d
WHERE d.at < $before::text::timestamptz OR NOT EXISTS (SELECT FROM webhooks AS w WHERE w.id = d.webhook_id)
`,
);

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

/** The installation's webhook endpoints. Each method throws `DatabaseError`. */
export class Webhooks {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Creates an endpoint.
   *
   * @param cursor position in the change feed where deliveries begin
   * @throws ServiceError 409 if there are already `MAX_WEBHOOKS`
   */
  async create(tenant: string | null, options: WebhookOptions, cursor: string): Promise<DeliveredWebhook> {
    const id = `wh_${randomBytes(6).toString('hex')}`;
    const row = { id, owner: tenant, ...options, secret: newSecret(), cursor, now: await this.#now() };
    const { count } = await this.#database.query(insertQuery, { ...row, max: MAX_WEBHOOKS });
    if (count === 0) throw new ServiceError('too_many_webhooks', MAX_WEBHOOKS);
    return this.get(id, null);
  }

  /** @param tenant null for all endpoints in the scope */
  async list(tenant: string | null, scope: string[] | null): Promise<Webhook[]> {
    return (await this.#database.query(listQuery, { owner: tenant, scope })).rows;
  }

  /** @throws ServiceError 404 if no endpoint in the scope has the ID */
  async get(id: string, scope: string[] | null): Promise<DeliveredWebhook> {
    const [row] = (await this.#database.query(findQuery, { id, scope })).rows;
    if (row === undefined) throw new ServiceError('no_such_webhook', id);
    return row;
  }

  /**
   * Changes an endpoint.
   *
   * @param enabled true also resets its failures and makes it due; null keeps its state
   */
  async update(id: string, options: WebhookOptions, enabled: boolean | null): Promise<void> {
    const now = await this.#now();
    await this.#database.transaction(async (query) => {
      await query(updateQuery, { id, ...options });
      if (enabled === true) await query(enableQuery, { id, now });
      if (enabled === false) await query(disableQuery, { id });
    });
  }

  /** Replaces the secret. The previous secret also signs for `overlapSeconds`. */
  async rotate(id: string, overlapSeconds: number): Promise<void> {
    const until = new Date(Date.parse(await this.#now()) + overlapSeconds * 1000).toISOString();
    await this.#database.query(rotateQuery, { id, secret: newSecret(), until });
  }

  /** Continues at another position. */
  async move(id: string, cursor: string): Promise<void> {
    await this.#database.query(moveQuery, { id, cursor, now: await this.#now() });
  }

  async delete(id: string): Promise<void> {
    await this.#database.query(deleteQuery, { id });
  }

  /** Records deliveries, and deletes all but the endpoint's last `MAX_DELIVERIES`. */
  async recordDeliveries(id: string, deliveries: readonly Omit<Delivery, 'id'>[]): Promise<void> {
    if (deliveries.length === 0) return;
    await this.#database.query(insertDeliveriesQuery, {
      webhook: id,
      times: deliveries.map(({ at }) => at),
      ids: deliveries.map(() => randomUUID()),
      messageIds: deliveries.map(({ messageId }) => messageId),
      types: deliveries.map(({ type }) => type),
      tenants: deliveries.map(({ tenant }) => tenant),
      statuses: deliveries.map(({ status }) => status),
      errors: deliveries.map(({ error }) => error),
      durations: deliveries.map(({ durationMs }) => durationMs),
    });
    await this.#database.query(cutDeliveriesQuery, { webhook: id, kept: MAX_DELIVERIES });
  }

  /** Lists an endpoint's deliveries, newest first. */
  async deliveries(
    id: string,
    after: TimePosition | null,
    limit: number,
  ): Promise<Page<Delivery, TimePosition>> {
    const position = { afterAt: after?.time ?? null, afterId: after?.id ?? null };
    const { rows } = await this.#database.query(listDeliveriesQuery, {
      webhook: id,
      ...position,
      limit: limit + 1,
    });
    return cutPage(rows, limit, (last) => ({ time: last.at, id: last.id }));
  }

  /** Deletes the deliveries before a time, and the deliveries to deleted endpoints. */
  async pruneDeliveries(before: string): Promise<number> {
    return (await this.#database.query(pruneDeliveriesQuery, { before })).count;
  }

  #now(): Promise<string> {
    return databaseInstant(this.#database);
  }
}
