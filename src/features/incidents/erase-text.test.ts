import { expect, it } from 'vitest';
import { createRandom } from '../../../test/support/random.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { containsText } from './compared-text.ts';
import { cleanPath, listErasedPaths, pathsToRename } from './erase-path.ts';
import { eraseText } from './erase-text.ts';

it.each([
  { content: 'a secret b SECRET', text: 'secret', expected: 'a [erased] b SECRET' },
  { content: 'a secret b SECRET', text: 'secret', ignoresCase: true, expected: 'a [erased] b [erased]' },
  { content: 'one\ntwo\nthree', text: 'two\nth', expected: 'one\n[erased]ree' },
  { content: 'Straße', text: 'STRASSE', ignoresCase: true, expected: '[erased]' },
  { content: 'xßßy', text: 'sss', ignoresCase: true, expected: 'x[erased]y' },
  { content: 'οδος', text: 'ΟΔΟΣ', ignoresCase: true, expected: '[erased]' },
  { content: '😀abc😀', text: 'abc', expected: '😀[erased]😀' },
])('erases $text from $content', ({ content, text, ignoresCase = false, expected }) => {
  expect(eraseText(content, { text, isExact: true, ignoresCase }, '[erased]')).toBe(expected);
});

it.each([
  ['over a line break', 'see Project  Night\nOwl now', 'see [erased] now'],
  ['in another case, in part of a word', 'xPROJECT night owls', 'x[erased]s'],
  ['with a no-break space', 'project\u00a0night owl', '[erased]'],
  ['in full width', 'ｐｒｏｊｅｃｔ ｎｉｇｈｔ ｏｗｌ.', '[erased].'],
  ['with zero-width characters', 'pro\u200bject night o\u00adwl', '[erased]'],
  ['in another word', 'project nightowl', 'project nightowl'],
])('compares normal forms to erase a text: %s', (_, content, expected) => {
  const erased = { text: 'project night owl', isExact: false, ignoresCase: false };
  expect(eraseText(content, erased, '[erased]')).toBe(expected);
});

it.each([
  ['Zo\u00eb Kr\u00fcger', 'ZOE\u0308 kru\u0308ger!', '[erased]!'],
  ['4929123456789012', 'card 4929-1234-5678-9012, 4929 1234 5678 9012', 'card [erased], [erased]'],
  ['4929 1234 5678 9012', 'on 15 4929\u20111234.5678 9012\n', 'on 15 [erased]\n'],
  ['a - b', ' x a-b  y\n', ' x [erased]  y\n'],
  ['1234 5678', '4929 1234 5678 9012', '4929 [erased] 9012'],
])('erases all text with the same normal form as %j', (text, content, expected) => {
  expect(eraseText(content, { text, isExact: false, ignoresCase: false }, '[erased]')).toBe(expected);
});

it('erases a text again if a removal or a replacement creates it', () => {
  expect(eraseText('aabcbcx', { text: 'abc', isExact: true, ignoresCase: false }, '')).toBe('x');
  expect(eraseText('ababc', { text: 'abc', isExact: true, ignoresCase: false }, 'c')).toBe('');
  const random = createRandom(1);
  const characters = ['a', 'b', 'A', 'ß', 's', 'S', '😀', 'İ', 'ς', 'Σ', '\n'];
  const randomText = (length: number) => Array.from({ length }, () => random.of(characters)).join('');
  for (let run = 0; run < 3000; run++) {
    const erased = {
      text: randomText(2 + random.below(3)),
      isExact: random.below(2) === 1,
      ignoresCase: random.below(2) === 1,
    };
    const content = randomText(random.below(30));
    const replacement = random.of(['', 'a', 'ab', '[x]']);
    const isBlank = erased.text.trim() === '';
    if (isBlank || containsText(replacement, erased)) continue;
    const result = eraseText(content, erased, replacement);
    expect([containsText(result, erased), result.isWellFormed()], content).toStrictEqual([false, true]);
    if (!containsText(content, erased)) expect(result).toBe(content);
  }
});

const firstName = (path: string, text: string, longest = 0) =>
  listErasedPaths(path as MemoryPath, { text, isExact: true, ignoresCase: false }, longest).next().value;

it('changes only the last matching name in a path', () => {
  expect(firstName('/memories/a/jane doe.md', 'jane doe')).toBe('/memories/a/erased.md');
  expect(firstName('/memories/foo/bar.md', 'foo/bar')).toBe('/memories/foo/erased');
  expect(firstName('/memories/erased.md', 'erased')).toBe('/memories/removed.md');
  expect(firstName(`/memories/${'abc'.repeat(80)}`, 'abc')).toBe('/memories/erased');
  expect(firstName('/memories/abc', 'abc', 1024)).toBe('/memories/x');
  const erased = { text: 'foo/', isExact: true, ignoresCase: false };
  expect(pathsToRename(['/memories/foo/a' as MemoryPath], erased)).toStrictEqual([
    '/memories/foo',
    '/memories/foo/a',
  ]);
  expect(cleanPath('/memories/foo/a/foo/b' as MemoryPath, erased)).toBe('/memories/erased/a/erased/b');
});
