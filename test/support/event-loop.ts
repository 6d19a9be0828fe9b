import { vi } from 'vitest';

/** Longer than a time slice. */
const STEP_MS = 1000;
let now = 0;

/** Counts how often the event loop runs other tasks during `work`. Each clock reading ends a time slice. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  now = Math.max(now, performance.now());
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += STEP_MS;
    return now;
  });
  let turns = 0;
  const count = () => {
    turns++;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  try {
    await work();
    return turns;
  } finally {
    clearImmediate(immediate);
    clock.mockRestore();
  }
}
