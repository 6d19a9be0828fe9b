import { expect, it } from 'vitest';
import { csvCell, csvRow } from './csv.ts';

it('quotes cells with separators, quotes, line breaks, and outer white space', () => {
  expect(csvRow(['plain', 'a,b', 'say "x"', 'two\nlines', ' padded ', ''])).toBe(
    'plain,"a,b","say ""x""","two\nlines"," padded ",\r\n',
  );
});

it.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', '"\'\r=1"'],
  [' =1', "' =1"],
  ['＝1', "'＝1"],
  ['=cmd|"/c calc"!A1', '"\'=cmd|""/c calc""!A1"'],
])('keeps a spreadsheet from running a formula: %j', (text, cell) => {
  expect(csvCell(text)).toBe(cell);
});

it('keeps texts with these characters in other places', () => {
  expect(csvCell('a=b')).toBe('a=b');
  expect(csvCell('2026-11-26T00:00:00Z')).toBe('2026-11-26T00:00:00Z');
});
