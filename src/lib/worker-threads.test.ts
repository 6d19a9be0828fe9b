import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WorkerThreads } from './worker-threads.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const MAX_MS = 1000;

it('limits the time of a task without the start of its thread', async () => {
  const threads = new WorkerThreads<'endless' | 'quick', string>({
    module: new URL('../../test/support/slow-thread', import.meta.url),
    threads: 1,
    idleMs: 60_000,
    maxHeapMiB: 64,
  });
  try {
    // The first task starts the pool, so no thread exists before it.
    const first = threads.runWithin(MAX_MS, 'quick');
    await vi.advanceTimersByTimeAsync(10 * MAX_MS);
    expect(await first).toBe('quick');
    const endless = threads.runWithin(MAX_MS, 'endless');
    await vi.advanceTimersByTimeAsync(MAX_MS);
    expect(await endless).toBe('out_of_time');
    // The timeout ended the thread of the endless task, so the pool has to start another thread.
    const next = threads.runWithin(MAX_MS, 'quick');
    await vi.advanceTimersByTimeAsync(10 * MAX_MS);
    expect(await next).toBe('quick');
  } finally {
    await threads.close();
  }
});
