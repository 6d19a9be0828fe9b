import { ServiceError } from '../errors.ts';
import { WorkerThreads } from '../util/worker-threads.ts';
import type { LoadedState } from './log.ts';
import { type Comparison, MAX_WORK } from './patch.ts';

/** Far more than texts of the default limits take. Only texts of many megabytes come near them. */
const DEADLINE_MS = 20_000;
const MAX_HEAP_MIB = 512;

const TOO_MUCH: Comparison = { patch: undefined, work: MAX_WORK };

/** Compares texts away from the event loop. */
export class PatchThreads {
  /** One thread, so that diffs leave the other cores to the database and to requests. They wait for one another. */
  readonly #threads = new WorkerThreads<{ before: LoadedState; after: LoadedState }, Comparison>({
    module: new URL('patch-worker', import.meta.url),
    threads: 1,
    idleMs: 30_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });

  /**
   * @param signal ends the work, for a client that has left
   * @returns no patch for texts that take too much time or memory
   */
  async compare(before: LoadedState, after: LoadedState, signal: AbortSignal): Promise<Comparison> {
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      const compared = await this.#threads.run({ before, after }, AbortSignal.any([signal, deadline]));
      return compared === 'out_of_memory' ? TOO_MUCH : compared;
    } catch (error) {
      if (signal.aborted) throw new ServiceError('client_gone');
      if (deadline.aborted) return TOO_MUCH;
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
