import { type ApiRequest, patch, post, remove, sendJson, sendRequest } from './api-client.ts';
import type { Webhook, WebhookDelivery, WebhookTest } from './schema.ts';

export type { Webhook, WebhookDelivery, WebhookTest } from './schema.ts';

export type EventType = NonNullable<Webhook['types']>[number];
export type NewWebhook = Pick<Webhook, 'tenant' | 'url' | 'types' | 'content'> & { path: string | null };

const webhookPath = (id: string, rest = '') => `webhooks/${encodeURIComponent(id)}${rest}`;

/** @param tenant null for all webhooks that the session may see */
export const listWebhooks = async (tenant: string | null, signal: AbortSignal) =>
  (await sendJson<{ webhooks: Webhook[] }>('webhooks', { query: { tenant }, signal })).webhooks;

export const webhookCreation = (json: NewWebhook) => post('webhooks', json);

export const webhookSwitch = (id: string, enabled: boolean) => patch(webhookPath(id), { enabled });

export const secretRotation = (id: string, overlap_seconds: number) =>
  post(webhookPath(id, '/rotate'), { overlap_seconds });

/** Continues a webhook with the first change since a time. */
export const redelivery = (id: string, since: string) => post(webhookPath(id, '/redeliver'), { since });

export const webhookDeletion = (id: string) => remove(webhookPath(id));

/** Sends a request that creates a secret, and returns the secret. */
export const sendForSecret = async (request: ApiRequest) =>
  (await sendRequest<{ secret: string }>(request)).secret;

export const testWebhook = (id: string, signal: AbortSignal) =>
  sendJson<WebhookTest>(webhookPath(id, '/test'), { method: 'POST', signal });

export const listDeliveries = (id: string, after: string | null, signal: AbortSignal) =>
  sendJson<{ deliveries: WebhookDelivery[]; next: string | null }>(webhookPath(id, '/deliveries'), {
    query: { after, limit: 50 },
    signal,
  });
