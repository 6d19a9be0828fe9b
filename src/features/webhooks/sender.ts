import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { databaseTime } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { DAY_MS } from '../../core/lib/units.ts';
import { ChangeNotices } from './change-notices.ts';
import { type Message, type MessagePage, MessageSource } from './messages.ts';
import { type Attempt, Receiver, type ReceiverOptions } from './receiver.ts';
import { beginTurns, endTurn, hasWebhooks, LEASE_MS, type TurnEnd } from './turns.ts';
import { type DeliveredWebhook, type Delivery, Webhooks } from './webhooks.ts';

/** Maximum number of endpoints to which a replica delivers at the same time. */
const MAX_TURNS = 16;
/** Interval in which a replica that is delivering looks for more endpoints. */
const CLAIM_MS = 1000;
/** Time after which a turn sends no further message. With the last message's timeout, it ends before its lease. */
const TURN_MS = LEASE_MS / 6;
/** Time until an endpoint without changes is read again, with and without change notices. */
const IDLE_MS = 60_000;
const UNNOTICED_MS = 2000;
const FIRST_RETRY_MS = 5000;
const MAX_RETRY_MS = 4 * 60 * 60_000;
/** Time after which an endpoint that accepts no message is disabled. */
const MAX_FAILING_MS = 3 * DAY_MS;
/** The receiver no longer wants messages. */
const GONE = 410;

export interface SenderOptions extends ReceiverOptions {
  /** Database time by default. */
  clock?: () => Promise<Date>;
  /** Receives an endpoint that has just been disabled. */
  onDisabled?: (webhook: DeliveredWebhook, reason: string) => void;
  /** Receives unexpected errors from a turn. */
  onFault?: (webhook: DeliveredWebhook, error: unknown) => void;
}

/** A turn's deliveries, and the position after the last accepted message. */
interface Progress {
  deliveries: Omit<Delivery, 'id'>[];
  cursor: string;
  /** The attempt that was not accepted. */
  failure?: Pick<Attempt, 'status' | 'retryAfterMs'>;
  /** Whether a message was accepted. */
  isAccepted: boolean;
  hasMore: boolean;
  isGap: boolean;
}

/**
 * Delivers messages to the endpoints that are due, each endpoint's messages in order, one at a time. An endpoint that
 * fails is tried again from the first message that it has not accepted. Any number of replicas may run a sender.
 */
export class Sender {
  readonly #database: Database;
  readonly #options: SenderOptions;
  readonly #source: MessageSource;
  readonly #webhooks: Webhooks;
  readonly #clock: () => Promise<Date>;
  readonly #notices: ChangeNotices;
  readonly #holder = randomUUID();
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(database: Database, options: SenderOptions) {
    this.#database = database;
    this.#options = options;
    this.#source = new MessageSource(database);
    this.#webhooks = new Webhooks(database);
    this.#notices = new ChangeNotices(database);
    this.#clock = options.clock ?? (() => databaseTime(database));
  }

