import type { FastifyRateLimitStore } from '@fastify/rate-limit';
import rateLimiter from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';
import { contextOf, countedTenant } from './authentication.ts';

/** Rates are per minute. */
const WINDOW_MS = 60_000;
/** Maximum number of tenants that are counted at the same time in this process. */
const COUNTED_TENANTS = 100_000;

/** Limits how many requests per minute a tenant may send to the routes that are registered after it. */
export const rateLimit = fp(
  async (app) => {
    await app.register(rateLimiter, {
      global: false,
      store: RateStore,
      timeWindow: WINDOW_MS,
      enableDraftSpec: true,
      keyGenerator: (request) => countedTenant(contextOf(request)),
      max: (request) => contextOf(request).policy.ratePerMinute,
      errorResponseBuilder: (_request, { max, ttl }) =>
        new ServiceError('rate_limited', max, Math.max(1, Math.ceil(ttl / 1000))),
    });
    const limit = app.rateLimit() as (
      this: FastifyInstance,
      request: FastifyRequest,
      reply: FastifyReply,
    ) => Promise<void>;
    app.addHook('onRequest', (request, reply, done) => {
      if (contextOf(request).policy.ratePerMinute === 0) done();
      else limit.call(app, request, reply).then(() => done(), done);
    });
  },
  { name: 'rate-limit', dependencies: ['authentication'] },
);

/**
 * A store for @fastify/rate-limit that uses monotonic time. The default store uses the wall clock: when that is set back by an hour, a
 * tenant at its limit stays there for an hour.
 */
export class RateStore implements FastifyRateLimitStore {
  readonly #windows = new LRUCache<string, { current: number; startedAt: number }>({ max: COUNTED_TENANTS });

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

  /** Every route shares the counts. */
  child(): RateStore {
    return this;
  }
}
