import { numberedLine, prefix } from './messages.ts';

/** A line that has to be cut keeps at least this much of itself: a whole character, whatever it is. */
const MIN_PART = 2;

/** Lines to show, and what to say where not all of them fit. */
export interface LinesToShow {
  header: string;
  /** All lines; `start` to `end` of them, by the number of the first line of `lines`, are shown. */
  lines: readonly string[];
  /** The number of the first of `lines`. */
  first: number;
  /** Numbers of the first and the last line to show. */
  start: number;
  end: number;
  /** The hint behind whole lines: the number of the last one shown. */
  truncated(last: number): string;
  /** The hint behind a part of line `start`: so many of its characters. */
  cut(shown: number, length: number): string;
  /** Whether there is a line after `start` that a hint can point to. */
  hasMore: boolean;
}

/**
 * The header and the numbered lines, a line each. What is longer than `maxChars` UTF-16 units (0: no limit) is cut at the
 * end of a line and ends with a hint. Where not even the first line fits it is cut, so that following the hints always
 * comes to the end.
 */
export function showLines(show: LinesToShow, maxChars: number): string {
  const { header, lines, first, start, end } = show;
  const shown = [header];
  let length = header.length;
  for (let number = start; number <= end; number++) {
    const line = numberedLine(number, lines[number - first] ?? '');
    length += 1 + line.length;
    if (maxChars > 0 && length > maxChars) return truncate(shown, length - 1 - line.length, show, maxChars);
    shown.push(line);
  }
  return shown.join('\n');
}

/** @param length of `shown`, joined */
function truncate(shown: string[], length: number, show: LinesToShow, maxChars: number): string {
  const { lines, first, start } = show;
  const last = () => start + shown.length - 2;
  let left = length;
  while (shown.length > 1 && left + 1 + show.truncated(last()).length > maxChars) {
    left -= 1 + (shown.pop() ?? '').length;
  }
  if (shown.length > 1) return [...shown, show.truncated(last())].join('\n');

  const line = lines[start - first] ?? '';
  const room =
    maxChars - left - numberedLine(start, '').length - show.cut(line.length, line.length).length - 2;
  const part = prefix(line, Math.min(line.length, Math.max(MIN_PART, room)));
  const hints: string[] = [];
  if (part.length < line.length) hints.push(show.cut(part.length, line.length));
  else if (show.hasMore) hints.push(show.truncated(start));
  return [...shown, numberedLine(start, part), ...hints].join('\n');
}
