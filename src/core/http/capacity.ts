import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import type { Slot } from '../lib/concurrency-limiter.ts';
import { Deadlines } from '../lib/deadlines.ts';
import { RequestLimiter } from '../tenants/request-limiter.ts';
import { disconnectSignal } from './access-log.ts';

/**
 * Maximum number of requests that wait for a slot, or for memory for their bodies. The waiting requests' bytes are
 * limited too.
 */
const MAX_WAITING = 1000;
/**
 * Minimum number of bytes counted for a request: its headers, objects, and a small body. The minimum limits how many
 * bodies are read at the same time.
 */
export const REQUEST_BYTES = 16 * 1024;
/** Maximum share of `MAX_IN_FLIGHT_BYTES` that one tenant may use. */
const TENANT_SHARE_OF_BYTES = 1 / 4;

/** A request counts one unit, plus one unit for each part of its body with this size. */
const UNIT_BYTES = 8 * 1024;
/**
 * Maximum number of units for one request. With the default limits, two requests of this size run at the same time for
 * a tenant.
 */
const MAX_UNITS = 16;

declare module 'fastify' {
  interface FastifyRequest {
    /** The capacity that the request uses. Set only on routes behind the concurrency-limit plugin. */
    inFlight: InFlightRequest | undefined;
  }
}

/** The limits on requests in flight, and on the bytes in their bodies and responses. */
export class Capacity {
  readonly requests: RequestLimiter;
  readonly bytes: RequestLimiter;
  /** Maximum number of bytes that one tenant may use. 0 means no limit. */
  readonly bytesOfTenant: number;
  readonly deadlines = new Deadlines();
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
 * The slot and bytes that one request uses. The slot is released when the response has been sent and the work is done,
 * because work continues after a disconnect or a timeout. The bytes are released when the connection has also sent the
 * response or is closed. A slow reader therefore uses counted memory but no slot.
 */
export class InFlightRequest {
  readonly #capacity: Capacity;
  /** The right to execute the request. Work that waits for another limit releases the slot in the meantime. */
  readonly slot: Slot;
  readonly bytes: Slot;
  #hasResponse = false;
  /** Bytes reserved for the response before it exists, and then its actual bytes. */
  #responseBytes = 0;
  #isClosed = false;
  #isWorking = false;
  readonly #reply: FastifyReply;
  #gone: AbortSignal | undefined;

  /** @throws ServiceError 499 if the client has disconnected */
  constructor(capacity: Capacity, tenant: string, request: FastifyRequest, reply: FastifyReply) {
    if (reply.raw.destroyed) throw new ServiceError('client_gone');
    this.#capacity = capacity;
    this.#reply = reply;
    this.slot = capacity.requests.slot(tenant);
    this.bytes = capacity.bytes.slot(tenant);
    request.onClose.push(() => {
      this.#isClosed = true;
      this.#releaseIfDone();
    });
  }

  /** Aborts when the client disconnects. */
  get closedSignal(): AbortSignal {
    this.#gone ??= disconnectSignal(this.#reply.request, this.#reply);
    return this.#gone;
  }

  /** Replaces the bytes reserved for the response with the size of the response that is about to be sent. */
  countResponse(bytes: number): void {
    this.bytes.replace(this.#responseBytes, bytes);
    this.#responseBytes = bytes;
    this.#hasResponse = true;
    this.#releaseIfDone();
  }

  /**
   * Acquires the slot, after memory for the response, because a request must not use a slot while it waits for memory.
   *
   * @returns undefined if the request did not have to wait
   */
  takeSlot(responseBytes: number): Promise<void> | undefined {
    const bodyBytes = this.bytes.units - REQUEST_BYTES;
    const units = Math.min(MAX_UNITS, 1 + Math.floor(bodyBytes / UNIT_BYTES));
    const waiting = this.reserveResponse(responseBytes);
    return waiting ? waiting.then(() => this.slot.acquire(units)) : this.slot.acquire(units);
  }

  /**
   * Waits until memory for a response is available. If the request has a slot, other requests can use the slot in the
   * meantime.
   *
   * @returns undefined if the memory was available
   * @throws (also through the promise) ServiceError 429 or 503 if no memory becomes available in time
   */
  reserveResponse(bytes: number): Promise<void> | undefined {
    const { bytesOfTenant } = this.#capacity;
    const wanted = bytesOfTenant === 0 ? bytes : Math.min(bytes, bytesOfTenant);
    if (wanted <= this.#responseBytes) return undefined;
    // A deadlock is possible if requests keep a part while they wait for the rest.
    this.bytes.releaseUnits(this.#responseBytes);
    this.#responseBytes = 0;
    const waiting = this.bytes.acquire(wanted);
    const count = () => {
      this.#responseBytes = wanted;
    };
    if (waiting) return this.slot.runWithout(() => waiting).then(count);
    count();
    return undefined;
  }

  /**
   * Runs work for the request in a slot and until its deadline. Call this method after the body has been read, so that
   * a slow upload uses no slot. A response or a closed connection releases capacity only after the work is done.
   * Fastify's `handlerTimeout` cannot limit the work, because it ends when the body has been read (Node then closes the
   * request).
   *
   * @param responseBytes the maximum expected response size
   * @throws (also through the promise) ServiceError 429 or 503 if no slot becomes available, and 503 if the work
   *   exceeds its deadline; the work then continues, and its outcome is dropped
   */
  work<T>(responseBytes: number, work: () => Promise<T>): Promise<T> {
    const waiting = this.takeSlot(responseBytes);
    return waiting ? waiting.then(() => this.#untilDeadline(work)) : this.#untilDeadline(work);
  }

  #untilDeadline<T>(work: () => Promise<T>): Promise<T> {
    const { deadlines, timeoutMs } = this.#capacity;
    this.#isWorking = true;
    return new Promise((resolve, reject) => {
      const deadline = deadlines.start(timeoutMs, () => reject(new ServiceError('timeout')));
      const end = () => {
        deadlines.clear(deadline);
        this.#isWorking = false;
        this.#releaseIfDone();
      };
      work().then(
        (result) => {
          end();
          resolve(result);
        },
        (error) => {
          end();
          reject(error);
        },
      );
    });
  }

  #releaseIfDone(): void {
    if (this.#isWorking) return;
    if (this.#hasResponse || this.#isClosed) this.slot.release();
    if (this.#isClosed) this.bytes.release();
  }
}

/** @throws Error if the route has no concurrency limit */
export function requireInFlight({ inFlight }: FastifyRequest): InFlightRequest {
  if (inFlight === undefined) throw new Error('The route is not behind the concurrency-limit plugin.');
  return inFlight;
}
