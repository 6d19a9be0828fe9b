import { z } from 'zod';
import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { type AdminContext, defineOperation } from '../../core/admin/admin-operation.ts';
import {
  givenTime,
  memoryPath,
  next,
  overlapSeconds,
  pageFields,
  readCursor,
  readTimes,
  tenantId,
  text,
  time,
  timePosition,
  writeCursor,
} from '../../core/admin/fields.ts';
import { requireInScope } from '../../core/admin/permissions.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { changedValues } from '../../core/tenants/audit.ts';
import { requireTenant } from '../../core/tenants/tenants.ts';
import { urlWithoutUser } from '../../core/variable-schemas.ts';
import { EVENT_TYPES } from '../feed/change-event.ts';
import { DELIVERY_ERRORS } from './delivery-errors.ts';
import {
  type DeliveredWebhook,
  type Delivery,
  DISABLED_REASONS,
  MAX_WEBHOOKS,
  type Webhook,
  type WebhookOptions,
  Webhooks,
} from './webhooks.ts';

const webhookOptions = {
  url: text(2000)
    .refine(
      (url) => urlWithoutUser.safeParse(url).success && !url.includes('#'),
      'must be an http(s) URL without a user, a password, and a fragment.',
    )
    .meta({ description: 'Receives the messages by POST.', examples: ['https://example.com/memory'] }),
  types: z
    .array(z.enum(EVENT_TYPES))
    .min(1)
    .max(EVENT_TYPES.length)
    .nullable()
    .meta({ description: 'Only events with these types; null for all.' }),
  path: memoryPath.nullable().meta({
    description:
      'A file or a directory: only events at or below the path; null for all. A redaction has no path.',
  }),
  content: z.boolean().meta({ description: 'Whether the messages have the contents.' }),
};

const fields = {
  id: z.string().meta({ examples: ['wh_0123456789ab'] }),
  tenant: tenantId.nullable().meta({ description: "Null: all tenants' events." }),
  ...webhookOptions,
  enabled: z.boolean(),
  disabled_reason: z.enum(DISABLED_REASONS).nullable().meta({
    description: '`failing`: for three days, no message was accepted. `gone`: a response was 410.',
  }),
  failing_since: time.nullable().meta({ description: 'First failure since the last accepted message.' }),
  next_attempt_at: time.nullable().meta({ description: 'Next attempt of a failing endpoint.' }),
  gap_at: time.nullable().meta({
    description: 'When changes were last lost, because they were no longer in the history.',
  }),
  previous_secret_until: time
    .nullable()
    .meta({ description: 'Time until which the secret before the last rotation also signs.' }),
  created_at: time,
};

const webhookSchema = z.object(fields).meta({ id: 'Webhook', description: 'A webhook, without its secret.' });

const webhookWithSecretSchema = z.object({
  ...fields,
  secret: z.string().meta({ description: 'The secret itself, shown only once.' }),
});

export type WebhookRecord = z.infer<typeof webhookSchema>;

function webhookRecord(webhook: Webhook): WebhookRecord {
  const { id, tenant, url, types, path, content, disabledReason, failingSince } = webhook;
  return {
    id,
    tenant,
    url,
    types,
    path: path as WebhookRecord['path'],
    content,
    enabled: disabledReason === null,
    disabled_reason: disabledReason,
    failing_since: failingSince,
    next_attempt_at: failingSince === null || disabledReason !== null ? null : webhook.nextAttemptAt,
    gap_at: webhook.gapAt,
    previous_secret_until: webhook.previousUntil,
    created_at: webhook.createdAt,
  };
}

const params = z.strictObject({ webhook: text(255) });

const noSuchWebhook = new ServiceError('no_such_webhook', 'wh_0123456789ab');
const needsHttps = new ServiceError('webhook_needs_https');

/** Finds the webhook in the URL. A key for certain tenants receives "not found" for others. */
function findWebhook({
  database,
  params: { webhook },
  administrator,
}: Pick<AdminContext, 'database' | 'administrator'> & {
  params: z.output<typeof params>;
}): Promise<DeliveredWebhook> {
  return new Webhooks(database).get(webhook, administrator.onlyTenants);
}

/** @throws ServiceError 400 if the URL is for a receiver without TLS, and no private address is allowed */
function requireTls({ config }: Pick<AdminContext, 'config'>, url: string): void {
  if (url.startsWith('http:') && config.WEBHOOK_ALLOWED_ADDRESSES === undefined) throw needsHttps;
}

/** Returns a URL without path and query parameters, which may contain secrets. */
const urlOrigin = (url: string) => new URL(url).origin;

export const listWebhooks = defineOperation({
  id: 'listWebhooks',
  method: 'GET',
  url: '/webhooks',
  summary: 'List webhooks',
  description: 'With a key for certain tenants: only webhooks for these tenants.',
  tag: 'webhooks',
  scope: 'handler',
  query: z.strictObject({
    tenant: tenantId.optional().meta({ description: "Only this tenant's webhooks." }),
  }),
  response: { description: 'The webhooks.', schema: z.object({ webhooks: z.array(webhookSchema) }) },
  errors: [noSuchTenant],
  async run({ database, query: { tenant = null }, administrator: { onlyTenants: scope } }) {
    if (tenant !== null) {
      requireInScope(scope, tenant);
      await requireTenant(database, tenant);
    }
    return { webhooks: (await new Webhooks(database).list(tenant, scope)).map(webhookRecord) };
  },
});

