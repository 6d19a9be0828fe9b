import type { Fault } from './errors.ts';

/** State of an outage: calls without a result. With it, an outage is reported once and waited for once. */
export class Outage {
  #reported = false;
  #retriesResumeAt = 0;

  /** Whether a call is worth retrying: not shortly after another one ran out of retries. */
  allowsRetries(): boolean {
    return performance.now() >= this.#retriesResumeAt;
  }

  /**
   * Records a call without a result.
   *
   * @param pauseMs for how long the calls after it are not retried, if the service is at fault
   * @returns whether it is the first one since a call succeeded
   */
  record(fault: Fault, pauseMs: number): boolean {
    if (fault.retryable) this.#retriesResumeAt = performance.now() + pauseMs;
    const first = !this.#reported;
    this.#reported = true;
    return first;
  }

  /** Records a call that got a result. */
  end(): void {
    this.#reported = false;
    this.#retriesResumeAt = 0;
  }
}
