import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from './errors.ts';

/** Short delays bridge the restart of a pooler or the end of a failover, and cost little while the database is down. */
const DELAYS_MS = [50, 200];

/**
 * Retries `work`, at most twice, when the database was unavailable and repeating does no harm.
 *
 * @param repeatable whether `work` may run twice: a read, or a write with an idempotency key. Other work is retried only when it never
 *   reached the server
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
