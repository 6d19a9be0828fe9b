import { afterEach, expect, it, vi } from 'vitest';
import { parseRetryAfter } from './retry-after.ts';

afterEach(() => vi.useRealTimers());

it('parses seconds and dates to milliseconds from now', () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 29, 12) });
  const parsed = ['120', '1.5', 'Sun, 29 Nov 2026 12:00:30 GMT', 'Sun, 29 Nov 2026 11:00:00 GMT'].map(
    parseRetryAfter,
  );
  expect(parsed).toStrictEqual([120_000, 1500, 30_000, 0]);
});

it('returns undefined for a header that is missing or not valid', () => {
  expect([undefined, null, '', 'soon'].map(parseRetryAfter)).toStrictEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
