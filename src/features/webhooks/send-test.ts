import type { Config } from '../../core/config.ts';
import { databaseInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { controlMessage } from './messages.ts';
import { type Attempt, Receiver } from './receiver.ts';
import { toDelivery } from './sender.ts';
import { type DeliveredWebhook, Webhooks } from './webhooks.ts';

/** Sends a test message to an endpoint, and records the delivery. */
export async function sendTest(
  database: Database,
  { WEBHOOK_ALLOWED_ADDRESSES: allowed = [] }: Config,
  webhook: DeliveredWebhook,
  signal: AbortSignal,
): Promise<Attempt> {
  const receiver = new Receiver(webhook, { allowed });
  try {
    const at = await databaseInstant(database);
    const message = controlMessage('webhook.test', webhook, webhook.cursor, at);
    const attempt = await receiver.send(message, signal);
    await new Webhooks(database).recordDeliveries(webhook.id, [toDelivery(message, attempt, at)]);
    return attempt;
  } finally {
    receiver.close();
  }
}
