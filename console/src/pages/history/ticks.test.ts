import { expect, it } from 'vitest';
import { findTicks } from './ticks.ts';

/** Returns a local time as ISO 8601. */
const local = (text: string) => new Date(text).toISOString();
const labels = (since: string, until: string, most: number) =>
  findTicks(local(since), local(until), most).map(({ label }) => label);

it("marks months, days, hours, or minutes, depending on the period's length", () => {
  expect(labels('2026-11-22T09:30', '2026-11-26T12:00', 8)).toStrictEqual([
    '23 Nov',
    '24 Nov',
    '25 Nov',
    '26 Nov',
  ]);
  expect(labels('2026-11-22T20:30', '2026-11-23T08:00', 5)).toStrictEqual([
    '21:00',
    '23 Nov',
    '03:00',
    '06:00',
  ]);
  expect(labels('2026-02-03T00:00', '2026-12-01T12:00', 6)).toStrictEqual([
    'Apr 2026',
    'Jul 2026',
    'Oct 2026',
  ]);
  expect(labels('2026-11-22T09:00:10', '2026-11-22T09:02:30', 4)).toStrictEqual(['09:01', '09:02']);
});

it("limits the number of marks, and returns each mark's position", () => {
  for (const hours of [0.1, 1, 5, 30, 200, 2000, 20_000, 200_000]) {
    const since = local('2001-01-01T00:00:01');
    const until = new Date(Date.parse(since) + hours * 3_600_000).toISOString();
    expect(findTicks(since, until, 8).length).toBeLessThanOrEqual(9);
  }
  expect(findTicks(local('2026-11-22T12:00'), local('2026-11-23T12:00'), 1)).toStrictEqual([
    { at: 0.5, label: '23 Nov' },
  ]);
  expect(findTicks(local('2026-11-22T12:00'), local('2026-11-22T12:00'), 8)).toStrictEqual([]);
});
