/**
 * A map for entries that live as long as a request. V8 may retain the entries of a `Map` until the next full
 * collection, long after their deletion (docs/decisions/0011-short-lived-entries.md). This map clears a deleted entry's
 * value.
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

/** Runs tasks with the same key one at a time, in arrival order. Tasks with different keys run concurrently. */
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

/** Runs synchronous tasks, one in each event loop iteration, so that other events do not wait for all tasks. */
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
