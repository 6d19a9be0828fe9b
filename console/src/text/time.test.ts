import { expect, it } from 'vitest';
import { parseTime } from './time.ts';

const NOW = Date.parse('2026-11-26T12:00:34.567Z');

it.each([
  ['2d', '2026-11-24T12:00:00.000Z'],
  ['3h ago', '2026-11-26T09:00:00.000Z'],
  ['10m', '2026-11-26T11:50:34.000Z'],
  ['yesterday', '2026-11-25T12:00:00.000Z'],
  ['2026-11-22T09:30:00.123456Z', '2026-11-22T09:30:00.123456Z'],
  ['2026-11-22 09:30', new Date('2026-11-22T09:30').toISOString()],
  ['2026-11-22', new Date('2026-11-22T00:00').toISOString()],
  ['soon', null],
  ['2026-13-22', null],
  ['', null],
])('returns the time for the text %j, or null if the text is not a time', (text, time) => {
  expect(parseTime(text, NOW)).toBe(time);
});
