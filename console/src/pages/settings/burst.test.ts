import { expect, it } from 'vitest';
import { findBurst } from './burst.ts';

it('reports a burst only if one hour is far busier than usual', () => {
  expect(findBurst([])).toBeNull();
  expect(findBurst([0, 3, 0, 12, 2])).toBeNull();
  expect(findBurst([10, 12, 49, 11])).toBeNull();
  expect(findBurst([10, 0, 12, 60, 11])).toStrictEqual({ index: 3, usual: 11 });
  // A single busy hour is usual.
  expect(findBurst([0, 500, 0])).toBeNull();
});
