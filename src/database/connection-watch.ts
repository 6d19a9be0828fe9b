/** Events of the connections to a server. */
export interface ConnectionEvents {
  /** No connection can be opened, for the given reason: once for each reason, and again after a while. */
  unreachable(reason: string): void;
  /** A connection was opened again. */
  reachable(): void;
}

/** How often the same reason is reported. */
const REPEAT_AFTER_MS = 10 * 60_000;

/** Reports failures of opening connections, of which there may be thousands, rarely. */
export class ConnectionWatch {
  readonly #events: ConnectionEvents;
  readonly #now: () => number;
  /** When each reason was last reported, since a connection was last opened. */
  readonly #reported = new Map<string, number>();

  constructor(events: ConnectionEvents, now: () => number = performance.now.bind(performance)) {
    this.#events = events;
    this.#now = now;
  }

  failed(reason: string): void {
    const last = this.#reported.get(reason);
    if (last !== undefined && this.#now() - last < REPEAT_AFTER_MS) return;
    this.#reported.set(reason, this.#now());
    this.#events.unreachable(reason);
  }

  opened(): void {
    if (this.#reported.size === 0) return;
    this.#reported.clear();
    this.#events.reachable();
  }
}
