import { type MemoryClient, MemoryServiceError } from 'memory-service-client';

/** As the service itself does by default: the longest time for which a revoked key seems to work. */
const ACCEPTED_MS = 10_000;
/** Each holds a token. */
const MAX_CALLERS = 1000;

/**
 * Asks the service whether it accepts a caller, so that a rejected caller gets the status of the service. The result is
 * cached for seconds.
 */
export class AcceptedCallers {
  /** Until when, by `performance.now()`; those that asked last are at the end. */
  readonly #accepted = new Map<string, number>();

  /**
   * @param key names the caller
   * @param duringOutage what happens to a caller of whom the service cannot be asked. Accept one whose calls can say
   *   so themselves, to the model.
   * @throws MemoryServiceError
   */
  async check(
    key: string,
    client: MemoryClient,
    { duringOutage }: { duringOutage: 'accept' | 'refuse' },
  ): Promise<void> {
    if ((this.#accepted.get(key) ?? 0) > performance.now()) return;
    this.#accepted.delete(key);
    try {
      await client.check();
    } catch (error) {
      if (duringOutage === 'refuse' || !isOutage(error)) throw error;
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
