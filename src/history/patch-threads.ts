import type { Piscina } from 'piscina';
import { ServiceError } from '../errors.ts';
import type { LoadedState } from './log.ts';
import { type Comparison, MAX_WORK } from './patch.ts';

/** One thread, so that diffs leave the other cores to the database and to requests. They wait for one another. */
const THREADS = 1;
const IDLE_MS = 30_000;
/** Far more than texts of the default limits take. Only texts of many megabytes come near them. */
const DEADLINE_MS = 20_000;
const MAX_HEAP_MIB = 512;

/** Compares texts away from the event loop. */
export class PatchThreads {
  #pool: Promise<Piscina> | undefined;

  /**
   * @param signal ends the work, for a client that has left
   * @returns no patch for texts that take too much time or memory
   */
  async compare(before: LoadedState, after: LoadedState, signal: AbortSignal): Promise<Comparison> {
    this.#pool ??= startPool();
    const pool = await this.#pool;
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      return await pool.run({ before, after }, { signal: AbortSignal.any([signal, deadline]) });
    } catch (error) {
      if (signal.aborted) throw new ServiceError('client_gone');
      const { code } = error as NodeJS.ErrnoException;
      if (deadline.aborted || code === 'ERR_WORKER_OUT_OF_MEMORY')
        return { patch: undefined, work: MAX_WORK };
      throw error;
    }
  }

  async close(): Promise<void> {
    await (await this.#pool)?.destroy();
  }
}

/** Imported on demand: few processes compare anything. */
async function startPool(): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  // From source, as in `npm run dev` and the tests, a thread needs tsx as well.
  const isSource = import.meta.url.endsWith('.ts');
  return new Piscina({
    filename: new URL(isSource ? 'patch-worker.ts' : 'patch-worker.js', import.meta.url).href,
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    ...(isSource ? { execArgv: ['--import', 'tsx'] } : {}),
  });
}
