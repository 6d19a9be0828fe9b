import { ShortLivedMap } from './short-lived-map.ts';

/** Runs tasks with the same key one at a time, in arrival order. Tasks with different keys do not wait for each other. */
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
