import { numberedLine, prefix } from './messages.ts';

/** A line that is cut keeps at least this many UTF-16 units: any one character fits. */
const MIN_PART = 2;

/** Lines to show, and the hints to print when they do not all fit. */
export interface LinesToShow {
  header: string;
  /** The lines from `start` on: up to `end`, or as many as `maxLinesShown` says. */
  lines: readonly string[];
  /** Numbers of the first and the last line to show. */
  start: number;
  end: number;
  /** The hint after the last complete line, whose number is `last`. */
  truncated(last: number): string;
  /** The hint after a part of line `start`. */
  cut(shown: number, length: number): string;
  /** Whether a line follows `start`, to which a hint can point. */
  hasMore: boolean;
}

/** More lines than this are not shown in `maxChars` (0: no limit), and one more is enough to see that they are not. */
export function maxLinesShown(maxChars: number): number {
  return maxChars > 0 ? Math.ceil(maxChars / (numberedLine(1, '').length + 1)) + 1 : Number.MAX_SAFE_INTEGER;
}

/**
 * Formats the header and the numbered lines. Output beyond `maxChars` UTF-16 units (0: no limit) is cut at the end of
 * a line and ends with a hint. When not even the first line fits, that line is cut, so that following the hints
 * always reaches the end.
 */
export function showLines(show: LinesToShow, maxChars: number): string {
  const { header, lines, start, end } = show;
  const shown = [header];
  let length = header.length;
  for (let number = start; number <= end; number++) {
    const line = numberedLine(number, lines[number - start] ?? '');
    length += 1 + line.length;
    if (maxChars > 0 && length > maxChars) return truncate(shown, length - 1 - line.length, show, maxChars);
    shown.push(line);
  }
  return shown.join('\n');
}

/** @param length of `shown`, joined */
function truncate(shown: string[], length: number, show: LinesToShow, maxChars: number): string {
  const { lines, start } = show;
  const last = () => start + shown.length - 2;
  let left = length;
  while (shown.length > 1 && left + 1 + show.truncated(last()).length > maxChars) {
    left -= 1 + (shown.pop() ?? '').length;
  }
  if (shown.length > 1) return [...shown, show.truncated(last())].join('\n');

  const line = lines[0] ?? '';
  const room =
    maxChars - left - numberedLine(start, '').length - show.cut(line.length, line.length).length - 2;
  const part = prefix(line, Math.min(line.length, Math.max(MIN_PART, room)));
  const hints: string[] = [];
  if (part.length < line.length) hints.push(show.cut(part.length, line.length));
  else if (show.hasMore) hints.push(show.truncated(start));
  return [...shown, numberedLine(start, part), ...hints].join('\n');
}
