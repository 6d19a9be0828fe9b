import { expect, it } from 'vitest';
import { containsText, soughtPart } from './contains-text.ts';

it.each([
  ['Müller', ['müller', 'MÜLER', 'müler']],
  ['ΜΆΡΙΟΣ', ['μάριοσ', 'ΜΆΡΙΟΣς', 'μάριοσσ']],
  ['Straße', ['straße', 'STRAE', 'strae']],
  ['ı\u212a', ['ik', 'ıI\u212aK', 'iikk']],
  ['1%_𝐀𐐀', ['1%_𝐀𐐨', '𐐀', '𐐨']],
  ['', ['', '', '']],
])('folds each character in %s to one character', (text, part) => {
  expect(soughtPart(text)).toStrictEqual(part);
});

it('accepts every text if no part to search for is given', () => {
  expect([soughtPart(null), soughtPart(undefined)]).toStrictEqual([null, null]);
  expect(containsText('name', 'search')).toBe(
    'strpos(translate(name, ($search::text[])[2], ($search::text[])[3]), ($search::text[])[1]) > 0',
  );
});
