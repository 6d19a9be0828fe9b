import { watch as watchFiles } from 'node:fs';
import { sep } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { RemoteMemory } from './remote-memory.ts';
import { STATE_DIRECTORY } from './sync-state.ts';

/** Reports changes to a memory. */
export interface RemoteChanges {
  /**
   * Resolves after the memory's next change.
   *
   * @param changedAt the latest known change's time
   */
  wait(changedAt: string | null, signal: AbortSignal): Promise<void>;
}

const POLL_MS = 2000;

/** Polls for a memory's latest change. */
export class PolledChanges implements RemoteChanges {
  readonly #remote: RemoteMemory;
  readonly #everyMs: number;

  constructor(remote: RemoteMemory, everyMs = POLL_MS) {
    this.#remote = remote;
    this.#everyMs = everyMs;
  }

  async wait(changedAt: string | null, signal: AbortSignal): Promise<void> {
    do await setTimeout(this.#everyMs, undefined, { signal });
    while ((await this.#remote.state()).changedAt === changedAt);
  }
}

/** Time without a local change after which a synchronization starts, because programs write files in several steps. */
const QUIET_MS = 300;
/** Time after which the directory is read even without a reported change: some file systems report none. */
const RESCAN_MS = 30_000;

/** Waits for changes to a directory, except to the state in it. */
export class LocalChanges {
  readonly #watcher;
  #isChanged = false;
  #notify = () => {};

  /** @param onFailure called if the system cannot watch the directory */
  constructor(root: string, onFailure: (error: Error) => void) {
    this.#watcher = watchFiles(root, { recursive: true });
    this.#watcher.on('error', onFailure);
    this.#watcher.on('change', (_event, name) => {
      if (name?.toString().split(sep)[0] === STATE_DIRECTORY) return;
      this.#isChanged = true;
      this.#notify();
    });
  }

  /** Resolves when the directory has changed since the last call, and no more changes follow. */
  async wait(signal: AbortSignal): Promise<void> {
    const rescan = AbortSignal.any([signal, AbortSignal.timeout(RESCAN_MS)]);
    while (!this.#isChanged && !rescan.aborted)
      await new Promise<void>((resolve) => {
        this.#notify = resolve;
        rescan.addEventListener('abort', () => resolve(), { once: true });
      });
    while (this.#isChanged && !signal.aborted) {
      this.#isChanged = false;
      await setTimeout(QUIET_MS, undefined, { signal }).catch(() => {});
    }
  }

  close(): void {
    this.#watcher.close();
  }
}

/**
 * Runs a task after each change to a side, until the signal.
 *
 * @param task returns when the memory last changed, as far as known
 * @param onFailure called if the memory cannot be read; the next attempt follows
 */
export async function runAfterChanges(
  task: () => Promise<string | null>,
  local: LocalChanges,
  remote: RemoteChanges,
  { signal, onFailure }: { signal: AbortSignal; onFailure: (error: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    const changedAt = await task();
    const either = new AbortController();
    const waiting = AbortSignal.any([signal, either.signal]);
    const reportFailure = (error: unknown) => {
      if (!waiting.aborted) onFailure(error);
    };
    await Promise.race([local.wait(waiting), remote.wait(changedAt, waiting).catch(reportFailure)]);
    either.abort();
  }
}
