import { availableParallelism } from 'node:os';
import { RequestLimiter } from '../tenants/request-limiter.ts';

/** So that the agents keep half of the cores, of which this process and its database may share the same ones. */
const AT_ONCE = Math.max(1, Math.floor(availableParallelism() / 2));
/** More than `concurrencyLimit` lets in. */
const MAX_WAITING = 100;
const MAX_WAIT_MS = 60 * 60 * 1000;

/** Bounds the heavy work of the admin listener. More at once would not end sooner. Tenants take turns. */
export class HeavyWork {
  readonly #limiter = new RequestLimiter({
    total: AT_ONCE,
    perKey: 0,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
  });

  /**
   * Waits for a slot, and runs `work`, which must not wait for another slot.
   *
   * @param signal ends the wait, but not the work
   * @throws the signal's reason, or what `work` throws
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
