import { availableParallelism } from 'node:os';
import { RequestLimiter } from '../tenants/request-limiter.ts';

/**
 * Maximum number of heavy operations at once. Half of the cores remain free for agents, because the process and its
 * database may share the same cores.
 */
const AT_ONCE = Math.max(1, Math.floor(availableParallelism() / 2));
/** Maximum number of waiting operations. `concurrencyLimit` admits fewer requests, so the queue never fills. */
const MAX_WAITING = 100;
const MAX_WAIT_MS = 60 * 60 * 1000;

/**
 * Limits the heavy work of the admin listener, because more work at once would not end sooner. Waiting tenants
 * alternate.
 */
export class HeavyWork {
  readonly #limiter = new RequestLimiter({
    total: AT_ONCE,
    perKey: 0,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
  });

  /**
   * Waits for a slot and runs `work`. A deadlock is possible if `work` waits for another slot.
   *
   * @param signal ends the wait, but not running work
   * @throws the reason of the signal, or the error of `work`
   */
  async run<T>(tenant: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const slot = this.#limiter.slot(tenant);
    const leave = () => slot.release();
    signal.addEventListener('abort', leave, { once: true });
    try {
      await slot.acquire(1);
      signal.removeEventListener('abort', leave);
      return await work();
    } finally {
      signal.removeEventListener('abort', leave);
      slot.release();
    }
  }
}
