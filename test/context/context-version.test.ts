import { expect, it } from 'vitest';
import { formatVersion, parseVersion } from '../../src/features/context/context-version.ts';

const version = {
  snapshot: 'abcdefghijklmnopqrstuv',
  basis: 'abcdefghijk',
  times: ['2026-11-29T10:11:12.123456Z', '1970-01-01T00:00:00.000000Z'],
};

it('keeps times to the microsecond', () => {
  expect(formatVersion(version)).toBe('abcdefghijklmnopqrstuv.abcdefghijk.holyp0rgw0.0');
  expect(parseVersion(formatVersion(version))).toStrictEqual(version);
});

it.each(['', 'x', 'abcdefghijklmnopqrstuv.abcdefghijk', `${formatVersion(version)}.`, `${'a'.repeat(3000)}`])(
  'knows no version %j',
  (text) => {
    expect(parseVersion(text)).toBeUndefined();
  },
);

it('accepts a version with a time beyond the calendar', () => {
  expect(() => parseVersion('abcdefghijklmnopqrstuv.abcdefghijk.zzzzzzzzzzzz')).not.toThrow();
});
