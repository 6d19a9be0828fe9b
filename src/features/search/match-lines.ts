import { RE2JS } from 're2js';
import { foldParts, withoutCase } from '../../core/lib/folding.ts';
import { findOccurrences, lineNumbersAt } from '../../core/memory/text-changes.ts';
import { cutExcerpt } from './excerpt.ts';
import type { LineMode } from './modes.ts';
import { lacksText, requiredTexts } from './required-texts.ts';
import type { FoundLine, Query, SearchedFile, Where } from './search-query.ts';
import { readText } from './shared-text.ts';

/** Lines in a file that match a text or an expression. */
interface MatchingLines {
  /** Empty if only the path matches. */
  lines: FoundLine[];
  /** Number of matching lines. `lines` contains only the first matching lines. */
  count: number;
}

/** A compiled text or expression. */
interface Pattern {
  isIn(path: string): boolean;
  /**
   * Returns the matching line numbers, from 1.
   *
   * @param bytes content size in UTF-8
   */
  linesIn(content: string, bytes: number): number[];
  /** Returns the match position in a line. */
  columnIn(line: string): number;
}

const PATTERNS: Record<LineMode, (text: string, ignoresCase?: boolean) => Pattern> = { literal, regex };

/** Finds lines in files that match a text or an expression. */
export class LineMatcher {
  readonly #pattern: Pattern;
  readonly #where: Where;

  constructor(query: Exclude<Query, { mode: 'words' }>) {
    this.#pattern = PATTERNS[query.mode](query.text, query.ignoresCase);
    this.#where = query.where;
  }

  /** @param maxLines line limit for the result */
  match({ path, content: text, bytes }: SearchedFile, maxLines: number): MatchingLines | undefined {
    const content = this.#where === 'path' ? '' : readText(text);
    const found = this.#where === 'path' ? [] : this.#pattern.linesIn(content, bytes);
    if (found.length === 0 && (this.#where === 'content' || !this.#pattern.isIn(path))) return undefined;
    const lines = found.slice(0, maxLines).map((line) => cutExcerpt(content, line, this.#pattern.columnIn));
    return { lines, count: Math.max(1, found.length) };
  }
}

function literal(text: string, ignoresCase = false): Pattern {
  const prepared = ignoresCase ? withoutCase : (given: string) => given;
  const searched = prepared(text);
  const [firstLine = ''] = searched.split('\n', 1);
  return {
    isIn: (path) => prepared(path).includes(searched),
    linesIn: (content) => {
      const all = prepared(content);
      return [...new Set(lineNumbersAt(all, findOccurrences(searched, all)))];
    },
    columnIn: (line) => {
      const { text: compared, originStart } = foldParts(line, prepared);
      // A text with several lines begins at the end of the line.
      const isWhole = firstLine.length === searched.length;
      return originStart(isWhole ? compared.indexOf(firstLine) : compared.length - firstLine.length);
    },
  };
}

/** Syntax whose meaning differs between line edges and file edges. */
const DEPENDS_ON_EDGES = /\\[Az]|\(\?[a-zA-Z]*-/;

/** Matches line by line, as grep does. */
function regex(expression: string): Pattern {
  const line = RE2JS.compile(expression);
  const required = requiredTexts(expression);
  // An expression that matches a line also matches the whole file, and checking the file first is faster.
  const file = DEPENDS_ON_EDGES.test(expression) ? undefined : RE2JS.compile(expression, RE2JS.MULTILINE);
  return {
    isIn: (path) => line.test(path),
    linesIn: (content, bytes) => {
      if (lacksText(content, bytes, required)) return [];
      if (file?.test(content) === false) return [];
      return content.split('\n').flatMap((each, i) => (line.test(each) ? [i + 1] : []));
    },
    columnIn: (text) => {
      const matcher = line.matcher(text);
      return matcher.find() ? matcher.start() : 0;
    },
  };
}
