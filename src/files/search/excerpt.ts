/** Maximum length of a line that is shown completely. */
const MAX_LENGTH = 300;
/** Number of characters shown before the match in a longer line. */
const BEFORE = 60;
const ELLIPSIS = '…';

/**
 * Returns line `line` (1-based) of a file for a result: the whole line, or the part around a match.
 *
 * @param columnOf returns the position of the match in the line
 */
export function excerptOf(content: string, line: number, columnOf: (line: string) => number): string {
  let start = 0;
  for (let number = 1; number < line; number++) start = content.indexOf('\n', start) + 1;
  const newline = content.indexOf('\n', start);
  const text = content.slice(start, newline === -1 ? content.length : newline);
  if (text.length <= MAX_LENGTH) return text;
  const from = Math.max(0, Math.min(columnOf(text) - BEFORE, text.length - MAX_LENGTH));
  const part = text.slice(from, from + MAX_LENGTH).toWellFormed();
  return `${from > 0 ? ELLIPSIS : ''}${part}${from + MAX_LENGTH < text.length ? ELLIPSIS : ''}`;
}
