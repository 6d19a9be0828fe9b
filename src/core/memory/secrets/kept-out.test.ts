import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuzzParameters } from '../../../../test/support/arbitraries.ts';
import { createSecretScanner } from '../../../features/secrets/scanner.ts';
import { halfSipHash } from './half-sip-hash.ts';
import {
  isMaskedForm,
  type KeptOutEntry,
  KeptOutList,
  KeptOutTexts,
  type KeyedHashes,
  keptOutEntry,
  redactionFor,
} from './kept-out.ts';
import { mask } from './secrets.ts';
import { normalForm, tokenize } from './tokens.ts';

const hashes: KeyedHashes = {
  sign: (text) => createHmac('sha256', 'a key').update(text).digest('hex'),
  shortKey: [1, 2],
};

async function keepOut(...lists: string[][]): Promise<KeptOutTexts> {
  const made = lists.map(async (texts) => {
    const entries = await Promise.all(texts.map((text) => keptOutEntry(text, hashes)));
    return new KeptOutList(entries.filter((entry): entry is KeptOutEntry => typeof entry === 'object'));
  });
  return new KeptOutTexts(await Promise.all(made), hashes);
}

const masked = async (texts: KeptOutTexts, text: string) => mask(text, await texts.scan(text));
const textForm = async (text: string) => normalForm(await tokenize(text));

describe('the normal form of a text', () => {
  it.each([
    ['case, white space, and line breaks', '  Ana\tLIVES\r\n here ', 'ana lives here'],
    ['fullwidth digits', '１２ ①', '12 1'],
    ['a letter with a combining mark', 'Cafe\u0301', 'caf\u00e9'],
    ['a sharp s', 'Straße STRASSE', 'strasse strasse'],
    ['a final sigma', 'ΟΔΟΣ οδος', 'οδοσ οδοσ'],
    ['invisible characters', 'pass\u200bw\u00adord\ufeff', 'password'],
    ['an invisible character before a combining mark', 'e\u200b\u0301', '\u00e9'],
    ['halfwidth kana with a voiced sound mark', 'ｶﾞ', 'ガ'],
    ['conjoining letters of Hangul', '\u1112\u1161\u11ab', '한'],
    ['a script without spaces', '田中さん', '田 中 さ ん'],
    ['punctuation', 'a-b, (c)', 'a - b , ( c )'],
    ['an ellipsis', 'wait…', 'wait . . .'],
    ['a letter outside of the basic plane', '𝐀𝐛 😀', 'ab 😀'],
    ['the empty text', '', ''],
  ])("folds %s to the text's normal form", async (_, text, form) => {
    expect(await textForm(text)).toBe(form);
  });

  it('folds all Unicode forms of a text to one normal form', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 30 }), async (text) => {
        const form = await textForm(text);
        for (const other of ['NFC', 'NFD', 'NFKC', 'NFKD'].map((name) => text.normalize(name)))
          expect(await textForm(other)).toBe(form);
        expect(await textForm(form)).toBe(form);
      }),
      fuzzParameters(300),
    );
  });
});