export const createWebhook = defineOperation({
  id: 'createWebhook',
  method: 'POST',
  url: '/webhooks',
  summary: 'Create a webhook and show its secret once',
  description: `Deliveries begin with the next change. There can be ${MAX_WEBHOOKS} webhooks for a tenant, and ${MAX_WEBHOOKS} for all tenants.`,
  tag: 'webhooks',
  access: 'read_write',
  scope: 'handler',
  body: z.strictObject({
    tenant: tenantId.nullable().default(null).meta({ description: "Null: all tenants' events." }),
    url: webhookOptions.url,
    types: webhookOptions.types.default(null),
    path: webhookOptions.path.default(null),
    content: webhookOptions.content.default(false),
  }),
  status: 201,
  response: { description: 'The new webhook.', schema: webhookWithSecretSchema },
  errors: [
    noSuchTenant,
    needsHttps,
    new ServiceError('too_many_webhooks', MAX_WEBHOOKS),
    new ServiceError('change_log_off'),
  ],
  auditedTenant: ({ tenant }) => tenant ?? undefined,
  async run({ config, database, body: { tenant, ...options }, administrator, note }) {
    requireInScope(administrator.onlyTenants, tenant);
    requireTls({ config }, options.url);
    if (tenant !== null) await requireTenant(database, tenant);
    const { url, types, path: _, content } = options;
    const details = { origin: urlOrigin(url), types, content };
    note({ details });
    // The import is deferred because few commands read the feed.
    const { MessageSource } = await import('./messages.ts');
    const start = await new MessageSource(database).latest(tenant);
    const webhook = await new Webhooks(database).create(tenant, options, start);
    note({ details: { webhook: webhook.id, ...details } });
    return { ...webhookRecord(webhook), secret: webhook.secret };
  },
  location: ({ id }) => `/webhooks/${id}`,
});

export const getWebhook = defineOperation({
  id: 'getWebhook',
  method: 'GET',
  url: '/webhooks/:webhook',
  summary: 'Get a webhook',
  tag: 'webhooks',
  scope: 'handler',
  params,
  response: { description: 'The webhook.', schema: webhookSchema },
  errors: [noSuchWebhook],
  async run(call) {
    return webhookRecord(await findWebhook(call));
  },
});

export const updateWebhook = defineOperation({
  id: 'updateWebhook',
  method: 'PATCH',
  url: '/webhooks/:webhook',
  summary: 'Change, enable, or disable a webhook',
  description:
    'With `enabled: true`, a failing or disabled webhook continues immediately, after the last accepted message. Other fields keep it failing or disabled.',
  tag: 'webhooks',
  access: 'read_write',
  scope: 'handler',
  params,
  body: z
    .strictObject({ ...webhookOptions, enabled: z.boolean() })
    .partial()
    .refine((given) => Object.keys(given).length > 0, 'must have a field to change.'),
  response: { description: 'The webhook.', schema: webhookSchema },
  errors: [noSuchWebhook, needsHttps],
  async run(call) {
    const { config, database, body, administrator, note } = call;
    const before = await findWebhook(call);
    const options: WebhookOptions = {
      url: body.url ?? before.url,
      types: body.types === undefined ? before.types : body.types,
      path: body.path === undefined ? before.path : body.path,
      content: body.content ?? before.content,
    };
    requireTls({ config }, options.url);
    const { url, path: _, ...noted } = body;
    const isEnabled = before.disabledReason === null;
    const details = changedValues({ ...before, enabled: isEnabled }, noted);
    const origin = url === undefined ? {} : { origin: { old: urlOrigin(before.url), new: urlOrigin(url) } };
    note({ tenant: before.tenant ?? undefined, details: { webhook: before.id, ...origin, ...details } });
    const webhooks = new Webhooks(database);
    await webhooks.update(before.id, options, body.enabled ?? null);
    return webhookRecord(await webhooks.get(before.id, administrator.onlyTenants));
  },
});

export const deleteWebhook = defineOperation({
  id: 'deleteWebhook',
  method: 'DELETE',
  url: '/webhooks/:webhook',
  summary: 'Delete a webhook',
  tag: 'webhooks',
  access: 'read_write',
  scope: 'handler',
  params,
  status: 204,
  response: { description: 'Deleted.', schema: z.null() },
  errors: [noSuchWebhook],
  async run(call) {
    const { id, tenant } = await findWebhook(call);
    call.note({ tenant: tenant ?? undefined, details: { webhook: id } });
    await new Webhooks(call.database).delete(id);
    return null;
  },
});

