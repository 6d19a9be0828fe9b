import { fold, foldWithOffsets } from '../../core/lib/folding.ts';
import { ROOT } from '../../core/memory/path.ts';
import { lineNumbersAt } from '../../core/memory/text-changes.ts';
import { cutExcerpt } from './excerpt.ts';
import type { FoundLine, SearchedFile, Where } from './search-query.ts';
import { readText } from './shared-text.ts';
import { findWordEnd, findWordStart, isAsciiLetter, similarity, type Word } from './words.ts';

/** Statistics on a page's files that contain query words. */
export interface WordCounts {
  /** Each file's index in the page. */
  files: number[];
  /** For each file, the words in its best line as a bit set. */
  together: number[];
  /* The arrays below have one element per word for each file. */
  /**
   * Each word's weighted frequency in the content. An occurrence in a heading counts more, and another form of the word
   * counts less.
   */
  inContent: Float64Array;
  /** Each word's weighted frequency in the path. */
  inPath: Float64Array;
  /** Similarity between each word and its best match. */
  best: Float64Array;
}

const MAX_LINES = 3;
const IN_HEADING = 2;
const IN_NAME = 3;
const IN_DIRECTORY = 1.5;
/** Limit on cached tokens. A memory has fewer tokens that begin like the query's words. */
const MAX_REMEMBERED = 20_000;
/** Maximum length for a cached token, in UTF-16 units. A longer substring would keep the whole text in memory. */
const MAX_REMEMBERED_LENGTH = 12;

/** A query word's index, and the token's similarity to the word. */
interface Hit {
  word: number;
  similarity: number;
}

interface Line {
  start: number;
  end: number;
  /** Offset at which the first match starts. */
  offset: number;
  /** Bit set for the matched words. */
  words: number;
  weight: number;
}

/** Finds query words in files. */
export class WordMatcher {
  readonly #words: readonly Word[];
  readonly #where: Where;
  readonly #scan: RegExp;
  readonly #unspaced = new Map<string, number>();
  readonly #hits = new Map<string, readonly Hit[]>();

  constructor(words: readonly Word[], where: Where) {
    this.#words = words;
    this.#where = where;
    for (const [i, { text, isUnspaced }] of words.entries()) if (isUnspaced) this.#unspaced.set(text, i);
    // A pattern contains only letters, digits, and marks, so it needs no escaping.
    this.#scan = new RegExp([...new Set(words.map(({ scan }) => scan))].join('|'), 'g');
  }

  /** Number of words. */
  get words(): number {
    return this.#words.length;
  }

