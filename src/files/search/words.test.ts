import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { character, fuzzParameters } from '../../../test/support/arbitraries.ts';
import { WordMatcher } from './match-words.ts';
import { fold, similarity, stem, wordsOf } from './words.ts';

const one = (query: string) => {
  const [word] = wordsOf(query);
  if (word === undefined) throw new Error('no word');
  return word;
};

describe('folding a text', () => {
  it.each([
    ['Ünïcödé ÀÉÎ', 'unicode aei'],
    ['e\u0301cole', 'ecole'],
    ['Straße Łódź Ærø', 'strasse lodz aero'],
    ['ＡＢＣ　１２', 'abc 12'],
    ['Ёлка, ЙОД', 'елка, иод'],
    ['ガス 한국', 'ガス 한국'],
  ])('folds the text %s to %s', (text, folded) => {
    expect(fold(text)).toBe(folded);
  });

  it('keeps the number of lines of a folded text', { tags: 'random' }, () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        expect(fold(`${text}\n`).split('\n').length).toBe(`${text}\n`.split('\n').length);
      }),
      fuzzParameters(200),
    );
  });
});

it.each([
  ['policies', 'polic'],
  ['policy', 'polic'],
  ['deploys', 'deplo'],
  ['running', 'run'],
  ['migrated', 'migrat'],
  ['migrate', 'migrat'],
  ['boxes', 'box'],
  ['glass', 'glass'],
  ['status', 'status'],
  ['bus', 'bus'],
  ['string', 'string'],
])('reduces %s to its stem %s', (word, expected) => {
  expect(stem(word)).toBe(expected);
});

describe('wordsOf', () => {
  it.each([
    ['What is the staging password?', ['staging', 'password']],
    ['the', ['the']],
    ['db_timeout db-timeout', ['db', 'timeout']],
    ["Marta's café", ['marta', 'cafe']],
    ['保険の更新日', ['保険', '険の', 'の更', '更新', '新日']],
    ['いつ', ['いつ']],
    ['AWSの設定', ['aws', 'の設', '設定']],
    ['?!', []],
  ])('splits the query %s into words', (query, words) => {
    expect(wordsOf(query).map(({ text }) => text)).toStrictEqual(words);
  });

  it('returns at most 32 words of a query', () => {
    const query = Array.from({ length: 100 }, (_, i) => `word${i}`).join(' ');
    expect(wordsOf(query)).toHaveLength(32);
  });
});

it.each([
  ['deploy', 'deploy', 1],
  ['deploy', 'deploys', 0.8],
  ['deploy', 'deployment', 0.3],
  ['key', 'keyboard', 0.2],
  ['schlüssel', 'kellerschlussel', 0.2],
  ['пароль', 'паролем', 0.3],
  ['contract', 'control', 0],
  ['v2', 'v21', 0],
  ['it', 'item', 0],
])('rates a query of %s against %s as %d', (query, token, expected) => {
  expect(similarity(token, one(query))).toBe(expected);
});

it('finds exactly the words of a text that are similar to a query', () => {
  const words = fc.constantFrom(
    'deploy',
    'deploys',
    'key',
    'keys',
    'parole',
    'x1',
    'Über',
    'ubers',
    'migrating',
  );
  fc.assert(
    fc.property(words, words, (query, token) => {
      const word = one(query);
      const file = { path: '/memories/f', content: `- ${token}.\n`, bytes: 9, modified: 0 };
      const found = new WordMatcher([word], 'content').count([file]).best[0] ?? 0;
      expect([query, token, found]).toStrictEqual([query, token, similarity(fold(token), word)]);
    }),
  );
});
