import type { FoundLine } from './search-query.ts';

/** Maximum line length that is shown completely. */
const MAX_LENGTH = 300;
/** Characters shown before the match in a longer line. */
const BEFORE = 60;
const ELLIPSIS = '…';

/**
 * Returns a file's line `line` (1-based) for a result: the whole line, or the part around a match.
 *
 * @param findColumn returns the match position in the line
 */
export function cutExcerpt(content: string, line: number, findColumn: (line: string) => number): FoundLine {
  const text = readLine(content, line);
  const from =
    text.length <= MAX_LENGTH
      ? 0
      : Math.max(0, Math.min(findColumn(text) - BEFORE, text.length - MAX_LENGTH));
  return { line, text: partFrom(text, from), from };
}

/** Returns the excerpt that `cutExcerpt` found, from the same content. */
export function excerptAt(content: string, { line, from }: Pick<FoundLine, 'line' | 'from'>): string {
  return partFrom(readLine(content, line), from);
}

function readLine(content: string, line: number): string {
  let start = 0;
  for (let number = 1; number < line; number++) start = content.indexOf('\n', start) + 1;
  const newline = content.indexOf('\n', start);
  return content.slice(start, newline === -1 ? content.length : newline);
}

function partFrom(text: string, from: number): string {
  if (text.length <= MAX_LENGTH) return text;
  const part = text.slice(from, from + MAX_LENGTH).toWellFormed();
  return `${from > 0 ? ELLIPSIS : ''}${part}${from + MAX_LENGTH < text.length ? ELLIPSIS : ''}`;
}
