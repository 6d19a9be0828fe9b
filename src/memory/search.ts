/** A string, or in tests a stand-in that counts how often it is read. */
export interface CodeUnits {
  readonly length: number;
  charCodeAt(index: number): number;
}

/** `indexOf` makes at most needle × content comparisons, usually far fewer. Beyond this bound, the linear search is used. */
const MAX_COMPARISONS = 2 ** 22;

/**
 * The offsets (UTF-16 units) of the non-overlapping occurrences of a non-empty `needle`, left to right.
 *
 * @param limit the search stops after this many
 */
export function occurrencesOf(
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
 * Like `occurrencesOf`, by Knuth, Morris and Pratt: reads fewer than three characters for each one in needle and content, whatever
 * they are. V8's `indexOf` takes quadratic time for a needle like `aaab aaaa` in a content of `a`.
 */
export function searchLinearly(needle: CodeUnits, content: CodeUnits, limit: number): number[] {
  const offsets: number[] = [];
  const borders = bordersOf(needle);
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

/** For each prefix of `needle`, the length of its longest proper prefix that is also its suffix. */
function bordersOf(needle: CodeUnits): Int32Array {
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
