import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decodeCursor, encodeCursor } from './cursor.ts';

describe('decodeCursor', () => {
  const position = z.strictObject({ path: z.string(), skip: z.int().optional() });

  it('returns the position that was encoded', () => {
    expect(decodeCursor(position, encodeCursor({ path: 'ä', skip: 1 }))).toStrictEqual({
      path: 'ä',
      skip: 1,
    });
  });

  it.each([
    ['{'],
    ['null'],
    ['{}'],
    ['{"path":"\\u0000"}'],
    ['{"path":"\\ud800"}'],
    ['{"path":"a","skip":1.5}'],
  ])('returns undefined for %s, which is not a position in the list', (json) => {
    expect(decodeCursor(position, Buffer.from(json).toString('base64url'))).toBeUndefined();
  });
});
