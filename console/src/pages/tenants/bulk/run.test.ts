import { expect, it } from 'vitest';
import { runForEach } from './run.ts';
import type { Target } from './targets.ts';

const target = (id: string): Target => ({ id, status: 'active', files: 0 });

it('continues an action after a failure, and stops before the next tenant when it is aborted', async () => {
  const controller = new AbortController();
  const progress: number[] = [];
  const outcomes = await runForEach({
    targets: ['a', 'b', 'c', 'd', 'e'].map(target),
    work: async ({ id }) => {
      if (id === 'b') throw new TypeError('offline');
      if (id === 'c') return 'skipped';
      if (id === 'd') controller.abort();
      return 'anything';
    },
    atOnce: 1,
    onProgress: (finished) => progress.push(finished),
    signal: controller.signal,
  });
  expect(outcomes.map(({ target: { id }, result, reason }) => [id, result, reason])).toStrictEqual([
    ['a', 'done', ''],
    ['b', 'failed', 'The service cannot be reached. Check the connection and try again.'],
    ['c', 'skipped', ''],
    ['d', 'done', ''],
    ['e', 'stopped', ''],
  ]);
  expect(progress).toStrictEqual([1, 2, 3, 4, 5]);
});

it('runs an action on several tenants at a time, once on each', async () => {
  let running = 0;
  let most = 0;
  const seen: string[] = [];
  await runForEach({
    targets: Array.from({ length: 20 }, (_, i) => target(String(i))),
    work: async ({ id }) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      seen.push(id);
    },
    atOnce: 4,
    onProgress: () => {},
    signal: new AbortController().signal,
  });
  expect(most).toBe(4);
  expect(seen.map(Number).sort((a, b) => a - b)).toStrictEqual(Array.from({ length: 20 }, (_, i) => i));
});
