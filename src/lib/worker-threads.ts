import type { Piscina } from 'piscina';

/** What a pool of threads runs, and how much of the machine it may take. */
export interface WorkerOptions {
  /** The module that the threads run, without its extension: its default export takes a task and returns a result. */
  module: URL;
  threads: number;
  idleMs: number;
  maxHeapMiB: number;
}

/**
 * Runs tasks away from the event loop, each in a thread of its own. Tasks wait for one another, first in, first out.
 */
export class WorkerThreads<Task, Result> {
  readonly #options: WorkerOptions;
  #pool: Promise<Piscina> | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /**
   * @param signal ends the task, and the thread that runs it
   * @returns 'out_of_memory' when the task took more than the thread may have
   * @throws what the task throws, or an `AbortError`
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
   * Runs a task for at most `maxMs`. The start of a thread does not count: it takes long on a busy machine. For pools
   * of one thread, with one task at a time.
   *
   * @returns 'out_of_time' when the task took longer, 'out_of_memory' as `run`
   * @throws what the task throws
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

  /** Ends the threads. A later task starts new ones. */
  async close(): Promise<void> {
    const pool = await this.#pool;
    this.#pool = undefined;
    await pool?.destroy();
  }
}

/** Imported on demand: few processes need threads. */
async function startPool({ module, threads, idleMs, maxHeapMiB }: WorkerOptions): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  // From source, as in `npm run dev` and the tests, a thread needs tsx as well.
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
