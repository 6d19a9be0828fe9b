import fc from 'fast-check';
import { expect, it } from 'vitest';
import { turnsDuring } from '../../../test/support/event-loop.ts';
import { jsonInSlices } from './json.ts';

const encoded = async (data: unknown) => (await jsonInSlices(data)).toString();

it('encodes data as JSON.stringify does', async () => {
  const values = fc.oneof(
    fc.jsonValue(),
    fc.record({ a: fc.option(fc.string(), { nil: undefined }), b: fc.date() }),
  );
  await fc.assert(
    fc.asyncProperty(values, async (data) => {
      expect(await encoded(data)).toBe(Buffer.from(JSON.stringify(data)).toString());
    }),
    { numRuns: 200 },
  );
  expect(await encoded([undefined, { a: undefined }, new Date(0)])).toBe(
    '[null,{},"1970-01-01T00:00:00.000Z"]',
  );
});

it.each([
  ['\u{1F600}', 0],
  ['\u{1F600}', 1],
  ['\ud83d', 0],
  ['\u0001', 0],
])('encodes a long text correctly if it repeats %j after %i other characters', async (unit, before) => {
  const text = 'x'.repeat(before) + unit.repeat(100_000);
  expect(await encoded({ text })).toBe(JSON.stringify({ text }));
});

it('yields to the event loop while it encodes a long text or a long list', async () => {
  const parts = 20;
  expect(await turnsDuring(() => jsonInSlices('x'.repeat(parts * 64 * 1024)))).toBeGreaterThanOrEqual(
    parts - 1,
  );
  const list = Array.from({ length: parts * 1024 }, () => ({ text: 'x'.repeat(64) }));
  expect(await turnsDuring(() => jsonInSlices(list))).toBeGreaterThanOrEqual(parts - 1);
});
