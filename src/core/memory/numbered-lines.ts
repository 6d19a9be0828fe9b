import { numberedLine, prefix } from './messages.ts';

/** Minimum length of a truncated line in UTF-16 units, enough for any one character. */
const MIN_PART = 2;

/** Lines to show, with the hints for output that does not fit. */
export interface LinesToShow {
  header: string;
  /** The lines from `start` up to `end`, or up to the number returned by `maxLinesShown`. */
  lines: readonly string[];
  /** First and last line number to show. */
  start: number;
  end: number;
  /** Returns the hint after the last complete line, whose number is `last`. */
  truncated(last: number): string;
  /** Returns the hint after a part of line `start`. */
  cut(shown: number, length: number): string;
  /** Whether the file continues after line `start`, so that a hint can refer to the next line. */
  hasMore: boolean;
}

/**
 * Returns one more than the maximum number of lines that fit `maxChars` (0 means no limit). The extra line reveals a
 * truncation.
 */
export function maxLinesShown(maxChars: number): number {
  return maxChars > 0 ? Math.ceil(maxChars / (numberedLine(1, '').length + 1)) + 1 : Number.MAX_SAFE_INTEGER;
}

/** Formatted lines, with the last line's number. */
export interface ShownText {
  text: string;
  last: number;
}

/**
 * Formats the header and the numbered lines. Output beyond `maxChars` UTF-16 units (0 means no limit) is truncated
 * after a line and ends with a hint. If the first line does not fit, that line itself is truncated, so that following
 * the hints always reaches the end.
 */
export function showLines(show: LinesToShow, maxChars: number): ShownText {
  const { header, lines, start, end } = show;
  const shown = [header];
  let length = header.length;
  for (let number = start; number <= end; number++) {
    const line = numberedLine(number, lines[number - start] ?? '');
    length += 1 + line.length;
    if (maxChars > 0 && length > maxChars) return truncate(shown, length - 1 - line.length, show, maxChars);
    shown.push(line);
  }
  return { text: shown.join('\n'), last: end };
}

/** @param length length of `shown`, joined */
function truncate(shown: string[], length: number, show: LinesToShow, maxChars: number): ShownText {
  const { lines, start } = show;
  const last = () => start + shown.length - 2;
  let left = length;
  while (shown.length > 1 && left + 1 + show.truncated(last()).length > maxChars) {
    left -= 1 + (shown.pop() ?? '').length;
  }
  if (shown.length > 1) return { text: [...shown, show.truncated(last())].join('\n'), last: last() };

  const line = lines[0] ?? '';
  const room =
    maxChars - left - numberedLine(start, '').length - show.cut(line.length, line.length).length - 2;
  const part = prefix(line, Math.min(line.length, Math.max(MIN_PART, room)));
  const hints: string[] = [];
  if (part.length < line.length) hints.push(show.cut(part.length, line.length));
  else if (show.hasMore) hints.push(show.truncated(start));
  return { text: [...shown, numberedLine(start, part), ...hints].join('\n'), last: start };
}
