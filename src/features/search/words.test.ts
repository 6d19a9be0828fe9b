import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { character, fuzzParameters, unicodeSample } from '../../../test/support/arbitraries.ts';
import { fold } from '../../core/lib/folding.ts';
import { LineMatcher } from './match-lines.ts';
import { WordMatcher } from './match-words.ts';
import { queryWords, similarity, stem } from './words.ts';

const one = (query: string) => {
  const [word] = queryWords(query);
  if (word === undefined) throw new Error('no word');
  return word;
};

it('keeps the line count when it folds a text', { tags: 'random' }, () => {
  fc.assert(
    fc.property(fc.string({ unit: character }), (text) => {
      expect(fold(`${text}\n`).split('\n').length).toBe(`${text}\n`.split('\n').length);
    }),
    fuzzParameters(200),
  );
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
    ['第5章', ['第', '5', '章']],
    ['2026年3月', ['2026', '年', '3', '月']],
    ['apiключ', ['api', 'ключ']],
    ['🚀api', ['api']],
    ['?!', []],
  ])('splits the query %s into words', (query, words) => {
    expect(queryWords(query).map(({ text }) => text)).toStrictEqual(words);
  });

  it('returns at most 32 words for a query', () => {
    const query = Array.from({ length: 100 }, (_, i) => `word${i}`).join(' ');
    expect(queryWords(query)).toHaveLength(32);
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
])('compares the query %s with the word %s: the similarity is %d', (query, token, expected) => {
  expect(similarity(token, one(query))).toBe(expected);
});

it('finds exactly those words in a text that are similar to a query', () => {
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

/** Returns how many of the query's words a content has, and its best line's text. */
function foundIn(query: string, content: string) {
  const words = queryWords(query);
  const file = { path: '/memories/f', content, bytes: Buffer.byteLength(content), modified: 0 };
  const matcher = new WordMatcher(words, 'content');
  const { best } = matcher.count([file]);
  return {
    missing: words.filter((_, i) => best[i] !== 1).length,
    line: matcher.findLines(file)[0]?.text ?? '',
  };
}

describe('words in a text', () => {
  it.each([
    ['AI', 'AI技術の導入'],
    ['2026', '2026年3月15日'],
    ['DB', 'DB에 저장'],
    ['API', 'ใช้APIใหม่'],
    ['API技術', 'API の技術'],
    ['技術', 'AI技術'],
    ['ключ', 'APIключ'],
    ['API', 'APIключ2'],
    ['cafe1', 'πcafe1δ'],
    ['第5章', '第5章: 結論'],
    ['9fceb02d0ae598e95dc970b74767f19372d61af8', 'commit 9fceb02d0ae598e95dc970b74767f19372d61af8.'],
    [
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855',
    ],
    ['한국어', '한국어'.normalize('NFD')],
    ['ガイドブック'.normalize('NFD'), 'ガイドブックを読む'],
    ['file api', '\ufb01le \u{1d400}\u{1d429}\u{1d422}'],
    ['كتاب', 'كِتَـــاب'],
    ['שלום', 'שָׁלוֹם'],
    ['hyphen', 'hy\u00adphen'],
    ['می\u200cخواهم', 'میخواهم'],
    ['api', '🚀api🚀'],
    ['𐐀𐐁', '🚀𐐨𐐩.'],
  ])('finds %s in %s', (query, content) => {
    expect(queryWords(query).length).toBeGreaterThan(0);
    expect(foundIn(query, content).missing).toBe(0);
  });

  it.each([
    ['5', '第3章'],
    [
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b856',
    ],
    ['ガス', 'カス'],
  ])('does not find %s in %s', (query, content) => {
    expect(foundIn(query, content).missing).toBe(1);
  });

  it('finds a letter in composed or decomposed form with a query in the other form', {
    tags: 'random',
  }, () => {
    const missed: string[] = [];
    for (const letter of unicodeSample().characters) {
      const other = letter.normalize('NFD');
      if (other === letter || !/^\p{L}/u.test(letter)) continue;
      for (const [query, content] of [
        [letter, other],
        [other, letter],
      ] as const) {
        const { missing, line } = foundIn(query, `- ${content}`);
        if (missing > 0 || line === '') missed.push(letter);
      }
    }
    expect(missed).toStrictEqual([]);
  });

  it.each(['ß', '½', 'e\u0301', '\ufdfa', 'a\u200b', '\u00ad', '한'.normalize('NFD')])(
    'shows the match in a long line even after many characters that folding changes, such as %s',
    (character) => {
      for (const after of [400, 5000]) {
        const content = `# first\n${`${character} `.repeat(after)}needle ${'end '.repeat(200)}`;
        expect(foundIn('needle', content).line).toContain('needle');
      }
    },
  );

  it.each(['ß', 'İ', 'ŉ', 'ﬃ'])(
    'shows a match that ignores case even after many characters that change their length: %s',
    (character) => {
      const content = `${character.repeat(5000)} NEEDLE ${'end '.repeat(200)}`;
      const query = { mode: 'literal', text: 'needle', ignoresCase: true, where: 'content' } as const;
      const file = { path: '/memories/f', content, bytes: Buffer.byteLength(content), modified: 0 };
      expect(new LineMatcher(query).match(file, 1)?.lines[0]?.text).toContain('NEEDLE');
    },
  );
});
