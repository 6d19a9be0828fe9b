import { expect, it } from 'vitest';
import { formatAge, formatChosenTime, formatExactTime } from './format.ts';

it('formats an age in the largest unit for which the rounded age is at least 1', () => {
  const now = Date.parse('2026-11-25T12:00:00Z');
  const ages = [0, 59, 60, 3599, 3600, 86_399, -3597].map((seconds) =>
    formatAge(new Date(now - seconds * 1000).toISOString(), now),
  );
  expect(ages).toStrictEqual([
    'just now',
    'just now',
    '1 minute ago',
    '1 hour ago',
    '1 hour ago',
    'yesterday',
    'in 1 hour',
  ]);
});

it('formats a time with milliseconds exactly, and other times without a time zone', () => {
  const minute = new Date(2026, 10, 23, 14, 51).getTime();
  const format = (milliseconds: number) => formatChosenTime(new Date(minute + milliseconds).toISOString());
  expect(format(0)).toBe('23 Nov 2026, 14:51');
  expect(format(30_000)).toBe('23 Nov 2026, 14:51:30');
  const change = new Date(minute + 30_123).toISOString();
  expect(formatChosenTime(change)).toBe(formatExactTime(change));
});
