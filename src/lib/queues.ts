/**
 * A map for entries that come and go with each request. V8 may keep what a `Map` held until the next full collection,
 * long after it was deleted (docs/decisions/0011-short-lived-entries.md). Here a deleted entry lets go of its value.
 */
export class ShortLivedMap<Key, Value> {
  readonly #entries = new Map<Key, { value: Value | undefined }>();

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: Key, value: Value): void {
    const entry = this.#entries.get(key);
    if (entry) entry.value = value;
    else this.#entries.set(key, { value });
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.value = undefined;
    this.#entries.delete(key);
  }
}

/**
 * Runs tasks with the same key one at a time, in arrival order. Tasks with different keys do not wait for each other.
 */
export class SerialQueue {
  readonly #tails = new ShortLivedMap<string, Promise<unknown>>();

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    const mine = before === undefined ? task() : before.then(task, task);
    this.#tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key);
    }
  }
}

/**
 * Runs synchronous tasks, one in each turn of the event loop, so that what arrives in between does not wait for all
 * of them.
 */
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
