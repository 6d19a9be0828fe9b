import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonBytes } from './json.ts';

it('counts the bytes in any JSON value without serializing it', () => {
  const text = fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) });
  fc.assert(
    fc.property(fc.jsonValue(), text, (value, other) => {
      const data = { value, other, [other]: [other, undefined, { absent: undefined }] };
      expect(jsonBytes(data)).toBe(Buffer.byteLength(JSON.stringify(data)));
    }),
    { numRuns: 20 },
  );
});

it.each([
  ['\u0001', 8],
  ['"', 4],
  ['\n', 4],
  ['é', 4],
  ['€', 5],
  ['😀', 6],
  ['\ud800', 8],
])('counts %j as %i bytes', (text, bytes) => {
  expect(jsonBytes(text)).toBe(bytes);
});
