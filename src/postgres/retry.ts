import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from './errors.ts';

/** Short: it bridges a restart of a pooler or a failover that is all but done, and costs little when the database is away. */
const DELAYS_MS = [50, 200];

/**
 * Tries again, twice at the most, when the database was away and doing it again can do no harm.
 *
 * @param repeatable whether it may be done twice: a read, or a write that an idempotency key protects. What is not is tried
 *   again only when it never came to the server.
 */
export async function retrying<T>(repeatable: boolean, work: () => Promise<T>): Promise<T> {
  for (const ms of DELAYS_MS) {
    try {
      return await work();
    } catch (error) {
      const isWorthRetrying =
        error instanceof DatabaseError && (repeatable ? error.isUnavailable : error.neverSent);
      if (!isWorthRetrying) throw error;
    }
    await delay(ms * (0.5 + Math.random()));
  }
  return work();
}
