import type { FastifyRateLimitStore } from '@fastify/rate-limit';
import { LRUCache } from 'lru-cache';

/** Rates are per minute. */
export const WINDOW_MS = 60_000;
/** Maximum number of tenants that are counted at the same time in this process. */
const COUNTED_TENANTS = 100_000;

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
