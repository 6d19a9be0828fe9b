import { availableParallelism } from 'node:os';
import { RequestLimiter } from '../tenants/request-limiter.ts';

/**
 * Maximum number of one caller's simultaneous heavy operations. Half the cores remain free for agents, because the
 * process and its database may share the same cores.
 */
const MAX_PER_CALLER = Math.max(1, Math.floor(availableParallelism() / 2));
/** The maximum for all callers is higher, so that one caller's long operations do not delay other callers. */
const MAX_CONCURRENT = MAX_PER_CALLER + 1;
/** Maximum number of waiting operations. `concurrencyLimit` admits fewer requests, so the queue never fills. */
const MAX_WAITING = 100;

/**
 * Limits heavy work on the admin listener, because more work at the same time would not end sooner. Waiting callers
 * alternate. A deadlock is possible if work waits for another slot.
 */
export class HeavyWork extends RequestLimiter {
  /** @param maxWaitMs maximum time that an operation waits for a slot */
  constructor(maxWaitMs: number) {
    super({ total: MAX_CONCURRENT, perKey: MAX_PER_CALLER, maxWaiting: MAX_WAITING, maxWaitMs });
  }
}
