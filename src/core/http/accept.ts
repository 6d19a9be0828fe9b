/**
 * Matches a media range in an `Accept` header. A quoted string may contain commas. An unclosed quote ends with the
 * header.
 */
const RANGE = /(?:"(?:\\.|[^"\\])*(?:"|\\?$)|[^,"])+/g;
/**
 * Maximum number of characters to read. Browsers send about 150, and the time to read a header of the maximum size
 * would add up over many requests.
 */
const MAX_CHARACTERS = 1024;
const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:\\.|[^"\\])*(?:"|\\?$)|[^;]*)/g;

/**
 * Whether an `Accept` header prefers one media type to another. By default, HTTP libraries send several types at equal
 * quality, or a wildcard, so neither the order nor a wildcard counts as a preference.
 */
export function prefers(accept: string | undefined, type: string, other: string): boolean {
  // Most HTTP libraries send `*/*`.
  if (accept === undefined || accept === '*/*') return false;
  return quality(accept, type) > quality(accept, other);
}

/**
 * Returns a media type's quality (0 to 1): the quality of the most specific range that includes the type (RFC 9110,
 * section 12.5.1). Range parameters, such as `charset`, and ranges beyond `MAX_CHARACTERS` are ignored.
 */
export function quality(accept: string, type: string): number {
  const ranges = [type, type.replace(/\/.*/, '/*'), '*/*'];
  let specificity = ranges.length;
  let found = 0;
  for (const [text] of accept.slice(0, MAX_CHARACTERS).matchAll(RANGE)) {
    const range = text.replace(/;.*/s, '').trim().toLowerCase();
    // Java's `HttpURLConnection` writes `*` instead of `*/*`.
    const index = ranges.indexOf(range === '*' ? '*/*' : range);
    if (index === -1 || index > specificity) continue;
    found = index < specificity ? rangeQuality(text) : Math.max(found, rangeQuality(text));
    specificity = index;
  }
  return found;
}

function rangeQuality(range: string): number {
  for (const [, name, value = ''] of range.matchAll(PARAMETER)) {
    if (name?.toLowerCase() !== 'q') continue;
    const given = Number.parseFloat(value.replace('"', ''));
    return Number.isNaN(given) ? 1 : Math.min(Math.max(given, 0), 1);
  }
  return 1;
}
