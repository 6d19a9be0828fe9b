import { ServiceError } from '../errors/errors.ts';
import { ConcurrencyLimiter, type ConcurrencyLimits } from '../lib/concurrency-limiter.ts';

const PROBLEMS = {
  key_at_limit: 'too_many_at_once',
  at_limit: 'overloaded',
  released: 'client_gone',
} as const;

/**
 * Limits concurrent requests. Throws ServiceError 429 if the key is at its limit, 503 if the service is, and 499 if the
 * client has disconnected.
 */
export class RequestLimiter extends ConcurrencyLimiter {
  constructor(limits: ConcurrencyLimits) {
    super(limits, (rejection) => new ServiceError(PROBLEMS[rejection]));
  }
}

const MAX_LOOKUPS = 16;
const MAX_WAITING_LOOKUPS = 1000;

/** Creates a limiter for concurrent cache misses, shared fairly by caller address. */
export function createLookupLimiter(maxWaitMs: number): RequestLimiter {
  return new RequestLimiter({
    total: MAX_LOOKUPS,
    perKey: 0,
    maxWaiting: MAX_WAITING_LOOKUPS,
    maxWaitMs,
  });
}
