import { expect, it } from 'vitest';
import { csvCell, csvRow } from './csv.ts';

it('quotes each cell, and doubles quotes', () => {
  expect(csvRow(['plain', 'a,b', 'say "x"', 'two\nlines', ''])).toBe(
    '"plain","a,b","say ""x""","two\nlines",""\r\n',
  );
});

it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '\n=1', '＝1', '＋1', '－1', '＠1'])(
  'keeps a spreadsheet from running a formula: %j',
  (text) => {
    expect(csvCell(text)).toBe(`"'${text}"`);
  },
);

it('leaves a cell unchanged if = or - is not its first character', () => {
  expect(csvCell('a=b')).toBe('"a=b"');
  expect(csvCell('2026-11-26T00:00:00Z')).toBe('"2026-11-26T00:00:00Z"');
});
