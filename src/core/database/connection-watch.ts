export interface ConnectionEvents {
  /** Reports that no connection can be opened. The same reason is repeated only after `REPEAT_AFTER_MS`. */
  unreachable(reason: string): void;
  /** Reports that a connection was opened after a failure. */
  reachable(): void;
}

/** Minimum interval between two reports with the same reason. */
const REPEAT_AFTER_MS = 10 * 60_000;

/** Limits the reports on failed connection attempts, because there may be thousands. */
export class ConnectionWatch {
  readonly #events: ConnectionEvents;
  readonly #now: () => number;
  /** Last report time by reason. Cleared when a connection is opened. */
  readonly #reported = new Map<string, number>();

  constructor(events: ConnectionEvents, now: () => number = performance.now.bind(performance)) {
    this.#events = events;
    this.#now = now;
  }

  noteFailure(reason: string): void {
    const last = this.#reported.get(reason);
    if (last !== undefined && this.#now() - last < REPEAT_AFTER_MS) return;
    this.#reported.set(reason, this.#now());
    this.#events.unreachable(reason);
  }

  noteOpened(): void {
    if (this.#reported.size === 0) return;
    this.#reported.clear();
    this.#events.reachable();
  }
}
