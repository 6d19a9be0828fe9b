import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors/errors.ts';
import { maxEntries } from '../lib/max-entries.ts';

const WINDOW_MS = 60_000;

/** Counts failed attempts by address or tenant, so that guesses do not each cost a database lookup. */
export class FailedAttempts {
  readonly #limit: number;
  readonly #reason: 'too_many_failed_attempts' | 'too_many_invalid_tokens';
  readonly #counts = new LRUCache<string, { count: number }>({
    ...maxEntries(10_000),
    ttl: WINDOW_MS,
  });

  /** @param limit failures per minute and source; 0 means no limit */
  constructor(limit: number, reason: 'too_many_failed_attempts' | 'too_many_invalid_tokens') {
    this.#limit = limit;
    this.#reason = reason;
  }

  note(source: string): void {
    const entry = this.#counts.get(source);
    if (entry) entry.count++;
    else this.#counts.set(source, { count: 1 });
  }

  /** @throws ServiceError 429 if the source has failed too often within a minute */
  check(source: string): void {
    if (this.#limit === 0 || (this.#counts.get(source)?.count ?? 0) < this.#limit) return;
    const seconds = Math.max(1, Math.ceil(this.#counts.getRemainingTTL(source) / 1000));
    throw new ServiceError(this.#reason, seconds);
  }
}
