import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMicroseconds, parseBound, parseMicroseconds, storedTime } from '../../../core/lib/rfc3339.ts';
import type { MemoryPath } from '../../../core/memory/path.ts';
import { DirectoryTimes, memoryUuid, Splices, versionUuid } from './hosted-versions.ts';

describe('the splices in imported versions', () => {
  it("reconstructs each imported version's content from the next newer content", () => {
    const content = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '€', '😀', '\n'), maxLength: 12 });
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 8 }), (contents) => {
        const splices = new Splices();
        let newer = Buffer.alloc(0);
        for (const content of contents) {
          const { splice_start: start, splice_length: length, content: text } = splices.add('m', content);
          newer =
            start === null || length === null
              ? Buffer.from(text)
              : Buffer.concat([newer.subarray(0, start), Buffer.from(text), newer.subarray(start + length)]);
          expect(newer.toString()).toBe(content);
        }
      }),
    );
  });

  it('stores minimal splices, or the whole content if no newer content is known', () => {
    const splices = new Splices();
    expect(splices.add('m', 'one two three')).toStrictEqual({
      splice_start: null,
      splice_length: null,
      content: 'one two three',
    });
    expect(splices.add('m', 'one 2 three')).toStrictEqual({
      splice_start: 4,
      splice_length: 3,
      content: '2',
    });
    expect(splices.add('other', 'one 2 three').splice_start).toBeNull();
    splices.restart('m');
    expect(splices.add('m', 'one two three').splice_start).toBeNull();
  });

  it('stores the whole content again after every 255 splices', () => {
    const splices = new Splices();
    const wholes = Array.from({ length: 600 }, (_, i) => splices.add('m', `${'x'.repeat(50)}${i}`)).flatMap(
      ({ splice_start }, i) => (splice_start === null ? [i] : []),
    );
    expect(wholes).toStrictEqual([0, 256, 512]);
  });
});

it('records a directory for the periods in which a file was below it', () => {
  const times = new DirectoryTimes();
  const day = 86_400_000_000;
  const [a, b] = ['/memories/d/a', '/memories/d/e/b'] as MemoryPath[];
  times.add(a as MemoryPath, { since: 5 * day, until: Number.POSITIVE_INFINITY });
  times.add(b as MemoryPath, { since: day, until: 2 * day });
  times.add(a as MemoryPath, { since: 2 * day, until: 3 * day });
  expect([...times.rows()]).toStrictEqual([
    {
      path: '/memories/d',
      created_at: '1970-01-02T00:00:00.000000Z',
      removed_at: '1970-01-04T00:00:00.000000Z',
    },
    { path: '/memories/d', created_at: '1970-01-06T00:00:00.000000Z', removed_at: null },
    {
      path: '/memories/d/e',
      created_at: '1970-01-02T00:00:00.000000Z',
      removed_at: '1970-01-03T00:00:00.000000Z',
    },
  ]);
});

it('keeps IDs from this service, and replaces other IDs by their time and a hash', () => {
  const at = parseMicroseconds('2026-11-23T18:59:18.993004Z') ?? 0;
  const own = 'memver_01a209c6e35170109405de522617948b';
  expect(versionUuid(own, at)).toBe('01a209c6-e351-7010-9405-de522617948b');
  expect(versionUuid(own, at + 1)).toMatch(/^01a209c6-e351-7014-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(versionUuid('memver_01AbC', at)).toBe(versionUuid('memver_01AbC', at));
  expect(versionUuid('memver_01AbC', at)).not.toBe(versionUuid('memver_01AbD', at));
  expect(memoryUuid('mem_01a209c6e35170109405de522617948b')).toBe('01a209c6-e351-7010-9405-de522617948b');
  expect(memoryUuid('mem_01AbC')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

it.each([
  ['2026-11-23T18:59:18Z', '2026-11-23T18:59:18.000000Z'],
  ['2026-11-23T20:59:18.5+02:00', '2026-11-23T18:59:18.500000Z'],
  ['2026-11-23T18:59:18.123456789Z', '2026-11-23T18:59:18.123456Z'],
])('parses the RFC 3339 time %s to the microsecond', (given, kept) => {
  expect(formatMicroseconds(parseMicroseconds(given) ?? 0)).toBe(kept);
});

it.each([
  '0000-12-31T23:59:59Z',
  '0001-01-01T00:00:00+01:00',
  '9999-12-31T23:59:59-01:00',
  '2026-02-30T00:00:00Z',
])('rejects the time %s, which Postgres cannot store', (given) => {
  expect(parseBound(given, 'until')).toBeUndefined();
});

it('accepts times from the year 1 to the year 9999', () => {
  expect(parseBound('0001-01-01T00:00:00Z', 'since')).toBe('0001-01-01T00:00:00.000000Z');
  expect(parseBound('9999-12-31T23:59:59.999999999Z', 'until')).toBe('9999-12-31T23:59:59.999999Z');
  expect(parseBound('9999-12-31T23:59:59.999999999Z', 'since')).toBeUndefined();
});

it("accepts stored times only in the database's format", () => {
  expect(storedTime.safeParse('2026-11-23T18:59:18.123456Z').success).toBe(true);
  for (const other of [
    '2026-11-23T18:59:18Z',
    '2026-11-23T18:59:18.123456+00:00',
    '0000-01-01T00:00:00.000000Z',
  ])
    expect(storedTime.safeParse(other).success).toBe(false);
});
