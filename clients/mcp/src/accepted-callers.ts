import { type MemoryClient, MemoryServiceError } from 'memory-service-client';

/**
 * Time for which an accepted caller is cached, and the maximum delay of a revocation. The service has the same default.
 */
const ACCEPTED_MS = 10_000;
/** Maximum number of cached callers. Each entry holds a token. */
const MAX_CALLERS = 1000;

/**
 * Checks whether the service accepts a caller, so that a rejected caller receives the status of the service. The result
 * is cached for `ACCEPTED_MS`.
 */
export class AcceptedCallers {
  /** Expiry by `performance.now()`. The most recently checked callers are last. */
  readonly #accepted = new Map<string, number>();

  /**
   * @param key identifies the caller
   * @param duringOutage handling of a caller while the service is unavailable; accept a caller whose calls report the
   * outage to the model themselves
   * @throws MemoryServiceError
   */
  async check(
    key: string,
    client: MemoryClient,
    { duringOutage }: { duringOutage: 'accept' | 'reject' },
  ): Promise<void> {
    if ((this.#accepted.get(key) ?? 0) > performance.now()) return;
    this.#accepted.delete(key);
    try {
      await client.check();
    } catch (error) {
      if (duringOutage === 'reject' || !isOutage(error)) throw error;
      return;
    }
    this.#accepted.set(key, performance.now() + ACCEPTED_MS);
    for (const oldest of this.#accepted.keys()) {
      if (this.#accepted.size <= MAX_CALLERS) break;
      this.#accepted.delete(oldest);
    }
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof MemoryServiceError && error.retryable;
}
