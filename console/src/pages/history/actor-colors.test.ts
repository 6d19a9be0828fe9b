import { expect, it } from 'vitest';
import { assignColors } from './actor-colors.ts';

const EIGHT = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

it('assigns each actor the same color when the actors are listed in another order', () => {
  const colors = assignColors({}, EIGHT);
  expect(new Set(Object.values(colors)).size).toBe(8);
  expect(assignColors({}, EIGHT.toReversed())).toStrictEqual(colors);
});

it('keeps actor colors when other actors appear and disappear', () => {
  const first = assignColors({}, ['support', 'billing', 'crawler']);
  const more = assignColors(first, ['a', 'b', 'crawler', 'c', 'd', 'e', 'support', 'billing']);
  expect(more).toMatchObject(first);
  expect(new Set(Object.values(more)).size).toBe(8);
  expect(assignColors(more, ['billing'])).toMatchObject(first);
});

it('gives two visible actors different colors if both had the same color before', () => {
  const { a, b } = assignColors({ a: 3, b: 3 }, ['a', 'b']);
  expect([a, b]).toContain(3);
  expect(a).not.toBe(b);
});
