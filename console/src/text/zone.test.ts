import { afterEach, beforeEach, expect, it } from 'vitest';
import { findTicks } from '../pages/history/ticks.ts';
import { formatTime } from './format.ts';
import { fromLocal, toLocal } from './local-time.ts';
import { parseTime } from './time.ts';
import { isUtc } from './zone.ts';

const TIME = '2026-11-22T20:30:00.000Z';
let zone: string | undefined;

beforeEach(() => {
  zone = process.env.TZ;
  process.env.TZ = 'Asia/Tokyo';
});

afterEach(() => {
  isUtc.value = false;
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

it.each([
  ['local time', false, '23 Nov 2026, 05:30:00 GMT+9', '2026-11-23T05:30:00', '2026-11-21T15:00:00.000Z'],
  ['UTC', true, '22 Nov 2026, 20:30:00 UTC', '2026-11-22T20:30:00', '2026-11-22T00:00:00.000Z'],
])('shows and reads times in %s', (_name, chosen, text, field, day) => {
  isUtc.value = chosen;
  expect(formatTime(TIME)).toBe(text);
  expect(toLocal(TIME)).toBe(field);
  expect(fromLocal(field)).toBe(TIME);
  expect(parseTime('2026-11-22', Date.parse(TIME))).toBe(day);
});

it('marks the days at midnight UTC on a time axis in UTC', () => {
  isUtc.value = true;
  expect(findTicks('2026-11-21T12:00:00Z', '2026-11-23T12:00:00Z', 2)).toStrictEqual([
    { at: 0.25, label: '22 Nov' },
    { at: 0.75, label: '23 Nov' },
  ]);
});