export const rotateWebhookSecret = defineOperation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  url: '/webhooks/:webhook/rotate',
  summary: 'Give a webhook a new secret and show it once',
  description:
    'For `overlap_seconds`, each message has a signature with the previous secret too, so that the receiver can change its secret at any time.',
  tag: 'webhooks',
  access: 'read_write',
  scope: 'handler',
  params,
  body: z.strictObject({ overlap_seconds: overlapSeconds.default(24 * 60 * 60) }),
  response: { description: 'The webhook with its new secret.', schema: webhookWithSecretSchema },
  errors: [noSuchWebhook],
  async run(call) {
    const { database, body, note } = call;
    const { id, tenant } = await findWebhook(call);
    note({ tenant: tenant ?? undefined, details: { webhook: id, ...body } });
    const webhooks = new Webhooks(database);
    await webhooks.rotate(id, body.overlap_seconds);
    const webhook = await webhooks.get(id, null);
    return { ...webhookRecord(webhook), secret: webhook.secret };
  },
});

const status = z.int().nullable().meta({ description: 'HTTP status; null without a response.' });
const error = z.enum(DELIVERY_ERRORS).nullable().meta({ description: 'Null if the message was accepted.' });
const duration = z.int().min(0).meta({ description: 'Duration of the attempt, in milliseconds.' });

export const testWebhook = defineOperation({
  id: 'testWebhook',
  method: 'POST',
  url: '/webhooks/:webhook/test',
  summary: 'Send a test message now',
  description: 'The message has the type `webhook.test`. A disabled webhook receives it too.',
  tag: 'webhooks',
  access: 'read_write',
  scope: 'handler',
  params,
  response: {
    description: 'The result.',
    schema: z.object({ status, error, duration_ms: duration }).meta({ id: 'WebhookTest' }),
  },
  errors: [noSuchWebhook],
  async run(call) {
    const { config, database, note, signal } = call;
    const webhook = await findWebhook(call);
    note({ tenant: webhook.tenant ?? undefined, details: { webhook: webhook.id } });
    const { sendTest } = await import('./send-test.ts');
    const attempt = await sendTest(database, config, webhook, signal);
    return { status: attempt.status, error: attempt.error, duration_ms: attempt.durationMs };
  },
});

export const redeliverWebhook = defineOperation({
  id: 'redeliverWebhook',
  method: 'POST',
  url: '/webhooks/:webhook/redeliver',
  summary: 'Deliver again from a time, or skip messages up to a time',
  description:
    'Deliveries continue with the first change since then, within the history. Repeated messages have the same `webhook-id`.',
  tag: 'webhooks',
  access: 'read_write',
  scope: 'handler',
  params,
  body: z.strictObject({ since: givenTime }),
  response: { description: 'The webhook.', schema: webhookSchema },
  errors: [
    noSuchWebhook,
    new ServiceError('history_incomplete', 'acme', '2026-11-22T09:30:00.123456Z'),
    new ServiceError('log_begins_later', '2026-11-22T09:30:00.123456Z'),
    new ServiceError('change_log_off'),
  ],
  async run(call) {
    const { database, body, note } = call;
    const { id, tenant } = await findWebhook(call);
    const { since } = await readTimes(database, { since: body.since });
    note({ tenant: tenant ?? undefined, details: { webhook: id, since } });
    const { MessageSource } = await import('./messages.ts');
    const webhooks = new Webhooks(database);
    await webhooks.move(id, await new MessageSource(database).since(tenant, since));
    return webhookRecord(await webhooks.get(id, null));
  },
});

const deliverySchema = z
  .object({
    at: time,
    message_id: z.string().meta({ description: 'The header `webhook-id`, the same in each attempt.' }),
    type: z.string().meta({ examples: ['file.created'] }),
    tenant: tenantId.nullable(),
    status,
    error,
    duration_ms: duration,
  })
  .meta({ id: 'WebhookDelivery' });

export type DeliveryRecord = z.infer<typeof deliverySchema>;

function deliveryRecord({ at, messageId, type, tenant, durationMs, ...delivery }: Delivery): DeliveryRecord {
  return {
    at,
    message_id: messageId,
    type,
    tenant,
    status: delivery.status,
    error: delivery.error,
    duration_ms: durationMs,
  };
}

export const listWebhookDeliveries = defineOperation({
  id: 'listWebhookDeliveries',
  method: 'GET',
  url: '/webhooks/:webhook/deliveries',
  summary: 'List the attempts to deliver messages, newest first, a page at a time',
  description: 'The last 1,000 attempts, for up to 7 days, without contents and paths.',
  tag: 'webhooks',
  scope: 'handler',
  params,
  query: z.strictObject(pageFields(200, 50)),
  response: {
    description: 'A page.',
    schema: z.object({ deliveries: z.array(deliverySchema), next }),
  },
  errors: [noSuchWebhook],
  async run(call) {
    const {
      database,
      query: { limit, after },
    } = call;
    const position = readCursor(timePosition, after);
    const { id } = await findWebhook(call);
    const page = await new Webhooks(database).deliveries(id, position, limit);
    return { deliveries: page.rows.map(deliveryRecord), next: writeCursor(page.next) };
  },
});
