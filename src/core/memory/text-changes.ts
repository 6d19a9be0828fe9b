/**
 * The line model: a file's lines are `content.split("\n")`. A file that ends with a newline has an empty last line, and
 * CR is an ordinary character (contract, section 1). All functions are pure.
 */
function splitLines(content: string): string[] {
  return content.split('\n');
}

/** Counts the lines in `content` without splitting it. */
export function countLines(content: string): number {
  return countNewlines(content, 0, content.length) + 1;
}

/**
 * Returns at most `maxLines` lines from `content`, starting with line `first` (1-based, within the file). Stops soon
 * after `maxChars` UTF-16 units, so that text beyond the result is not split.
 */
export function linesFrom(content: string, first: number, maxLines: number, maxChars: number): string[] {
  const from = lineOffset(content, first);
  const to = maxChars < content.length - from ? lineEnd(content, from + maxChars) : content.length;
  return content.slice(from, to).split('\n', maxLines);
}

/** Returns the 1-based line numbers for ascending `offsets`, in one pass over `content`. */
export function lineNumbersAt(content: string, offsets: readonly number[]): number[] {
  let line = 1;
  let newline = content.indexOf('\n');
  return offsets.map((offset) => {
    for (; newline !== -1 && newline < offset; newline = content.indexOf('\n', newline + 1)) line++;
    return line;
  });
}

/** File content after a change, and the changed range (UTF-16 offsets, `end` exclusive). */
export interface Change {
  content: string;
  start: number;
  end: number;
}

/** Replaces `length` UTF-16 units at `offset` with `text`. */
export function splice(content: string, offset: number, length: number, text: string): Change {
  return {
    content: content.slice(0, offset) + text + content.slice(offset + length),
    start: offset,
    end: offset + text.length,
  };
}

/** Inserts `text` as lines after line `after`, which must exist; 0 inserts at the start. */
export function insertLines(content: string, after: number, text: string): Change {
  const lineCount = countLines(content);
  if (after === lineCount) return splice(content, content.length, 0, `\n${text}`);
  return splice(content, lineOffset(content, after + 1), 0, `${text}\n`);
}

/** Context lines that a snippet shows above and below a change. */
const LINES_AROUND = 2;

/** Returns the changed lines with their context, and the first line's number. */
export function changeSnippet({ content, start, end }: Change): { lines: string[]; first: number } {
  let from = lineStart(content, start);
  let first = countNewlines(content, 0, from) + 1;
  for (let above = 0; above < LINES_AROUND && from > 0; above++, first--) from = lineStart(content, from - 1);
  let to = lineEnd(content, end);
  for (let below = 0; below < LINES_AROUND && to < content.length; below++) to = lineEnd(content, to + 1);
  return { lines: splitLines(content.slice(from, to)), first };
}

/** Returns the offset of line `number`, which must be within the file. */
function lineOffset(content: string, number: number): number {
  let offset = 0;
  for (let line = 1; line < number; line++) offset = content.indexOf('\n', offset) + 1;
  return offset;
}

function lineStart(content: string, offset: number): number {
  return offset === 0 ? 0 : content.lastIndexOf('\n', offset - 1) + 1;
}

function lineEnd(content: string, offset: number): number {
  const at = content.indexOf('\n', offset);
  return at === -1 ? content.length : at;
}

function countNewlines(content: string, from: number, to: number): number {
  let count = 0;
  for (let at = content.indexOf('\n', from); at !== -1 && at < to; at = content.indexOf('\n', at + 1))
    count++;
  return count;
}

/** A string, or in tests an object that counts its reads. */
export interface CodeUnits {
  readonly length: number;
  charCodeAt(index: number): number;
}

/**
 * Maximum comparisons for `indexOf`. `indexOf` may compare needle × content characters, so the linear search handles
 * larger products.
 */
const MAX_COMPARISONS = 2 ** 22;

/**
 * Returns the offsets (UTF-16 units) for non-overlapping occurrences of a non-empty `needle`, from left to right.
 *
 * @param limit number of occurrences after which the search stops
 */
export function findOccurrences(
  needle: string,
  content: string,
  limit: number = Number.POSITIVE_INFINITY,
): number[] {
  if (needle.length > content.length) return [];
  if (needle.length * content.length > MAX_COMPARISONS) return searchLinearly(needle, content, limit);
  const offsets: number[] = [];
  let at = content.indexOf(needle);
  while (at !== -1 && offsets.length < limit) {
    offsets.push(at);
    at = content.indexOf(needle, at + needle.length);
  }
  return offsets;
}

/**
 * Like `findOccurrences`, by the Knuth-Morris-Pratt algorithm. It reads fewer than three characters per character in
 * needle and content. V8's `indexOf` takes quadratic time for a needle like `aaab aaaa` in a content with only `a`.
 */
export function searchLinearly(needle: CodeUnits, content: CodeUnits, limit: number): number[] {
  const offsets: number[] = [];
  const borders = borderLengths(needle);
  let matched = 0;
  for (let i = 0; i < content.length && offsets.length < limit; i++) {
    const unit = content.charCodeAt(i);
    while (matched > 0 && needle.charCodeAt(matched) !== unit) matched = borders[matched - 1] as number;
    if (needle.charCodeAt(matched) === unit) matched++;
    if (matched === needle.length) {
      offsets.push(i + 1 - matched);
      matched = 0;
    }
  }
  return offsets;
}

/** Returns, for each prefix of `needle`, the length of its longest proper prefix that is also its suffix. */
export function borderLengths(needle: CodeUnits): Int32Array {
  const borders = new Int32Array(needle.length);
  let length = 0;
  for (let i = 1; i < needle.length; i++) {
    const unit = needle.charCodeAt(i);
    while (length > 0 && needle.charCodeAt(length) !== unit) length = borders[length - 1] as number;
    if (needle.charCodeAt(length) === unit) length++;
    borders[i] = length;
  }
  return borders;
}
