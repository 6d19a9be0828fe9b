import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { fuzzParameters } from '../../../test/support/arbitraries.ts';
import { lacksText, requiredTexts } from './required-texts.ts';

describe('requiredTexts', () => {
  it.each([
    ['(?i)replica\\w* .*Lock', ['replica', 'lock']],
    ['[a-z]+ed by the [a-z]+', ['ed by the ']],
    ['colou?r', ['colo']],
    ['abc+def', ['abc', 'def']],
    ['abc{0,3}def', ['def']],
    ['(abc|def)ghi', ['ghi']],
    ['abc|def', []],
    ['\\$100\\.50', ['$100.50']],
    ['\\d{4}-abcd', ['-abcd']],
    ['[]abc]def', ['def']],
    ['[[:alpha:]abc]def', ['def']],
    ['a(?i)bcd', []],
    ['\\Qabc\\E', []],
    ['\\x{61}bcd', []],
    ['(?i)straße', ['stra']],
  ])('finds the required texts in %s', (expression, texts) => {
    expect(requiredTexts(expression).texts).toStrictEqual(texts);
  });

  it('requires a text only if every line that matches contains it', { tags: 'random' }, () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      'ab',
      'aba',
      'K',
      'ſ',
      '.',
      '\\w',
      '\\.',
      '[ab]',
      '[^b]',
      '[]a]',
      '\\s',
      '^',
    );
    const repeated = fc.tuple(
      atom,
      fc.constantFrom('', '', '', '*', '+', '?', '{0}', '{0,2}', '{2}', '+?', '{,2}'),
    );
    const sequence = fc.array(repeated, { minLength: 1, maxLength: 5 }).map((parts) => parts.flat().join(''));
    const group = fc.tuple(sequence, sequence, sequence, fc.constantFrom('', '*', '?', '+'));
    const expression = fc.oneof(
      sequence,
      sequence.map((part) => `(?i)${part}`),
      group.map(([before, inner, after, times]) => `${before}(${inner}|b)${times}${after}`),
      fc.tuple(sequence, sequence).map(([one, other]) => `${one}|${other}`),
    );
    const content = fc.string({
      unit: fc.constantFrom('a', 'b', 'A', 'B', 'k', 'K', '\u212a', 's', '.', '{', ',', '2', '}', '\n', ' '),
    });
    fc.assert(
      fc.property(expression, content, (pattern, text) => {
        let matcher: RE2JS;
        try {
          matcher = RE2JS.compile(pattern);
        } catch {
          return;
        }
        const matches = text.split('\n').some((line) => matcher.test(line));
        const excluded = lacksText(text, Buffer.byteLength(text), requiredTexts(pattern));
        expect([pattern, text, matches && excluded]).toStrictEqual([pattern, text, false]);
      }),
      fuzzParameters(3000),
    );
  });
});
