import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import type { Slot } from '../lib/concurrency-limiter.ts';
import { Deadlines } from '../lib/deadlines.ts';
import { RequestLimiter } from '../tenants/request-limiter.ts';
import { disconnectSignal } from './access-log.ts';

/** How many requests wait for a slot, or for room for their bodies. What waits is bounded by its bytes too. */
const MAX_WAITING = 1000;
/**
 * Bytes that every request counts at least, for its headers, objects, and a small body. This bounds how many bodies
 * are read at once.
 */
export const REQUEST_BYTES = 16 * 1024;
/** The part of `MAX_IN_FLIGHT_BYTES` that one tenant may have. */
const TENANT_SHARE_OF_BYTES = 1 / 4;

/** A request counts one unit for each such part of its body, and one for itself. */
const UNIT_BYTES = 8 * 1024;
/** The most that a request counts: two such requests of a tenant are worked on at once, with the default limits. */
const MAX_UNITS = 16;

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request holds of the service's capacity; set for routes behind the concurrency-limit plugin. */
    inFlight: InFlightRequest | undefined;
  }
}

/** The service's capacity: requests in flight, and bytes of bodies and responses. */
export class Capacity {
  readonly requests: RequestLimiter;
  readonly bytes: RequestLimiter;
  /** The part of the bytes that one tenant may have; 0: no limit. */
  readonly bytesOfTenant: number;
  readonly deadlines = new Deadlines();
  /** How long a request may be worked on. */
  readonly timeoutMs: number;

  constructor(
    config: Pick<
      Config,
      | 'MAX_IN_FLIGHT'
      | 'MAX_IN_FLIGHT_PER_TENANT'
      | 'MAX_IN_FLIGHT_BYTES'
      | 'MAX_QUEUE_MS'
      | 'HANDLER_TIMEOUT_MS'
    >,
  ) {
    this.timeoutMs = config.HANDLER_TIMEOUT_MS;
    const waiting = { maxWaiting: MAX_WAITING, maxWaitMs: config.MAX_QUEUE_MS };
    this.requests = new RequestLimiter({
      total: config.MAX_IN_FLIGHT,
      perKey: config.MAX_IN_FLIGHT_PER_TENANT,
      ...waiting,
    });
    this.bytesOfTenant = Math.ceil(config.MAX_IN_FLIGHT_BYTES * TENANT_SHARE_OF_BYTES);
    this.bytes = new RequestLimiter({
      total: config.MAX_IN_FLIGHT_BYTES,
      perKey: this.bytesOfTenant,
      ...waiting,
    });
  }
}

/**
 * What one request holds. Its slot is released once the response is sent and the work for it is done: work goes on
 * when the client has gone or the handler has timed out. Its bytes are released when the connection has taken the
 * response too, or is closed. So whoever reads slowly holds memory, which is counted, but no slot.
 */
export class InFlightRequest {
  readonly #capacity: Capacity;
  /** Work that waits for a limit of its own runs without the slot. */
  readonly slot: Slot;
  readonly bytes: Slot;
  #hasResponse = false;
  /** Bytes of the response, reserved before it is made. */
  #responseBytes = 0;
  #isClosed = false;
  #isWorking = false;
  readonly #reply: FastifyReply;
  #gone: AbortSignal | undefined;

  /** @throws ServiceError 499 when the client has gone. */
  constructor(capacity: Capacity, tenant: string, reply: FastifyReply) {
    if (reply.raw.destroyed) throw new ServiceError('client_gone');
    this.#capacity = capacity;
    this.#reply = reply;
    this.slot = capacity.requests.slot(tenant);
    this.bytes = capacity.bytes.slot(tenant);
    reply.raw.once('close', () => {
      this.#isClosed = true;
      this.#releaseIfDone();
    });
  }

  /** Is aborted when the client leaves. */
  get gone(): AbortSignal {
    this.#gone ??= disconnectSignal(this.#reply.request, this.#reply);
    return this.#gone;
  }

  /** Counts the response, which is in memory and about to be sent, instead of what was reserved for it. */
  countResponse(bytes: number): void {
    this.bytes.replace(this.#responseBytes, bytes);
    this.#responseBytes = bytes;
    this.#hasResponse = true;
    this.#releaseIfDone();
  }

  /**
   * Takes the slot once the body is read, so that nobody holds a slot while a body trickles in; see `Slot.acquire`.
   *
   * @param responseBytes the most that the response is expected to have: reserved first, since a request that waits
   *   for room holds no slot
   */
  async takeSlot(responseBytes: number): Promise<void> {
    const bodyBytes = this.bytes.units - REQUEST_BYTES;
    await this.reserveResponse(responseBytes);
    await this.slot.acquire(Math.min(MAX_UNITS, 1 + Math.floor(bodyBytes / UNIT_BYTES)));
  }

  /**
   * Waits for room for a response before it is made. The slot, if the request has it, is free for others meanwhile.
   *
   * @throws ServiceError 429 or 503 when there is no room in time
   */
  async reserveResponse(bytes: number): Promise<void> {
    const { bytesOfTenant } = this.#capacity;
    const wanted = bytesOfTenant === 0 ? bytes : Math.min(bytes, bytesOfTenant);
    if (wanted <= this.#responseBytes) return;
    // Requests that keep a part while they wait for the rest could block one another.
    this.bytes.giveBack(this.#responseBytes);
    this.#responseBytes = 0;
    const waiting = this.bytes.acquire(wanted);
    if (waiting) await this.slot.runWithout(() => waiting);
    this.#responseBytes = wanted;
  }

  /**
   * Works for the request, in a slot and until its deadline. Until the work is done, neither a response nor closing
   * the connection releases anything. Fastify's own `handlerTimeout` ends when the body has been read (Node closes
   * the request then), so it bounds nothing here.
   *
   * @param responseBytes the most that the response is expected to have
   * @throws ServiceError 429 or 503 when there is no slot, and 503 when the work is not done in time; it goes on, and
   *   its outcome is dropped.
   */
  async work<T>(responseBytes: number, work: () => Promise<T>): Promise<T> {
    await this.takeSlot(responseBytes);
    const { deadlines, timeoutMs } = this.#capacity;
    this.#isWorking = true;
    return new Promise((resolve, reject) => {
      const deadline = deadlines.start(timeoutMs, () => reject(new ServiceError('timeout')));
      work()
        .finally(() => {
          deadlines.clear(deadline);
          this.#isWorking = false;
          this.#releaseIfDone();
        })
        .then(resolve, reject);
    });
  }

  #releaseIfDone(): void {
    if (this.#isWorking) return;
    if (this.#hasResponse || this.#isClosed) this.slot.release();
    if (this.#isClosed) this.bytes.release();
  }
}

/** @throws Error for a route without a concurrency limit. */
export function inFlightOf({ inFlight }: FastifyRequest): InFlightRequest {
  if (inFlight === undefined) throw new Error('The route is not behind the concurrency-limit plugin.');
  return inFlight;
}
