import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { TurnQueue } from './queues.ts';

it('runs one task from a queue per event loop turn, in order', async () => {
  const queue = new TurnQueue();
  const done: number[] = [];
  for (const task of [1, 2, 3]) queue.add(() => done.push(task));
  expect(done).toStrictEqual([]);
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    await setImmediate();
    expect(done).toStrictEqual(expected);
  }
  queue.add(() => done.push(4));
  await setImmediate();
  expect(done).toStrictEqual([1, 2, 3, 4]);
});
