import type { Piscina } from 'piscina';

export interface WorkerOptions {
  /** URL of the module without its extension. Its default export is a function from a task to a result. */
  module: URL;
  threads: number;
  idleMs: number;
  maxHeapMiB: number;
}

/** Runs tasks outside the event loop, each in a separate thread. Further tasks wait in order of arrival. */
export class WorkerThreads<Task, Result> {
  readonly #options: WorkerOptions;
  #pool: Promise<Piscina> | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /**
   * @param signal ends the task and its thread
   * @returns 'out_of_memory' if the task exceeded the memory of its thread
   * @throws the error of the task, or an `AbortError`
   */
  async run(task: Task, signal: AbortSignal): Promise<Result | 'out_of_memory'> {
    this.#pool ??= startPool(this.#options);
    const pool = await this.#pool;
    try {
      return await pool.run(task, { signal });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') return 'out_of_memory';
      throw error;
    }
  }

  /**
   * Runs a task for at most `maxMs`, without the time to start a thread, which may be long on a busy machine. The pool
   * must have one thread and run one task at a time.
   *
   * @returns 'out_of_time' if the task took longer, or 'out_of_memory' as for `run`
   * @throws the error of the task
   */
  async runWithin(maxMs: number, task: Task): Promise<Result | 'out_of_memory' | 'out_of_time'> {
    this.#pool ??= startPool(this.#options);
    const pool = await this.#pool;
    const limit = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const startTimer = () => {
      timer = setTimeout(() => limit.abort(), maxMs);
    };
    if (pool.threads.length > 0) startTimer();
    else pool.once('workerCreate', startTimer);
    try {
      return await this.run(task, limit.signal);
    } catch (error) {
      if (limit.signal.aborted) return 'out_of_time';
      throw error;
    } finally {
      pool.off('workerCreate', startTimer);
      clearTimeout(timer);
    }
  }

  /** Ends the threads. A later task starts new threads. */
  async close(): Promise<void> {
    const pool = await this.#pool;
    this.#pool = undefined;
    await pool?.destroy();
  }
}

/** The import is deferred because few processes need threads. */
async function startPool({ module, threads, idleMs, maxHeapMiB }: WorkerOptions): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  // When running from source (`npm run dev` and tests), a thread also needs tsx.
  const isSource = import.meta.url.endsWith('.ts');
  return new Piscina({
    filename: `${module.href}${isSource ? '.ts' : '.js'}`,
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
    ...(isSource ? { execArgv: ['--import', 'tsx'] } : {}),
  });
}
