import { expect, it } from 'vitest';
import { byteAmount, formatBytes, formatQuantity, parseQuantity, parseSize, typedQuantity } from './units.ts';

it.each([
  ['0', 0],
  ['1048576', 1_048_576],
  ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ['12B', 12],
  ['10KB', 10_240],
  ['10MB', 10_485_760],
  ['10 MiB', 10_485_760],
  ['10m', 10_485_760],
  ['1.5 GB', 1_610_612_736],
  ['2gib', 2_147_483_648],
  ['1TB', 1_099_511_627_776],
  ['0.3KB', 307],
])('parses the size %s', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

it.each(['', '-1', '1.5', '1.5B', '10 iB', '10 PB', 'MB', '1e6', '10MBs', '9007199254740992', '8192TB'])(
  'rejects the size %j',
  (text) => {
    expect(parseSize(text)).toBeUndefined();
  },
);

it.each([
  ['30', 'days', 30],
  ['30d', 'days', 30],
  ['4w', 'days', 28],
  ['48h', 'days', 2],
  ['36h', 'days', undefined],
  ['12h', 'hours', 12],
  ['1d', 'hours', 24],
  ['90m', 'hours', undefined],
  ['10', 'seconds', 10],
  ['10s', 'seconds', 10],
  ['500ms', 'seconds', undefined],
  ['500ms', 'milliseconds', 500],
  ['5s', 'milliseconds', 5000],
  ['5000', 'milliseconds', 5000],
  ['1.5s', 'milliseconds', undefined],
  ['10MB', 'milliseconds', undefined],
  ['10MB', 'bytes', 10_485_760],
  ['500', 'files', 500],
  ['500s', 'files', undefined],
  ['', 'files', undefined],
] as const)('parses %s as a number of %s', (text, unit, value) => {
  expect(parseQuantity(text, unit)).toBe(value);
});

it('formats a size as a short rounded text or as an exact amount', () => {
  expect([0, 1, 999, 1024, 1434, 102_400, 1_048_500, 1_048_576, 123_456_789].map(formatBytes)).toStrictEqual([
    '0 B',
    '1 B',
    '999 B',
    '1 KB',
    '1.4 KB',
    '100 KB',
    '1 MB',
    '1 MB',
    '118 MB',
  ]);
  expect([0, 1, 12, 2048].map(byteAmount)).toStrictEqual(['0 bytes', '1 byte', '12 bytes', '2 KB']);
  expect([104_857_600, 123_456_789].map((n) => formatQuantity(n, 'bytes'))).toStrictEqual([
    '100 MB',
    '118 MB (123456789)',
  ]);
  expect([1, 30].map((n) => formatQuantity(n, 'days'))).toStrictEqual(['1 day', '30 days']);
  expect(formatQuantity(500, 'files')).toBe('500');
});

it('formats a size so that the parser reads the same size again', () => {
  expect([0, 12, 2000, 1_048_576, 104_857_600].map((n) => typedQuantity(n, 'bytes'))).toStrictEqual([
    '0',
    '12',
    '2000',
    '1 MB',
    '100 MB',
  ]);
  expect(typedQuantity(30, 'days')).toBe('30');
});
