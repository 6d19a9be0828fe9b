const EVERY_MS = 10 * 60 * 1000;

/** Decides which faults are logged: each kind when it first occurs, and then every ten minutes while it repeats. */
export class RepeatedFaults {
  readonly #now: () => number;
  readonly #reports = new Map<string, { at: number; since: number }>();

  /** @param now a monotonic clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Counts a fault.
   *
   * @param kind identifies faults with one cause
   * @returns the number of faults of this kind since the last report, or undefined if the fault should not be
   * reported
   */
  report(kind: string): number | undefined {
    const known = this.#reports.get(kind);
    const faults = (known?.since ?? 0) + 1;
    if (known !== undefined && this.#now() - known.at < EVERY_MS) {
      known.since = faults;
      return undefined;
    }
    this.#reports.set(kind, { at: this.#now(), since: 0 });
    return faults;
  }
}
