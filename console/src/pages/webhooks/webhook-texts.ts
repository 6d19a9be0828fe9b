import type { EventType, Webhook, WebhookTest } from '../../api/webhooks-api.ts';

/** Descriptions for the types of events. */
export const EVENTS: Record<EventType, string> = {
  created: 'File created',
  modified: 'File modified',
  renamed: 'File renamed',
  deleted: 'File deleted',
  restored: 'File restored',
  redacted: 'File redacted',
  tenant_created: 'Tenant created',
  tenant_suspended: 'Tenant suspended',
  tenant_resumed: 'Tenant resumed',
  tenant_deleted: 'Tenant deleted',
  tenant_renamed: 'Tenant renamed',
  limit_near: 'Limit nearly reached',
  draft_opened: 'Draft opened',
  draft_merged: 'Draft merged',
  draft_rejected: 'Draft rejected',
  share_created: 'Share created',
  share_ended: 'Share ended',
  key_created: 'Key created',
  key_revoked: 'Key revoked',
  job_ended: 'Job ended',
};

/** Events that may need an operator. */
export const ALERTS: EventType[] = ['limit_near', 'job_ended', 'draft_opened', 'tenant_suspended'];

const ERRORS: Record<NonNullable<WebhookTest['error']>, string> = {
  address_not_allowed: 'The address is not public. WEBHOOK_ALLOWED_ADDRESSES can allow it.',
  connection_failed: 'The connection failed.',
  name_not_resolved: 'The host name has no address.',
  redirected: 'The server responded with a redirect, which is not followed.',
  rejected: 'The server rejected the message.',
  timeout: 'The server did not respond in time.',
  tls_failed: 'The TLS connection failed. Check the certificate.',
};

export const DISABLED_BECAUSE: Record<
  Exclude<NonNullable<Webhook['disabled_reason']>, 'by_operator'>,
  string
> = {
  failing: 'The server accepted no message for three days.',
  gone: 'The server responded with 410, so it wants no more messages.',
};

/** Returns an attempt's result as a sentence. */
export function resultText({ status, error }: Pick<WebhookTest, 'status' | 'error'>): string {
  if (error === null) return `Accepted with status ${status}.`;
  return status === null ? ERRORS[error] : `${ERRORS[error]} Its status was ${status}.`;
}

/** Describes the messages that a webhook sends. */
export function messagesText({ types, path, content }: Webhook): string {
  const parts = [
    types === null ? 'All events' : types.map((type) => EVENTS[type]).join(', '),
    typeof path === 'string' && `at or below ${path}`,
    content && 'with contents',
  ];
  return parts.filter(Boolean).join(', ');
}

/** Returns a URL without its query, which may contain a secret. */
export const urlText = (url: string) => url.replace(/\?.*$/s, '?…');
