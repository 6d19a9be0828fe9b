/** A deadline fires at most this late. */
const RESOLUTION_MS = 100;

/** A deadline for some work. */
export interface Deadline {
  readonly at: number;
  readonly onExpired: () => void;
  /** Where it is among the pending ones; undefined once it is cleared. */
  index: number | undefined;
}

/** Many deadlines on one timer: each request has several, almost none expires, and a timer for each would cost more. */
export class Deadlines {
  /** In no order. Not a `Set`: see docs/decisions/0011-short-lived-entries.md. */
  readonly #pending: Deadline[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onExpired` after `ms`, or up to a tenth of a second later, unless the deadline is cleared. */
  start(ms: number, onExpired: () => void): Deadline {
    this.#timer ??= setInterval(() => this.#check(), RESOLUTION_MS).unref();
    const deadline: Deadline = { at: performance.now() + ms, onExpired, index: this.#pending.length };
    this.#pending.push(deadline);
    return deadline;
  }

  /** Call it when the work is done. A deadline that is no longer pending stays as it is. */
  clear(deadline: Deadline): void {
    const { index } = deadline;
    if (index === undefined) return;
    deadline.index = undefined;
    const last = this.#pending.pop();
    if (last === undefined || last === deadline) return;
    this.#pending[index] = last;
    last.index = index;
  }

  #check(): void {
    if (this.#pending.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = performance.now();
    for (const deadline of this.#pending.filter(({ at }) => at <= now)) {
      // One that expired before it may have cleared it.
      if (deadline.index === undefined) continue;
      this.clear(deadline);
      deadline.onExpired();
    }
  }
}
