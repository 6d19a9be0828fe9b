import { createHash } from 'node:crypto';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import type { ChangeEvent } from '../feed/change-event.ts';
import { Changes, parseStart } from '../feed/changes.ts';
import { beginFleet, readFleetEvents } from '../feed/fleet-events.ts';
import { FleetLog } from '../feed/fleet-log.ts';
import { readEvents } from '../feed/read-events.ts';
import type { DeliveredWebhook } from './webhooks.ts';

/** A message to an endpoint, as the Standard Webhooks specification defines it. */
export interface Message {
  /** The same in each attempt. Receivers recognize repeated messages by it. */
  id: string;
  tenant: string | null;
  payload: { type: string; timestamp: string; data: object };
  /** Position in the change feed after the message. */
  cursor: string;
}

export interface MessagePage {
  messages: Message[];
  /** Position after the page. */
  cursor: string;
  hasMore: boolean;
  /** Whether the page has one message, which says that changes were lost. */
  isGap: boolean;
}

/** Maximum number of events in a page. With contents, a page has at most one mebibyte. */
const MAX_EVENTS = 100;

/** Reads an endpoint's messages from the change feed. */
export class MessageSource {
  readonly #database: Database;
  readonly #log: FleetLog;

  constructor(database: Database) {
    this.#database = database;
    this.#log = new FleetLog(database);
  }

  /**
   * Returns the position after the latest change.
   *
   * @param tenant null for all tenants
   * @throws ServiceError 409 for all tenants while the change log is off
   */
  async latest(tenant: string | null): Promise<string> {
    return encodeCursor(
      tenant === null
        ? await beginFleet(this.#log, 'now')
        : await new Changes(this.#database).begin(tenant, 'now'),
    );
  }

  /**
   * Returns a position before all changes since a time.
   *
   * @throws ServiceError 409 if the history or the log begins later
   */
  async since(tenant: string | null, time: string): Promise<string> {
    if (tenant === null) {
      const log = await this.#log.before(time);
      if (log !== undefined) return encodeCursor({ log, event: null });
      const oldest = await this.#log.oldest();
      if (oldest === undefined) throw new ServiceError('change_log_off');
      throw new ServiceError('log_begins_later', oldest[0]);
    }
    const start = await new Changes(this.#database).begin(tenant, 'history');
    if (time < start.time) throw new ServiceError('history_incomplete', tenant, start.time);
    return encodeCursor({ ...start, time });
  }

  /**
   * Reads the messages after an endpoint's position. If changes were lost, the page is a gap, and the next page begins
   * after the latest change.
   *
   * @throws ServiceError 409 if all tenants' changes were lost because the change log is off
   * @throws DatabaseError
   */
  async read(webhook: DeliveredWebhook): Promise<MessagePage> {
    try {
      const { events, cursor, hasMore } = await this.#events(webhook);
      const messages = events.map((event) => eventMessage(webhook.id, event));
      return { messages, cursor: encodeCursor(cursor), hasMore, isGap: false };
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'changes_expired')) throw error;
      const cursor = await this.latest(webhook.tenant);
      const message = controlMessage('webhook.gap', webhook, cursor);
      return { messages: [message], cursor, hasMore: true, isGap: true };
    }
  }

  async #events(webhook: DeliveredWebhook) {
    const { tenant, cursor: start, types, path, content } = webhook;
    const options = { limit: MAX_EVENTS, content, types: types ?? undefined, path: path ?? undefined };
    const changes = new Changes(this.#database);
    if (tenant === null) {
      const position = await beginFleet(this.#log, start);
      const source = { database: this.#database, log: this.#log, tenants: changes };
      return readFleetEvents(source, position, { ...options, tenants: undefined });
    }
    const position = await changes.begin(tenant, parseStart(start));
    return readEvents(this.#database, tenant, position, options);
  }
}

/** An event's ID does not depend on the page in which the event is read, unlike its cursor in all tenants' changes. */
function eventMessage(webhook: string, event: ChangeEvent): Message {
  const { tenant, type, at, cursor } = event;
  const id = messageId(webhook, tenant, type, at, subjectId(event));
  const name = 'version' in event ? `file.${type}` : type.replace('_', '.');
  return { id, tenant, payload: { type: name, timestamp: at, data: event }, cursor };
}

function subjectId(event: ChangeEvent): string {
  if ('version' in event) return event.version.id;
  if ('draft' in event) return event.draft.id;
  if ('job' in event) return event.job.id;
  return 'key' in event ? event.key.id : '';
}

/** Creates a message about the endpoint itself. */
export function controlMessage(
  type: 'webhook.test' | 'webhook.gap',
  webhook: Pick<DeliveredWebhook, 'id' | 'tenant' | 'cursor'>,
  cursor: string,
  time = new Date().toISOString(),
): Message {
  const { id, tenant, cursor: position } = webhook;
  const detail =
    type === 'webhook.gap'
      ? 'Changes were lost, because they are no longer in the history. Read all files once.'
      : 'This message is a test.';
  const unique = type === 'webhook.test' ? time : position;
  const data = { webhook: id, tenant, detail };
  return { id: messageId(id, type, unique), tenant, payload: { type, timestamp: time, data }, cursor };
}

function messageId(...parts: (string | null)[]): string {
  return `msg_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}
