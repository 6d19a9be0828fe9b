import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CodeUnits, findOccurrences, lineNumbersAt, searchLinearly } from './text-changes.ts';

/** Returns a text that counts its reads. */
function counting(text: string): CodeUnits & { reads: number } {
  return {
    reads: 0,
    length: text.length,
    charCodeAt(index) {
      this.reads++;
      return text.charCodeAt(index);
    },
  };
}

function naively(needle: string, content: string): number[] {
  const offsets: number[] = [];
  for (let at = 0; at + needle.length <= content.length; ) {
    if (content.slice(at, at + needle.length) === needle) {
      offsets.push(at);
      at += needle.length;
    } else at++;
  }
  return offsets;
}

const text = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength, maxLength });

describe('the text search', () => {
  it('finds the same occurrences as a naive search, with both algorithms', () => {
    fc.assert(
      fc.property(text(1, 6), text(0, 60), (needle, content) => {
        const expected = naively(needle, content);
        expect(findOccurrences(needle, content)).toStrictEqual(expected);
        expect(searchLinearly(needle, content, Number.POSITIVE_INFINITY)).toStrictEqual(expected);
        expect(searchLinearly(needle, content, 2)).toStrictEqual(expected.slice(0, 2));
        expect(findOccurrences(needle, content, 2)).toStrictEqual(expected.slice(0, 2));
      }),
      { numRuns: 2000 },
    );
  });

  it('finds a long needle in a long text', () => {
    const needle = `${'a'.repeat(5000)}b${'a'.repeat(5000)}`;
    const content = `${'a'.repeat(400_000)}b${'a'.repeat(400_000)}`;
    expect(findOccurrences(needle, content)).toStrictEqual([395_000]);
    expect(findOccurrences(needle, 'a'.repeat(800_000))).toStrictEqual([]);
  });

  it.each([
    ['a…ab a…a in a', (n: number) => [`${'a'.repeat(n / 4)}b${'a'.repeat(n / 4)}`, 'a'.repeat(n)]],
    ['a…a b in a', (n: number) => [`${'a'.repeat(n / 2)}b`, 'a'.repeat(n)]],
    ['b a…a in a', (n: number) => [`b${'a'.repeat(n / 2)}`, 'a'.repeat(n)]],
    ['Fibonacci words', (n: number) => [fibonacci(n / 4), fibonacci(n)]],
    ['many occurrences', (n: number) => ['aab'.repeat(10), 'aab'.repeat(n / 3)]],
  ] as const)('reads each character only a few times: %s', (_title, make) => {
    for (const n of [3 * 2 ** 10, 3 * 2 ** 14]) {
      const [needle, content] = make(n).map(counting) as [
        ReturnType<typeof counting>,
        ReturnType<typeof counting>,
      ];
      searchLinearly(needle, content, Number.POSITIVE_INFINITY);
      expect(content.reads).toBe(content.length);
      expect(needle.reads).toBeLessThanOrEqual(6 * (needle.length + content.length));
    }
  });
});

/** Fibonacci words, the worst case for many search algorithms, because they contain many of their prefixes. */
function fibonacci(length: number): string {
  let [a, b] = ['a', 'ab'];
  while (b.length < length) [a, b] = [b, b + a];
  return b.slice(0, length);
}

it('computes line numbers from the newlines before each offset', () => {
  fc.assert(
    fc.property(text(0, 60), fc.uniqueArray(fc.nat(60)), (content, numbers) => {
      const offsets = numbers.filter((n) => n <= content.length).sort((a, b) => a - b);
      expect(lineNumbersAt(content, offsets)).toStrictEqual(
        offsets.map((offset) => content.slice(0, offset).split('\n').length),
      );
    }),
  );
});

it('computes the line numbers for a million offsets in one pass', () => {
  const content = 'a'.repeat(2 ** 20);
  const lines = lineNumbersAt(
    content,
    Array.from(content, (_, i) => i),
  );
  expect(new Set(lines)).toStrictEqual(new Set([1]));
});
