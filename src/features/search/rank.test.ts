import { expect, it } from 'vitest';
import { WordMatcher } from './match-words.ts';
import { logLength, rank } from './rank.ts';
import { toWordsFiles } from './results.ts';
import { queryWords } from './words.ts';

const NOW = 1_800_000_000;

/** Returns the file paths that a search by words finds, best first. */
function ranked(query: string, contents: Record<string, string>): string[] {
  const words = queryWords(query);
  const matcher = new WordMatcher(words, 'both');
  const files = Object.entries(contents).map(([path, content]) => ({
    path: `/memories/${path}`,
    content,
    bytes: Buffer.byteLength(content),
    modified: NOW,
  }));
  const found = toWordsFiles(matcher.count(files), files, words.length);
  const corpus = {
    files: files.length,
    logLengths: files.reduce((sum, file) => sum + logLength(file), 0),
    frequencies: words.map((_, i) => found.reduce((sum, { best }) => sum + (best[i] ?? 0), 0)),
  };
  return rank(found, corpus, NOW).map(({ path }) => path.slice('/memories/'.length));
}

/** Fills files with words that no query has. */
const filler = (words: number) => 'lorem ipsum dolor\n'.repeat(words / 3);
const others = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`other${i}`, filler(60)]));

it("ranks a short file with two of the query's words above a file 20 times as long with all three", () => {
  const long = `alpha\n${filler(2000)}beta\n${filler(2000)}gamma\n`;
  const short = `alpha\nbeta\n${filler(100)}`;
  expect(ranked('alpha beta gamma', { ...others, long, short })).toStrictEqual(['short', 'long']);
});

it('ranks a long file with a rare word above short files that contain only a common word', () => {
  const common = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [`common${i}`, `alpha\n${filler(60)}`]),
  );
  const long = `${filler(600)}alpha beta\n`;
  expect(ranked('alpha beta', { ...others, ...common, long })[0]).toBe('long');
});

it("ignores a file's length in the ranking if the file is shorter than a passage", () => {
  const files = { b: 'alpha', a: `alpha ${'x '.repeat(80)}` };
  expect(ranked('alpha', { ...others, ...files })).toStrictEqual(['a', 'b']);
});

it("ranks a file with exactly the query's word above a file with many words that begin with it", () => {
  const files = { similar: 'keyboard keyhole keynote keystone\n'.repeat(5), exact: `a key\n${filler(30)}` };
  expect(ranked('key', { ...others, ...files })).toStrictEqual(['exact', 'similar']);
});

it('ranks a file with all words in one line above a file with the words in separate lines', () => {
  const files = { apart: 'alpha one\nbeta two\ngamma three', joined: 'alpha beta gamma\none\ntwo three ' };
  expect(ranked('alpha beta gamma', { ...others, ...files })).toStrictEqual(['joined', 'apart']);
});

it('ranks a file whose name contains the word above a file with the word in a line', () => {
  const files = { 'alpha.md': 'one', 'b.md': 'one alpha two' };
  expect(ranked('alpha', { ...others, ...files })).toStrictEqual(['alpha.md', 'b.md']);
});

it('keeps the order of the results if a far longer file is added', () => {
  const files = { a: `alpha\n${filler(90)}`, b: `alpha alpha alpha\n${filler(900)}` };
  const order = ranked('alpha', { ...others, ...files });
  expect(ranked('alpha', { ...others, ...files, huge: filler(300_000) })).toStrictEqual(order);
});

it('ranks the chapter that a query names above the other chapters', () => {
  const chapters = Object.fromEntries(
    Array.from({ length: 9 }, (_, i) => [
      `chapter${i + 1}`,
      `# 第${i + 1}章 第${i + 1}節\n${'本文の説明。'.repeat(9 - i)}`,
    ]),
  );
  expect(ranked('第5章', chapters)[0]).toBe('chapter5');
  expect(ranked('第5章', { a: '第3章、第3章、第3章', b: '第5章' })[0]).toBe('b');
});
