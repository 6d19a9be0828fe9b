/** A deadline fires at most this late. */
const RESOLUTION_MS = 100;

/** A deadline for some work. Call `clear` when the work is done. */
export class Deadline {
  readonly #deadlines: Set<Deadline>;
  readonly at: number;
  readonly onExpired: () => void;

  constructor(deadlines: Set<Deadline>, at: number, onExpired: () => void) {
    this.#deadlines = deadlines;
    this.at = at;
    this.onExpired = onExpired;
    deadlines.add(this);
  }

  clear(): void {
    this.#deadlines.delete(this);
  }
}

/** Many deadlines on one timer: each request has several, almost none expires, and a timer for each would cost more. */
export class Deadlines {
  readonly #pending = new Set<Deadline>();
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onExpired` after `ms`, or up to a tenth of a second later, unless the deadline is cleared. */
  start(ms: number, onExpired: () => void): Deadline {
    this.#timer ??= setInterval(() => this.#check(), RESOLUTION_MS).unref();
    return new Deadline(this.#pending, performance.now() + ms, onExpired);
  }

  #check(): void {
    if (this.#pending.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = performance.now();
    for (const deadline of this.#pending) {
      if (deadline.at > now) continue;
      deadline.clear();
      deadline.onExpired();
    }
  }
}
