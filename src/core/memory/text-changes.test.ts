import fc from 'fast-check';
import { expect, it } from 'vitest';
import { view } from './commands/view.ts';
import { linesFrom } from './text-changes.ts';

const content = fc.string({ unit: fc.constantFrom('a', '\n', '\r', '😀'), maxLength: 60 });

it('returns the same lines, from any start line, as splitting the whole file does', () => {
  fc.assert(
    fc.property(
      content,
      fc.nat(),
      fc.integer({ min: 1, max: 9 }),
      fc.nat({ max: 70 }),
      (text, at, max, chars) => {
        const all = text.split('\n');
        const first = 1 + (at % all.length);
        const lines = linesFrom(text, first, max, chars);
        expect(lines).toStrictEqual(all.slice(first - 1, first - 1 + lines.length));
        const isEnough = lines.length === max || lines.join('\n').length >= chars;
        expect(isEnough || first - 1 + lines.length === all.length).toBe(true);
      },
    ),
  );
});

it('splits only the lines that a view shows', async () => {
  const made: number[] = [];
  const split = String.prototype.split;
  String.prototype.split = function (this: string, separator: unknown, limit?: number): string[] {
    const parts = (split as (separator: unknown, limit?: number) => string[]).call(this, separator, limit);
    made.push(parts.length);
    return parts;
  };
  const store = { lookup: async () => ({ kind: 'file', content: '\n'.repeat(900_000) }) };
  try {
    const context = { store, limits: { maxViewChars: 1000, maxFileBytes: 0 }, language: 'en' };
    const result = await view.run({ command: 'view', path: '/memories/f' }, context as never);
    expect(result.content).toMatch(/\[Truncated: showing lines 1 to 107 of 900001\./);
  } finally {
    String.prototype.split = split;
  }
  expect(Math.max(...made)).toBeLessThan(200);
});
