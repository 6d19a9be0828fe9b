import { numberedLine } from './messages.ts';

/**
 * The line model: a file's lines are `content.split("\n")`, so a file that ends in a newline has an empty last
 * line, and CR is an ordinary character (contract, section 1). Everything here is pure.
 */
export function splitLines(content: string): string[] {
  return content.split('\n');
}

/** How many lines `content` has, without making them. */
export function countLines(content: string): number {
  return countNewlines(content, 0, content.length) + 1;
}

/** The offsets (UTF-16 units) of the non-overlapping occurrences of a non-empty `needle`, left to right. */
export function occurrencesOf(needle: string, content: string): number[] {
  const offsets: number[] = [];
  for (let at = content.indexOf(needle); at !== -1; at = content.indexOf(needle, at + needle.length)) {
    offsets.push(at);
  }
  return offsets;
}

/** The 1-based line numbers of ascending `offsets`. */
export function linesOfOffsets(content: string, offsets: readonly number[]): number[] {
  let line = 1;
  let from = 0;
  return offsets.map((offset) => {
    line += countNewlines(content, from, offset);
    from = offset;
    return line;
  });
}

/** A content after a change, and which part of it is new: UTF-16 offsets, `end` exclusive. */
export interface Change {
  content: string;
  start: number;
  end: number;
}

/** `content` with `length` units at `offset` replaced by `text`. */
export function splice(content: string, offset: number, length: number, text: string): Change {
  return {
    content: content.slice(0, offset) + text + content.slice(offset + length),
    start: offset,
    end: offset + text.length,
  };
}

/** `text` put in as lines after line `after` (0: at the start); `after` must be within the file. */
export function insertLines(content: string, after: number, text: string): Change {
  const lineCount = countLines(content);
  if (after === lineCount) return splice(content, content.length, 0, `\n${text}`);
  let offset = 0;
  for (let line = 0; line < after; line++) offset = content.indexOf('\n', offset) + 1;
  return splice(content, offset, 0, `${text}\n`);
}

/** So many lines above a change and below it a snippet shows, where there are as many. */
export const LINES_AROUND = 2;

/** The snippet that shows a change: its lines, numbered, with those around it. */
export function snippetOf({ content, start, end }: Change): string {
  let from = lineStart(content, start);
  let number = countNewlines(content, 0, from) + 1;
  for (let above = 0; above < LINES_AROUND && from > 0; above++, number--)
    from = lineStart(content, from - 1);
  let to = lineEnd(content, end);
  for (let below = 0; below < LINES_AROUND && to < content.length; below++) to = lineEnd(content, to + 1);
  return splitLines(content.slice(from, to))
    .map((line, i) => numberedLine(number + i, line))
    .join('\n');
}

/** Where the line begins that `offset` is in. */
function lineStart(content: string, offset: number): number {
  return offset === 0 ? 0 : content.lastIndexOf('\n', offset - 1) + 1;
}

/** Where the line ends that `offset` is in. */
function lineEnd(content: string, offset: number): number {
  const at = content.indexOf('\n', offset);
  return at === -1 ? content.length : at;
}

/** The largest prefix of `text` of at most `length` UTF-16 units that does not end within a surrogate pair. */
export function prefix(text: string, length: number): string {
  const unit = text.charCodeAt(length - 1);
  const splitsPair = length < text.length && unit >= 0xd800 && unit <= 0xdbff;
  return text.slice(0, splitsPair ? length - 1 : length);
}

function countNewlines(content: string, from: number, to: number): number {
  let count = 0;
  for (let at = content.indexOf('\n', from); at !== -1 && at < to; at = content.indexOf('\n', at + 1))
    count++;
  return count;
}
