import rateLimiter, { type FastifyRateLimitStore } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors/errors.ts';
import { maxEntries } from '../lib/max-entries.ts';
import { countedTenant, requireContext } from './authentication.ts';
import { type Capacity, InFlightRequest, REQUEST_BYTES, requireInFlight } from './capacity.ts';
import { bytesInMemory } from './slow-clients.ts';

/**
 * Counts requests to the routes registered after this plugin, with the bytes in their bodies and responses. The handler
 * acquires a slot with `InFlightRequest.work`, after the body has been read.
 */
export const concurrencyLimit = fp<{ capacity: Capacity }>(
  async (app, { capacity }) => {
    app.decorateRequest('inFlight');
    app.addHook('onRequest', (request, reply, done) => {
      const context = requireContext(request);
      request.inFlight = new InFlightRequest(capacity, countedTenant(context), request, reply);
      const waiting = countBody(request, reply, context.policy.maxBodyBytes);
      if (waiting) waiting.then(() => done(), done);
      else done();
    });
    app.addHook('onSend', (request, _reply, payload, done) => {
      request.inFlight?.countResponse(bytesInMemory(payload));
      done();
    });
  },
  { name: 'concurrency-limit', dependencies: ['authentication', 'slow-clients'] },
);

/**
 * Counts a body's bytes as they arrive, and pauses the body while the service lacks capacity. Rejects a body that is
 * too large with 413. Call this function last before the body is read, because the parser collects the same chunks.
 *
 * @param maxBytes the tenant's limit; 0 applies only the service's limit
 * @returns a promise if the request has to wait for capacity
 * @throws ServiceError 413 if `Content-Length` exceeds the limit
 */
function countBody(
  request: FastifyRequest,
  reply: FastifyReply,
  maxBytes: number,
): Promise<void> | undefined {
  const declared = Number(request.headers['content-length']);
  if (isOver(declared, maxBytes)) throw new ServiceError('body_too_large', maxBytes, 'tenant');
  const waiting = requireInFlight(request).bytes.acquire(REQUEST_BYTES);
  // A small body needs no further count, because each request already counts `REQUEST_BYTES`.
  if (declared <= REQUEST_BYTES) return waiting;
  if (waiting) return waiting.then(() => countChunks(request, reply, maxBytes));
  countChunks(request, reply, maxBytes);
  return undefined;
}

function countChunks(request: FastifyRequest, reply: FastifyReply, maxBytes: number): void {
  const { raw: body, transfer } = request;
  const { bytes } = requireInFlight(request);
  let received = 0;
  let counted = REQUEST_BYTES;
  let hasEnded = false;

  const reject = (error: unknown) => {
    hasEnded = true;
    // An error event on the body makes the parser fail with the error.
    if (!reply.sent) body.emit('error', error);
  };
  body.on('data', (chunk: Buffer) => {
    received += chunk.length;
    // The rest of a body is discarded once the response is sent.
    if (hasEnded || reply.sent) return;
    // A chunked body does not declare its length, so each chunk is checked.
    if (isOver(received, maxBytes)) return reject(new ServiceError('body_too_large', maxBytes, 'tenant'));
    if (received <= counted) return;
    let waiting: Promise<void> | undefined;
    try {
      waiting = bytes.acquire(received - counted);
    } catch (error) {
      return reject(error);
    }
    counted = received;
    if (waiting === undefined) return;
    transfer?.pause();
    waiting.then(() => transfer?.resume(), reject);
  });
}

function isOver(bytes: number, maxBytes: number): boolean {
  return maxBytes > 0 && bytes > maxBytes;
}

/** The window for a rate limit, which is a number of requests per minute. */
const WINDOW_MS = 60_000;
/** Maximum number of tenants counted at the same time. The least recently used tenant is dropped first. */
const COUNTED_TENANTS = 100_000;

/** Applies the tenant's limit on requests per minute to the routes registered after this plugin. */
export const rateLimit = fp(
  async (app) => {
    await app.register(rateLimiter, {
      global: false,
      store: RateStore,
      timeWindow: WINDOW_MS,
      enableDraftSpec: true,
      keyGenerator: (request) => countedTenant(requireContext(request)),
      max: (request) => requireContext(request).policy.ratePerMinute,
      errorResponseBuilder: (_request, { max, ttl }) =>
        new ServiceError('rate_limited', max, Math.max(1, Math.ceil(ttl / 1000))),
    });
    const limit = app.rateLimit() as (
      this: FastifyInstance,
      request: FastifyRequest,
      reply: FastifyReply,
    ) => Promise<void>;
    app.addHook('onRequest', (request, reply, done) => {
      if (requireContext(request).policy.ratePerMinute === 0) done();
      else limit.call(app, request, reply).then(() => done(), done);
    });
  },
  { name: 'rate-limit', dependencies: ['authentication'] },
);

/**
 * A store for @fastify/rate-limit that uses monotonic time. The default store uses the wall clock: if the clock is set
 * back by an hour, a tenant at its limit is rejected for an hour.
 */
export class RateStore implements FastifyRateLimitStore {
  readonly #windows = new LRUCache<string, { current: number; startedAt: number }>(
    maxEntries(COUNTED_TENANTS),
  );

  incr(
    key: string,
    callback: (error: Error | null, result?: { current: number; ttl: number }) => void,
  ): void {
    const now = performance.now();
    let window = this.#windows.get(key);
    if (window === undefined || window.startedAt + WINDOW_MS <= now) {
      window = { current: 0, startedAt: now };
      this.#windows.set(key, window);
    }
    window.current++;
    callback(null, { current: window.current, ttl: window.startedAt + WINDOW_MS - now });
  }

  /** Returns the same store, so that all routes share the counts. */
  child(): RateStore {
    return this;
  }
}
