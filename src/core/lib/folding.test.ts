import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { character, fuzzParameters, unicodeSample } from '../../../test/support/arbitraries.ts';
import { fold, foldParts, foldWithOffsets, withoutCase } from './folding.ts';

const FORMS = ['NFC', 'NFD', 'NFKC', 'NFKD'];

/**
 * Returns pairs with a Unicode character and a different form of the character.
 *
 * @param all minimum number of pairs if the sample had all characters
 */
function characterForms(listForms: (character: string) => string[], all: number) {
  const pairs: [character: string, form: string][] = [];
  const { characters, part } = unicodeSample();
  for (const character of characters)
    for (const form of listForms(character)) if (form !== character) pairs.push([character, form]);
  expect(pairs.length).toBeGreaterThan(all * part);
  return pairs;
}

describe('fold', () => {
  it.each([
    ['Ünïcödé ÀÉÎ', 'unicode aei'],
    ['e\u0301cole', 'ecole'],
    ['Straße STRASSE STRAẞE Łódź Ærø', 'strasse strasse strasse lodz aero'],
    ['ＡＢＣ　１２', 'abc 12'],
    ['Ёлка, ЙОД', 'елка, иод'],
    ['ΟΔΟΣ οδος', 'οδοσ οδοσ'],
    ['ガス 한국', 'ガス 한국'],
    ['ｶﾞｲﾄﾞ', 'ガイド'],
    ['\ufb01le \u{1d400}\u{1d429}\u{1d422}', 'file api'],
    ['كـتـابٌ', 'كتاب'],
    ['שָׁלוֹם', 'שלום'],
    ['soft\u00adhyphen zero\u200bwidth\u200c\u200d', 'softhyphen zerowidth'],
  ])('folds %s to %s', (text, folded) => {
    expect(fold(text)).toBe(folded);
  });

  it('folds every Unicode character and its normal forms to the same form', { tags: 'random' }, () => {
    const pairs = characterForms((each) => [...new Set(FORMS.map((form) => each.normalize(form)))], 13_000);
    const differing = pairs.filter(([one, other]) => {
      const [text, form] = [one, other].map((each) => fold(`x${each.repeat(9)}y`));
      return text !== form;
    });
    expect(differing).toStrictEqual([]);
  });

  it('folds the upper and the lower case of every Unicode letter to the same form', {
    tags: 'random',
  }, () => {
    const pairs = characterForms((each) => [each.toUpperCase(), each.toLowerCase()], 2_000);
    expect(pairs.filter(([one, other]) => fold(one) !== fold(other))).toStrictEqual([]);
  });

  it.each(['NFC', 'NFD'])('folds long words to the same form if they are given in %s', (form) => {
    const text = 'ガイドブック한국어naïveשָׁלוֹם'.repeat(50);
    expect(fold(text.normalize(form))).toBe(fold(text));
  });
});

describe('foldWithOffsets', () => {
  it('maps each folded character to a range in the original text, in ascending order', {
    tags: 'random',
  }, () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        const folded = foldWithOffsets(text);
        expect(folded.text).toBe(fold(text));
        for (let unit = 0, end = 0; unit < folded.text.length; unit++) {
          expect(folded.originStart(unit)).toBeGreaterThanOrEqual(
            unit === 0 ? 0 : folded.originStart(unit - 1),
          );
          expect(folded.originEnd(unit)).toBeGreaterThan(folded.originStart(unit));
          expect(folded.originEnd(unit)).toBeGreaterThanOrEqual(end);
          end = folded.originEnd(unit);
        }
        expect(folded.originEnd(folded.text.length)).toBe(text.length);
      }),
      fuzzParameters(200),
    );
  });

  it('maps offsets back to the original text if folding made characters shorter or longer', () => {
    const text = 'ß½e\u0301\u00ad x';
    const { text: folded, originStart, originEnd } = foldWithOffsets(text);
    expect(folded).toBe('ss1⁄2e x');
    const at = folded.indexOf('e');
    expect(text.slice(originStart(at), originEnd(at))).toBe('e');
    expect(originStart(folded.indexOf('x'))).toBe(text.indexOf('x'));
  });
});

it('maps offsets back to the original text if only the case is folded', () => {
  const { text, originStart } = foldParts('ßßA İ MÜLLER', withoutCase);
  expect(originStart(text.indexOf('müller'))).toBe(6);
});