describe('a text that is kept out', () => {
  it.each([
    ['as written', 'see 12 Elm Street now', 'see [REDACTED:kept_out] now'],
    ['in another case and over two lines', 'see 12  ELM\nstreet, now', 'see [REDACTED:kept_out], now'],
    ['with invisible characters', '12 El\u200bm Street', '[REDACTED:kept_out]'],
    ['in fullwidth characters', 'é １２ Ｅｌｍ Ｓｔｒｅｅｔ.', 'é [REDACTED:kept_out].'],
    ['twice', '12 elm street/12 elm street', '[REDACTED:kept_out]/[REDACTED:kept_out]'],
    ['in part of a word', '112 elm street, 12 elm streets', '112 elm street, 12 elm streets'],
    ['with a word between', '12 old elm street', '12 old elm street'],
    ['around a placeholder', '12 [REDACTED:jwt] elm street', '12 [REDACTED:jwt] elm street'],
  ])('masks a kept-out text: %s', async (_, text, result) => {
    expect(await masked(await keepOut(['12 Elm Street']), text)).toBe(result);
  });

  it.each([
    ['4929 1234 5678 9012', 'card 4929123456789012.', 'card [REDACTED:kept_out].'],
    ['4929123456789012', 'card 4929-1234-5678-9012.', 'card [REDACTED:kept_out].'],
    ['4929123456789012', '2026 ４９２９ 1234\u00a05678\n9012 17', '2026 [REDACTED:kept_out] 17'],
    [
      '4929.1234.5678.9012',
      '3782 822463 10005; 4929\u20111234 - 5678 9012',
      '3782 822463 10005; [REDACTED:kept_out]',
    ],
    ['4929123456789012', '14929-1234-5678-9012', '14929-1234-5678-9012'],
    ['4929123456789012', '4929-1234, 5678-9012', '4929-1234, 5678-9012'],
  ])('compares a number by its digits: the kept-out text %s in %j', async (entry, text, result) => {
    expect(await masked(await keepOut([entry]), text)).toBe(result);
  });

  it('finds a kept-out number if an edit adds its last digit', async () => {
    const texts = await keepOut(['4929123456789012']);
    const text = `${'word '.repeat(50)}4929 - 1234 - 5678 - 9012`;
    expect(await texts.scan(text, { start: text.length - 1, end: text.length })).toHaveLength(1);
  });

  it('returns a normal form that is at most three times as long as the text', async () => {
    for (const text of ['\ufdfa', '\ufdfb', '\u3316', '\u337f', '\u2026', '\u00bd', '\ufb03', '\u0390'])
      expect((await tokenize(text)).normal.length, text).toBeLessThanOrEqual(3);
    const marks = `a${'\u0301\u0316'.repeat(2000)}`;
    expect((await tokenize(marks)).normal.length).toBeLessThanOrEqual(marks.length);
    expect(await masked(await keepOut(['12 Elm Street']), `${'\ufdfa'.repeat(50)} １２ elm street`)).toBe(
      `${'\ufdfa'.repeat(50)} [REDACTED:kept_out]`,
    );
  });

  it('finds an entry after it is added to a list, and no longer after it is removed', async () => {
    const entries = (await Promise.all(
      Array.from({ length: 100 }, (_, i) => keptOutEntry(`one two three four ${i}`, hashes)),
    )) as KeptOutEntry[];
    const list = new KeptOutList();
    const texts = new KeptOutTexts([list], hashes);
    for (const entry of entries) list.add(entry);
    for (const entry of entries.slice(0, 50)) list.remove(entry);
    expect(list.size).toBe(50);
    expect(await texts.scan('one two three four 49')).toStrictEqual([]);
    expect(await texts.scan('one two three four 50')).toHaveLength(1);
    for (const entry of entries.slice(50)) list.remove(entry);
    list.add(entries[0] as KeptOutEntry);
    expect(await texts.scan('one two three four 0')).toHaveLength(1);
  });

  it('masks overlapping matches as one, from one list or from two', async () => {
    const texts = await keepOut(['alpha beta', 'beta gamma delta'], ['gamma delta epsilon']);
    expect(await masked(texts, 'x alpha beta gamma delta epsilon y')).toBe('x [REDACTED:kept_out] y');
  });

  it('does not mask a kept-out text inside a placeholder', async () => {
    const texts = await keepOut(['redacted', 'kept_out', 'aws_access_key']);
    expect(await masked(texts, 'kept_out')).toBe('[REDACTED:kept_out]');
    expect(await masked(texts, '[REDACTED:kept_out] [REDACTED:aws_access_key]')).toBe(
      '[REDACTED:kept_out] [REDACTED:aws_access_key]',
    );
  });

  it.each([
    ['in the middle', 'a [REDACTED:kept_out] b', 'a secret b', true],
    ['twice', '[REDACTED:kept_out]/[REDACTED:kept_out]', 'x/y', true],
    ['nowhere', 'a b', 'a b', true],
    ['nowhere, in another text', 'a b', 'a c', false],
    ['in a text with another end', 'a [REDACTED:kept_out] b', 'a secret c', false],
    ['in a text with another middle', '[REDACTED:kept_out] a [REDACTED:kept_out]', 'x b y', false],
    ['in place of nothing', 'a[REDACTED:kept_out]b', 'ab', false],
  ])(
    "decides whether one text is another text's masked form, with the placeholder %s",
    (_, stored, text, isMask) => {
      expect(isMaskedForm(stored, text)).toBe(isMask);
    },
  );

  it.each(['a', 'é', 'e\u0301'])(
    'finds a kept-out text that crosses two parts of a long text of %j',
    async (filler) => {
      const texts = await keepOut(['12 Elm Street now', 'one two three four five']);
      for (const entry of ['12 elm street now', 'one two three four five']) {
        const scans = Array.from({ length: 24 }, (_, i) => {
          const before = `${filler} `.repeat(Math.floor((0x4000 - i) / (filler.length + 1)));
          return masked(texts, `${before}${entry}, ${before}`);
        });
        for (const text of await Promise.all(scans))
          expect(text.replaceAll(`${filler} `, '')).toBe('[REDACTED:kept_out], ');
      }
    },
  );

  it('rejects a kept-out text that is too short or too long', async () => {
    expect(await keptOutEntry('a-b-c', hashes)).toBe('too_short');
    expect(await keptOutEntry(' \n', hashes)).toBe('too_short');
    expect(await keptOutEntry('田中', hashes)).toMatchObject({ tokens: 2 });
    expect(await keptOutEntry('x '.repeat(257), hashes)).toBe('too_long');
    expect(await keptOutEntry('x '.repeat(256), hashes)).toMatchObject({ tokens: 256 });
  });

  it('finds a kept-out text wherever its tokens occur, and nowhere else', async () => {
    const word = fc.constantFrom('ana', 'ANA', 'bo', 'e\u0301', 'ｶﾞ', '田', '-', 'x\u200by', '😀', '12');
    const space = fc.constantFrom(' ', '  ', '\n', '\u00a0');
    const words = fc.array(fc.tuple(word, space), { maxLength: 24 });
    const joinParts = (parts: [string, string][]) => parts.flat().join('');
    const kept = fc.array(fc.array(fc.tuple(word, space), { minLength: 1, maxLength: 7 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(words, kept, fc.nat(60), fc.nat(20), async (parts, entries, from, length) => {
        const text = joinParts(parts);
        const entryForms: string[][] = [];
        for (const entry of entries) {
          if (typeof (await keptOutEntry(joinParts(entry), hashes)) === 'object')
            entryForms.push((await textForm(joinParts(entry))).split(' '));
        }
        const { scan } = await keepOut(entries.map(joinParts)).then((texts) => ({
          scan: (near?: { start: number; end: number }) => texts.scan(text, near),
        }));
        // The model compares words, whose normal forms are independent of each other.
        const covered = new Set<number>();
        const forms = await Promise.all(parts.map(([each]) => textForm(each)));
        for (const entry of entryForms) {
          for (let i = 0; i + entry.length <= forms.length; i++)
            if (entry.every((form, j) => forms[i + j] === form))
              for (let j = i; j < i + entry.length; j++) covered.add(j);
        }
        const findings = await scan();
        let at = 0;
        parts.forEach(([each, gap], i) => {
          const isFound = findings.some(({ start, end }) => start <= at && at + each.length <= end);
          expect(isFound, `word ${i} of ${JSON.stringify(text)}`).toBe(covered.has(i));
          at += each.length + gap.length;
        });
        const start = Math.min(from, text.length);
        const near = { start, end: Math.min(start + length, text.length) };
        const touches = (each: { start: number; end: number }) =>
          each.start < near.end && each.end > near.start;
        expect((await scan(near)).filter(touches)).toStrictEqual(findings.filter(touches));
      }),
      fuzzParameters(500),
    );
  });

  it('rejects a kept-out text if secrets are stored; otherwise, handles it like a secret', async () => {
    const scanner = createSecretScanner();
    const texts = await keepOut(['12 Elm Street']);
    expect(redactionFor('store', scanner, undefined)).toBeUndefined();
    expect(redactionFor('store', scanner, texts)?.mode).toBe('reject');
    const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
    const both = redactionFor('mask', scanner, texts);
    const text = `${token} at 12 elm street`;
    expect(both?.mode).toBe('mask');
    expect(mask(text, (await both?.scanner.scan(text)) ?? [])).toBe(
      '[REDACTED:github_token] at [REDACTED:kept_out]',
    );
  });
});

describe('HalfSipHash-1-3', () => {
  // Test vectors from Linux (lib/test_siphash.c) for inputs with 0, 2, 4, 6, and 8 bytes.
  it.each([
    [0, 0x5814c896],
    [1, 0xbc4b0e30],
    [2, 0x7e059ea6],
    [3, 0xa0080b65],
    [4, 0x577999b1],
  ])('returns the known hash for %i units', (units, expected) => {
    const input = String.fromCharCode(...Array.from({ length: 4 }, (_, i) => 2 * i + ((2 * i + 1) << 8)));
    expect(halfSipHash([0x03020100, 0x07060504], input, 0, units) >>> 0).toBe(expected);
  });
});