  /** Delivers until no endpoint is due. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const limit = MAX_TURNS - this.#running.size;
      if (limit > 0) for (const webhook of await this.#beginTurns(limit)) this.#start(webhook);
      if (this.#running.size === 0) return;
      await Promise.race([...this.#running, delay(CLAIM_MS, undefined, { ref: false })]);
    }
  }

  /** Aborts the attempts that are being made. Another replica can continue immediately. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  async #beginTurns(limit: number): Promise<DeliveredWebhook[]> {
    if (!(await hasWebhooks(this.#database))) {
      this.#notices.reset();
      return [];
    }
    const now = (await this.#clock()).toISOString();
    await this.#notices.read(now);
    return beginTurns(this.#database, { holder: this.#holder, now, limit });
  }

  #start(webhook: DeliveredWebhook): void {
    const running = this.#turn(webhook)
      .catch((error: unknown) => this.#options.onFault?.(webhook, error))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #turn(webhook: DeliveredWebhook): Promise<void> {
    const progress = await this.#deliver(webhook);
    const now = await this.#clock();
    await this.#webhooks.recordDeliveries(webhook.id, progress.deliveries);
    const idleMs = this.#notices.areOn ? IDLE_MS : UNNOTICED_MS;
    const end = nextState(webhook, progress, { now, idleMs });
    await endTurn(this.#database, webhook, this.#holder, end);
    if (end.disabledReason !== null) this.#options.onDisabled?.(webhook, end.disabledReason);
  }

  async #deliver(webhook: DeliveredWebhook): Promise<Progress> {
    const progress: Progress = {
      deliveries: [],
      cursor: webhook.cursor,
      isAccepted: false,
      hasMore: true,
      isGap: false,
    };
    const start = { at: (await this.#clock()).getTime(), local: performance.now() };
    const elapsedMs = () => performance.now() - start.local;
    const page = await this.#read(webhook);
    if (page === undefined) return { ...progress, failure: { status: null, retryAfterMs: 0 } };
    progress.isGap = page.isGap;
    const receiver = new Receiver(webhook, this.#options);
    try {
      for (const message of page.messages) {
        if (elapsedMs() > TURN_MS) return progress;
        const at = new Date(start.at + elapsedMs()).toISOString();
        const attempt = await receiver.send(message, this.#stopping.signal);
        if (this.#stopping.signal.aborted && attempt.status === null) return progress;
        progress.deliveries.push(toDelivery(message, attempt, at));
        if (attempt.error !== null) return { ...progress, failure: attempt };
        progress.cursor = message.cursor;
        progress.isAccepted = true;
      }
    } finally {
      receiver.close();
    }
    return { ...progress, cursor: page.cursor, hasMore: page.hasMore };
  }

  /** Returns undefined while the change log is off. */
  async #read(webhook: DeliveredWebhook): Promise<MessagePage | undefined> {
    try {
      return await this.#source.read(webhook);
    } catch (error) {
      if (error instanceof ServiceError) return undefined;
      throw error;
    }
  }
}

export function toDelivery(
  { id, payload, tenant }: Message,
  { status, error, durationMs }: Attempt,
  at: string,
): Omit<Delivery, 'id'> {
  return { at, messageId: id, type: payload.type, tenant, status, error, durationMs };
}

function nextState(
  webhook: DeliveredWebhook,
  progress: Progress,
  { now, idleMs }: { now: Date; idleMs: number },
): TurnEnd {
  const { cursor, failure, isAccepted, hasMore, isGap } = progress;
  const after = (ms: number) => new Date(now.getTime() + ms).toISOString();
  const state = { cursor, gapAt: isGap && isAccepted ? after(0) : webhook.gapAt };
  if (failure === undefined) {
    // A turn that was stopped before its first attempt changes nothing.
    const { failingSince, failures } = hasMore && !isAccepted ? webhook : { failingSince: null, failures: 0 };
    return {
      ...state,
      disabledReason: null,
      failingSince,
      failures,
      nextAttemptAt: after(hasMore ? 0 : idleMs),
    };
  }
  const since = isAccepted ? null : webhook.failingSince;
  const failures = isAccepted ? 1 : webhook.failures + 1;
  const isTooLong = since !== null && now.getTime() - Date.parse(since) >= MAX_FAILING_MS;
  return {
    ...state,
    disabledReason: failure.status === GONE ? 'gone' : isTooLong ? 'failing' : null,
    failingSince: since ?? after(0),
    failures,
    nextAttemptAt: after(retryDelay(failures, failure.retryAfterMs)),
  };
}

/** Doubles the delay with each failure, with up to a quarter more so that endpoints drift apart. */
function retryDelay(failures: number, retryAfterMs: number): number {
  const backoff = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS) * (1 + Math.random() / 4);
  return Math.max(backoff, Math.min(retryAfterMs, DAY_MS));
}