  /** Counts the words in a page's files. */
  count(page: readonly SearchedFile[]): WordCounts {
    const width = this.#words.length;
    const counts: WordCounts = {
      files: [],
      together: [],
      inContent: new Float64Array(page.length * width),
      inPath: new Float64Array(page.length * width),
      best: new Float64Array(page.length * width),
    };
    for (const [i, { path, content, bytes }] of page.entries()) {
      // A file's elements remain 0 if it has none of the words, and the next file uses these elements.
      const at = counts.files.length * width;
      if (this.#where !== 'content') this.#countPath(path, counts, at);
      const together =
        this.#where === 'path' ? 0 : this.#countContent(foldContent(readText(content), bytes), counts, at);
      if (!hasWord(counts.best, at, width)) continue;
      counts.files.push(i);
      counts.together.push(together);
    }
    return counts;
  }

  #countPath(path: string, { inPath, best }: WordCounts, at: number): void {
    const text = fold(path.slice(ROOT.length));
    const name = text.lastIndexOf('/');
    this.#find(text, (offset, hits) => {
      const weight = offset > name ? IN_NAME : IN_DIRECTORY;
      for (const { word, similarity: similar } of hits) add(inPath, best, at + word, similar, weight);
    });
  }

  /** Returns the words in the best line as a bit set. */
  #countContent(text: string, { inContent, best }: WordCounts, at: number): number {
    let [end, heading, words, weight] = [-1, 1, 0, 0];
    let [bestWords, bestWeight] = [0, 0];
    const endLine = () => {
      const more = countBits(words) - countBits(bestWords);
      if (more > 0 || (more === 0 && weight > bestWeight)) [bestWords, bestWeight] = [words, weight];
    };
    this.#find(text, (offset, hits) => {
      if (offset > end) {
        endLine();
        heading = text[text.lastIndexOf('\n', offset) + 1] === '#' ? IN_HEADING : 1;
        end = text.indexOf('\n', offset);
        if (end === -1) end = text.length;
        words = 0;
        weight = 0;
      }
      for (const { word, similarity: similar } of hits) {
        add(inContent, best, at + word, similar, heading);
        if ((words & (1 << word)) === 0) weight += similar * heading;
        words |= 1 << word;
      }
    });
    endLine();
    return bestWords;
  }

  /** Returns a file's best lines, best first. */
  findLines({ content: text, bytes }: Pick<SearchedFile, 'content' | 'bytes'>): FoundLine[] {
    if (this.#where === 'path') return [];
    const content = readText(text);
    const folded = foldContent(content, bytes);
    return cutExcerpts(content, folded, bestLines(this.#linesIn(folded)));
  }

  #linesIn(text: string): Line[] {
    const lines: Line[] = [];
    let line: Line | undefined;
    this.#find(text, (offset, hits) => {
      if (line === undefined || offset > line.end) {
        const start = text.lastIndexOf('\n', offset) + 1;
        const newline = text.indexOf('\n', offset);
        line = { start, end: newline === -1 ? text.length : newline, offset, words: 0, weight: 0 };
        lines.push(line);
      }
      const weight = text[line.start] === '#' ? IN_HEADING : 1;
      for (const { word, similarity: similar } of hits) {
        if ((line.words & (1 << word)) === 0) line.weight += similar * weight;
        line.words |= 1 << word;
      }
    });
    return lines;
  }

  /** Calls `each` for every token that is similar to query words, from left to right. */
  #find(text: string, each: (offset: number, hits: readonly Hit[]) => void): void {
    let seen = 0;
    this.#scan.lastIndex = 0;
    for (let match = this.#scan.exec(text); match !== null; match = this.#scan.exec(text)) {
      const [part] = match;
      const offset = match.index;
      const unspaced = this.#unspaced.get(part);
      if (unspaced !== undefined) {
        each(offset, [{ word: unspaced, similarity: 1 }]);
        // Character pairs overlap.
        this.#scan.lastIndex = offset + 1;
      } else if (offset >= seen) {
        const start = findWordStart(text, offset);
        const isLatin = isAsciiLetter(text.charCodeAt(offset));
        const end = findWordEnd(text, start, isLatin ? offset + part.length : start);
        seen = end;
        const hits = this.#findHits(text.slice(start, end));
        if (hits.length > 0) each(offset, hits);
      }
    }
  }

  #findHits(token: string): readonly Hit[] {
    const known = this.#hits.get(token);
    if (known !== undefined) return known;
    const hits: Hit[] = [];
    for (const [i, word] of this.#words.entries()) {
      const similar = word.isUnspaced ? 0 : similarity(token, word);
      if (similar > 0) hits.push({ word: i, similarity: similar });
    }
    if (this.#hits.size < MAX_REMEMBERED && token.length <= MAX_REMEMBERED_LENGTH)
      this.#hits.set(token, hits);
    return hits;
  }
}

function add(counts: Float64Array, best: Float64Array, at: number, similar: number, weight: number): void {
  counts[at] = (counts[at] ?? 0) + similar * weight;
  best[at] = Math.max(best[at] ?? 0, similar);
}

function hasWord(best: Float64Array, from: number, width: number): boolean {
  for (let at = from; at < from + width; at++) if (best[at] !== 0) return true;
  return false;
}

/** @param bytes size in UTF-8; an ASCII text has no accents or compatibility forms */
function foldContent(content: string, bytes: number): string {
  return bytes === content.length ? content.toLowerCase() : fold(content);
}

function cutExcerpts(content: string, folded: string, lines: readonly Line[]): FoundLine[] {
  const offsets = lines.map(({ offset }) => offset).sort((one, other) => one - other);
  const numbers = lineNumbersAt(folded, offsets);
  return lines.map(({ start, offset }) => {
    const line = numbers[offsets.indexOf(offset)] ?? 1;
    // Folding preserves line numbers, but not the offsets in a line.
    return cutExcerpt(content, line, (text) => foldWithOffsets(text).originStart(offset - start));
  });
}

/** Returns the lines with the most words, best first. */
function bestLines(lines: readonly Line[]): Line[] {
  return lines
    .toSorted((one, other) => countBits(other.words) - countBits(one.words) || other.weight - one.weight)
    .slice(0, MAX_LINES);
}

function countBits(words: number): number {
  let bits = 0;
  for (let left = words; left !== 0; left &= left - 1) bits++;
  return bits;
}
