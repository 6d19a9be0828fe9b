import type { FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { ConcurrencyLimiter, clientGone, type Slot } from '../util/concurrency-limiter.ts';
import { type Deadline, Deadlines } from '../util/deadlines.ts';
import { MIN_TRANSFER_BYTES, REQUEST_BYTES } from './transfer-limits.ts';

/** How many requests wait for a slot, or for room for their bodies. What waits is bounded by its bytes too. */
const MAX_WAITING = 1000;
/** The part of `MAX_IN_FLIGHT_BYTES` that one tenant may have. */
const TENANT_SHARE_OF_BYTES = 1 / 4;

/** A request counts one unit for each such part of its body and of the answer that is expected, and one for itself. */
const UNIT_BYTES = 8 * 1024;
/** The most that a request counts: two such requests of a tenant are worked on at once, with the default limits. */
const MAX_UNITS = 16;
const REMEMBERED_TENANTS = 10_000;

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request holds of the service's capacity; set by `onRequest` of routes that are limited. */
    inFlight: InFlightRequest | undefined;
  }
}

/** The service's capacity: requests that are worked on, and bytes of bodies and answers. */
export class InFlight {
  readonly requests: ConcurrencyLimiter;
  readonly bytes: ConcurrencyLimiter;
  readonly deadlines = new Deadlines();
  /** How large a tenant's answers have been of late, in bytes: large ones keep the event loop from other tenants. */
  readonly #answerSizes = new LRUCache<string, number>({ max: REMEMBERED_TENANTS });

  constructor(
    config: Pick<
      Config,
      'MAX_IN_FLIGHT' | 'MAX_IN_FLIGHT_PER_TENANT' | 'MAX_IN_FLIGHT_BYTES' | 'MAX_QUEUE_MS'
    >,
  ) {
    const waiting = { maxWaiting: MAX_WAITING, maxWaitMs: config.MAX_QUEUE_MS };
    this.requests = new ConcurrencyLimiter({
      total: config.MAX_IN_FLIGHT,
      perTenant: config.MAX_IN_FLIGHT_PER_TENANT,
      ...waiting,
    });
    this.bytes = new ConcurrencyLimiter({
      total: config.MAX_IN_FLIGHT_BYTES,
      perTenant: Math.ceil(config.MAX_IN_FLIGHT_BYTES * TENANT_SHARE_OF_BYTES),
      ...waiting,
    });
  }

  /** What a request is expected to cost, in units of `requests`. */
  unitsFor(tenant: string, bodyBytes: number): number {
    const bytes = bodyBytes + (this.#answerSizes.get(tenant) ?? 0);
    return Math.min(MAX_UNITS, 1 + Math.floor(bytes / UNIT_BYTES));
  }

  noteAnswer(tenant: string, bytes: number): void {
    const average = this.#answerSizes.get(tenant) ?? bytes;
    this.#answerSizes.set(tenant, average + (bytes - average) / 4);
  }
}

/**
 * What one request holds, given back when its connection has taken the answer (or is closed) and the work for it is done:
 * work goes on when the client has gone or the handler has timed out.
 */
export class InFlightRequest {
  readonly #inFlight: InFlight;
  #request: Slot | undefined;
  #bytes: Slot | undefined;
  #deadline: Deadline | undefined;
  #isClosed = false;
  #isWorking = false;

  constructor(inFlight: InFlight, reply: FastifyReply) {
    this.#inFlight = inFlight;
    reply.raw.once('close', () => {
      this.#isClosed = true;
      this.#deadline?.clear();
      this.#releaseIfDone();
    });
  }

  /** @throws ServiceError 499 when the client has gone in the meantime. */
  enter(tenant: string): void {
    if (this.#isClosed) throw clientGone();
    this.#request = this.#inFlight.requests.slot(tenant);
    this.#bytes = this.#inFlight.bytes.slot(tenant);
  }

  /** @throws Error before `enter`. */
  get bytes(): Slot {
    return entered(this.#bytes);
  }

  /** Limits the time for what the request does next, in the place of an earlier limit; `onExpired` is not called once it has ended. */
  limitTime(ms: number, onExpired: () => void): void {
    this.#deadline?.clear();
    if (!this.#isClosed) this.#deadline = this.#inFlight.deadlines.start(ms, onExpired);
  }

  endTimeLimit(): void {
    this.#deadline?.clear();
  }

  /** Counts an answer, which is in memory already. */
  addAnswer(bytes: number): void {
    if (this.#bytes === undefined) return;
    this.#bytes.add(bytes);
    this.#inFlight.noteAnswer(this.#bytes.tenant, bytes);
  }

  /**
   * Takes the slot, and waits for it if need be; see `Slot.acquire`. To be called when the body has been read, so that nobody holds a
   * slot while a body trickles in.
   */
  takeSlot(): Promise<void> | undefined {
    this.endTimeLimit();
    const { tenant, units } = this.bytes;
    return entered(this.#request).acquire(this.#inFlight.unitsFor(tenant, units - REQUEST_BYTES));
  }

  /** From now on, closing the connection does not release the slots. */
  startWork(): void {
    this.#isWorking = true;
  }

  endWork(): void {
    this.#isWorking = false;
    this.#releaseIfDone();
  }

  #releaseIfDone(): void {
    if (!this.#isClosed || this.#isWorking) return;
    this.#request?.release();
    this.#bytes?.release();
  }
}

/** @throws Error before the route's `onRequest`. */
export function inFlightOf({ inFlight }: FastifyRequest): InFlightRequest {
  if (inFlight === undefined) throw new Error('The request is not counted yet.');
  return inFlight;
}

function entered(slot: Slot | undefined): Slot {
  if (slot === undefined) throw new Error('The request has no tenant yet.');
  return slot;
}

/**
 * Counts the answer until the client has taken it, and closes the connection of a client that takes too long.
 *
 * @param transferTimeoutMs for each `MIN_TRANSFER_BYTES` of the answer
 */
export function watchAnswer(transferTimeoutMs: number): onSendHookHandler<unknown> {
  return ({ inFlight }, { raw }, payload, done) => {
    const size = typeof payload === 'string' ? Buffer.byteLength(payload) : 0;
    inFlight?.addAnswer(size);
    // Behind an earlier answer on the same connection there is no socket yet, and that one's limit holds.
    if (raw.socket) {
      const parts = Math.max(1, Math.ceil(size / MIN_TRANSFER_BYTES));
      inFlight?.limitTime(parts * transferTimeoutMs, () => raw.destroy());
    }
    done();
  };
}
