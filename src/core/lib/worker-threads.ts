import type { Piscina } from 'piscina';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';

export interface WorkerOptions {
  /** The module's URL without its extension. Its default export is a function from a task to a result. */
  module: URL;
  /** Maximum number of threads. */
  threads: number;
  /** Maximum number of threads that one caller uses at the same time. The default is `threads`. */
  perCaller?: number;
  idleMs: number;
  maxHeapMiB: number;
}

/** The longest timer delay. A task ends its wait by its signal, not by a time. */
const MAX_WAIT_MS = 2 ** 31 - 1;

/**
 * Runs tasks outside the event loop, each in a separate thread. Further tasks wait: in arrival order within a caller,
 * and alternating between callers, so that many tasks delay only their own caller.
 *
 * Each kind of task has separate threads: a search over many tenants must not delay a merge, and a thread has one
 * module and one heap limit. Without tasks, a kind has no threads.
 */
export class WorkerThreads<Task, Result> {
  readonly #options: WorkerOptions;
  readonly #limiter: ConcurrencyLimiter;
  /** Pools with one thread each, so that a time limit can start with the task. */
  readonly #pools: Promise<Piscina>[] = [];
  /** Pools without a task. The last has run the latest task, so its thread probably still exists. */
  readonly #idle: Promise<Piscina>[] = [];

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#limiter = new ConcurrencyLimiter(
      {
        total: options.threads,
        perKey: options.perCaller ?? options.threads,
        maxWaiting: Number.POSITIVE_INFINITY,
        maxWaitMs: MAX_WAIT_MS,
      },
      (rejection) => new Error(`A task did not get a thread: ${rejection}.`),
    );
  }

  /**
   * @param signal ends the task and its thread
   * @returns 'out_of_memory' if the task exceeded its thread's memory
   * @throws the task's error, or an `AbortError`
   */
  async run(task: Task, signal: AbortSignal, caller = ''): Promise<Result | 'out_of_memory'> {
    return this.#inThread(caller, signal, (pool) => runIn<Task, Result>(pool, task, signal));
  }

  /**
   * Runs a task for at most `maxMs`, without the wait for a thread and the time to start it, which may be long on a
   * busy machine.
   *
   * @returns 'out_of_time' if the task took longer, or 'out_of_memory' as for `run`
   * @throws as `run`
   */
  async runWithin(
    maxMs: number,
    task: Task,
    caller = '',
    signal?: AbortSignal,
  ): Promise<Result | 'out_of_memory' | 'out_of_time'> {
    return this.#inThread(caller, signal, async (pool) => {
      const limit = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      const startTimer = () => {
        timer = setTimeout(() => limit.abort(), maxMs);
      };
      if (pool.threads.length > 0) startTimer();
      else pool.once('workerCreate', startTimer);
      try {
        const signals = signal === undefined ? [limit.signal] : [limit.signal, signal];
        return await runIn<Task, Result>(pool, task, AbortSignal.any(signals));
      } catch (error) {
        if (limit.signal.aborted) return 'out_of_time';
        throw error;
      } finally {
        pool.off('workerCreate', startTimer);
        clearTimeout(timer);
      }
    });
  }

  /** Ends the threads. A later task starts new threads. */
  async close(): Promise<void> {
    this.#idle.length = 0;
    await Promise.all(this.#pools.splice(0).map(async (pool) => (await pool).destroy()));
  }

  /** Waits for a thread in the caller's share. */
  async #inThread<T>(
    caller: string,
    signal: AbortSignal | undefined,
    work: (pool: Piscina) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await this.#limiter.run(caller, () => this.#withPool(work), signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }

  async #withPool<T>(work: (pool: Piscina) => Promise<T>): Promise<T> {
    let pool = this.#idle.pop();
    if (pool === undefined) {
      pool = startPool(this.#options);
      this.#pools.push(pool);
    }
    try {
      return await work(await pool);
    } finally {
      if (this.#pools.includes(pool)) this.#idle.push(pool);
    }
  }
}

async function runIn<Task, Result>(
  pool: Piscina,
  task: Task,
  signal: AbortSignal,
): Promise<Result | 'out_of_memory'> {
  try {
    return await pool.run(task, { signal });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') return 'out_of_memory';
    throw error;
  }
}

/** The import is deferred because few processes need threads. */
async function startPool({ module, idleMs, maxHeapMiB }: WorkerOptions): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  // When running from source (`npm run dev` and tests), a thread needs tsx if Node does not run TypeScript.
  const isSource = import.meta.url.endsWith('.ts');
  const needsTsx = isSource && !process.features.typescript;
  return new Piscina({
    filename: `${module.href}${isSource ? '.ts' : '.js'}`,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleMs,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
    ...(needsTsx ? { execArgv: ['--import', 'tsx'] } : {}),
  });
}
