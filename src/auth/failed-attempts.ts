import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';

const WINDOW_MS = 60_000;

/** Counts failed attempts by address, so that guesses do not each cost a database lookup. */
export class FailedAttempts {
  readonly #limit: number;
  readonly #counts = new LRUCache<string, { count: number }>({ max: 10_000, ttl: WINDOW_MS });

  /** @param limit failures per minute and address; 0: no limit */
  constructor(limit: number) {
    this.#limit = limit;
  }

  note(ip: string): void {
    const entry = this.#counts.get(ip);
    if (entry) entry.count++;
    else this.#counts.set(ip, { count: 1 });
  }

  /** @throws ServiceError 429 when the address has failed too often within a minute. */
  check(ip: string): void {
    if (this.#limit === 0 || (this.#counts.get(ip)?.count ?? 0) < this.#limit) return;
    const seconds = Math.max(1, Math.ceil(this.#counts.getRemainingTTL(ip) / 1000));
    throw new ServiceError('too_many_failed_attempts', seconds);
  }
}
