import { expect, it } from 'vitest';
import { burstOf } from './burst.ts';

it('finds a burst only far above the usual hour', () => {
  expect(burstOf([])).toBeNull();
  expect(burstOf([0, 3, 0, 12, 2])).toBeNull();
  expect(burstOf([10, 12, 49, 11])).toBeNull();
  expect(burstOf([10, 0, 12, 60, 11])).toStrictEqual({ index: 3, usual: 11 });
  // A single busy hour is usual.
  expect(burstOf([0, 500, 0])).toBeNull();
});
