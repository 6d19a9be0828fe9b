import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WorkerThreads } from './worker-threads.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const MAX_MS = 1000;

const slowThreads = (limits: { threads: number; perCaller?: number }) =>
  new WorkerThreads<'endless' | 'quick', string>({
    module: new URL('../../../test/support/slow-thread', import.meta.url),
    idleMs: 60_000,
    maxHeapMiB: 64,
    ...limits,
  });

it("does not count the time to start a thread toward a task's time limit", async () => {
  const threads = slowThreads({ threads: 1 });
  try {
    // The first task starts the pool, so no thread exists before it.
    const first = threads.runWithin(MAX_MS, 'quick');
    await vi.advanceTimersByTimeAsync(10 * MAX_MS);
    expect(await first).toBe('quick');
    const endless = threads.runWithin(MAX_MS, 'endless');
    await vi.advanceTimersByTimeAsync(MAX_MS);
    expect(await endless).toBe('out_of_time');
    // The timeout ended the endless task's thread, so the pool has to start another thread.
    const next = threads.runWithin(MAX_MS, 'quick');
    await vi.advanceTimersByTimeAsync(10 * MAX_MS);
    expect(await next).toBe('quick');
  } finally {
    await threads.close();
  }
});

it("runs another caller's task even if one caller uses its full share of threads", async () => {
  const threads = slowThreads({ threads: 2, perCaller: 1 });
  const [one, other] = [new AbortController(), new AbortController()];
  try {
    const busy = [one, other].map(({ signal }) =>
      threads.run('endless', signal, 'busy').catch(() => 'ended'),
    );
    expect(await threads.run('quick', new AbortController().signal, 'quiet')).toBe('quick');
    // The first task leaves its thread to the second, which a disconnected client no longer needs.
    other.abort();
    expect(await busy[1]).toBe('ended');
    one.abort();
    expect(await busy[0]).toBe('ended');
    expect(await threads.runWithin(MAX_MS, 'quick', 'busy')).toBe('quick');
  } finally {
    await threads.close();
  }
});
