import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exceededJsonLimit, findStringEnd, MAX_JSON_DEPTH, MAX_JSON_VALUES } from './json-limits.ts';

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const items = (count: number) => `[${Array(count).fill('0').join(',')}]`;

describe('the JSON limits', () => {
  it.each([
    ['the maximum depth', nested(MAX_JSON_DEPTH), undefined],
    ['one level too many', nested(MAX_JSON_DEPTH + 1), 'levels'],
    ['arrays and objects that are never closed', '{"a":'.repeat(1_000_000), 'levels'],
    ['the maximum number of values', items(MAX_JSON_VALUES), undefined],
    ['one value too many', items(MAX_JSON_VALUES + 1), 'values'],
    ['too many keys', `{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":0`).join(',')}}`, 'values'],
    ['too many empty arrays', `[${Array(MAX_JSON_VALUES).fill('[]').join(',')}]`, 'values'],
    ['brackets in a string', JSON.stringify('[{,'.repeat(100_000)), undefined],
    ['quotes and backslashes in a string', JSON.stringify('\\"[\\\\",'.repeat(100_000)), undefined],
    ['an unterminated string', `"${'['.repeat(100_000)}`, undefined],
    ['a string cut off inside an escape', `"${'x'.repeat(100)}\\`, undefined],
    ['an empty text', '', undefined],
  ])('returns the JSON limit that a text exceeds, if any: %s', (_title, json, excess) => {
    expect(exceededJsonLimit(json)).toBe(excess);
  });

  it.each([1021, 1022, 1023, 1024, 1025, 1026])(
    'finds where a string ends after %i escaped characters',
    (count) => {
      for (const text of ['"', '\\', '"\\', '\\"', '"x'])
        for (const rest of [text.repeat(count), `${'x'.repeat(count)}${text.repeat(1100)}`]) {
          const json = JSON.stringify(rest);
          expect(findStringEnd(`${json}[{,`, 1)).toBe(json.length - 1);
          expect(exceededJsonLimit(`[${json},${'['.repeat(MAX_JSON_DEPTH)}`)).toBe('levels');
        }
    },
  );

  it('accepts 32 tool_use blocks with unknown fields', () => {
    const unknown = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`field${i}`, { deep: [i, i] }]));
    const input = { command: 'create', path: '/memories/a', file_text: '{[",\\'.repeat(1000), ...unknown };
    const block = { type: 'tool_use', id: 'toolu_1', name: 'memory', input };
    expect(exceededJsonLimit(JSON.stringify(Array(32).fill(block)))).toBeUndefined();
  });

  // The strings have escapes at every distance from their start and from each other.
  const string = fc
    .array(
      fc.oneof(
        fc.constantFrom('\\', '"', '[', '{', ',', ']'),
        fc.nat(70).map((n) => 'x'.repeat(n)),
      ),
    )
    .map((parts) => parts.join(''));

  it('ignores brackets, commas, and quotes inside strings', () => {
    fc.assert(
      fc.property(fc.array(string, { maxLength: 8 }), fc.nat(40), (strings, depth) => {
        const json = `${'['.repeat(depth)}${JSON.stringify(strings)}${']'.repeat(depth)}`;
        expect(exceededJsonLimit(json)).toBe(depth + 1 > MAX_JSON_DEPTH ? 'levels' : undefined);
        const many = JSON.stringify(Array.from({ length: MAX_JSON_VALUES + 1 }, (_, i) => strings[i] ?? 0));
        expect(exceededJsonLimit(many)).toBe('values');
      }),
      { numRuns: 300 },
    );
  });
});
