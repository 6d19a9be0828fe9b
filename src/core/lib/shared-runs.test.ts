import { expect, it } from 'vitest';
import { SharedRuns } from './shared-runs.ts';

it('starts a run for each call, but only one for all calls that arrive during a run', async () => {
  const ends: (() => void)[] = [];
  let runs = 0;
  const shared = new SharedRuns(async () => {
    const run = ++runs;
    await new Promise<void>((resolve) => ends.push(resolve));
    return run;
  });
  const first = shared.run();
  const [second, third] = [shared.run(), shared.run()];
  ends[0]?.();
  expect(await first).toBe(1);
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.();
  expect(await Promise.all([second, third])).toStrictEqual([2, 2]);
});

it('starts the next run after a failed one', async () => {
  let runs = 0;
  const shared = new SharedRuns(async () => {
    if (++runs === 1) throw new Error('failed');
    return runs;
  });
  const [first, second] = [shared.run(), shared.run()];
  await expect(first).rejects.toThrow('failed');
  expect(await second).toBe(2);
});
