/** Maximum delay for an expired deadline. */
const RESOLUTION_MS = 100;

export interface Deadline {
  readonly at: number;
  readonly onExpired: () => void;
  /** The index in the list of pending deadlines. Undefined after `clear`. */
  index: number | undefined;
}

/**
 * Many deadlines with one timer. Each request has several deadlines, and almost none of them expires. Separate timers
 * would cost more.
 */
export class Deadlines {
  /**
   * The pending deadlines in any order. docs/decisions/0011-short-lived-entries.md explains why the list is not a
   * `Set`.
   */
  readonly #pending: Deadline[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onExpired` after `ms`, at most `RESOLUTION_MS` late, unless the deadline is cleared first. */
  start(ms: number, onExpired: () => void): Deadline {
    this.#timer ??= setInterval(() => this.#check(), RESOLUTION_MS).unref();
    const deadline: Deadline = { at: performance.now() + ms, onExpired, index: this.#pending.length };
    this.#pending.push(deadline);
    return deadline;
  }

  /** Cancels a deadline whose work is done. Further calls have no effect. */
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
      // An earlier deadline's `onExpired` may have cleared this deadline.
      if (deadline.index === undefined) continue;
      this.clear(deadline);
      deadline.onExpired();
    }
  }
}
