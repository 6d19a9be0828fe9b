import { ServiceError } from '../errors/errors.ts';
import { ConcurrencyLimiter, type ConcurrencyLimits } from '../lib/concurrency-limiter.ts';

const PROBLEMS = {
  key_at_limit: 'too_many_at_once',
  at_limit: 'overloaded',
  released: 'client_gone',
} as const;

/**
 * Limits requests. What it refuses is a problem: 429 for the key, 503 for the service, 499 for a client that has
 * gone.
 */
export class RequestLimiter extends ConcurrencyLimiter {
  constructor(limits: ConcurrencyLimits) {
    super(limits, (refusal) => new ServiceError(PROBLEMS[refusal]));
  }
}

const MAX_LOOKUPS = 16;
const MAX_WAITING_LOOKUPS = 1000;

/** Limits concurrent lookups of what is not cached, shared by address in turns. */
export function createLookupLimiter(maxWaitMs: number): RequestLimiter {
  return new RequestLimiter({
    total: MAX_LOOKUPS,
    perKey: 0,
    maxWaiting: MAX_WAITING_LOOKUPS,
    maxWaitMs,
  });
}
