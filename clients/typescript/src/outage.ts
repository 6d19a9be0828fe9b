import type { Fault } from './errors.ts';

/** State of an outage, so that only its first failure is logged, and only one call waits with retries. */
export class Outage {
  #reported = false;
  #retriesResumeAt = 0;

  /** Whether to retry a call. Calls shortly after a call that used up its retries are not retried. */
  allowsRetries(): boolean {
    return performance.now() >= this.#retriesResumeAt;
  }

  /**
   * Records a call without a result.
   *
   * @param pauseMs time during which later calls are not retried, after a retryable fault
   * @returns whether the failure is the first one since a successful call
   */
  record(fault: Fault, pauseMs: number): boolean {
    if (fault.retryable) this.#retriesResumeAt = performance.now() + pauseMs;
    const first = !this.#reported;
    this.#reported = true;
    return first;
  }

  /** Records a call with a result. */
  end(): void {
    this.#reported = false;
    this.#retriesResumeAt = 0;
  }
}
