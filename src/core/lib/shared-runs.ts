/** Runs a task for many callers. Each gets a run that starts after the call, so calls during a run share the next one. */
export class SharedRuns<T> {
  readonly #task: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(task: () => Promise<T>) {
    this.#task = task;
  }

  run(): Promise<T> {
    if (this.#running === undefined) {
      this.#running = this.#task().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    const start = () => {
      this.#next = undefined;
      return this.run();
    };
    this.#next ??= this.#running.then(start, start);
    return this.#next;
  }
}
