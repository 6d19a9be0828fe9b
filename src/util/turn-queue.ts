/** Runs synchronous tasks, one in each turn of the event loop, so that what arrives in between does not wait for all of them. */
export class TurnQueue {
  readonly #tasks: (() => void)[] = [];

  add(task: () => void): void {
    this.#tasks.push(task);
    if (this.#tasks.length === 1) setImmediate(() => this.#next());
  }

  #next(): void {
    this.#tasks.shift()?.();
    if (this.#tasks.length > 0) setImmediate(() => this.#next());
  }
}
