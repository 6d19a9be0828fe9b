import { expect, it } from 'vitest';
import { burstOf, labeledBars, scaleEnd } from './chart-scale.ts';

it('ends scales of counts and of bytes with short numbers', () => {
  const counts = [0, 1, 2, 3, 10, 11, 49, 100, 1_005_012];
  expect(counts.map((each) => scaleEnd(each, false))).toStrictEqual([2, 2, 2, 5, 10, 20, 50, 100, 2_000_000]);
  const bytes = [0, 3, 1000, 1024, 1400, 1_048_577, 5_000_000];
  expect(bytes.map((each) => scaleEnd(each, true))).toStrictEqual([
    2, 4, 1024, 1024, 2048, 2_097_152, 8_388_608,
  ]);
});

it('labels at most the given number of bars, the first one included', () => {
  expect(labeledBars(7, 7)).toStrictEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(labeledBars(30, 5)).toStrictEqual([0, 6, 12, 18, 24]);
  expect(labeledBars(168, 7)).toStrictEqual([0, 24, 48, 72, 96, 120, 144]);
});

it('finds a burst only far above the usual hour', () => {
  expect(burstOf([])).toBeNull();
  expect(burstOf([0, 3, 0, 12, 2])).toBeNull();
  expect(burstOf([10, 12, 49, 11])).toBeNull();
  expect(burstOf([10, 0, 12, 60, 11])).toStrictEqual({ index: 3, usual: 11 });
  // A single busy hour is usual.
  expect(burstOf([0, 500, 0])).toBeNull();
});
