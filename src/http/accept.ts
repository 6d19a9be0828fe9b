/** Media ranges of an `Accept` header. Commas may be in quotes; quotes that are not closed end with the header. */
const RANGE = /(?:"(?:\\.|[^"\\])*(?:"|\\?$)|[^,"])+/g;
const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:\\.|[^"\\])*(?:"|\\?$)|[^;]*)/g;

/**
 * Whether an `Accept` header gives a media type a higher quality than another one. HTTP libraries list several types
 * at equal quality by default, or any type, and then have no preference: neither the order nor a wildcard is one.
 */
export function prefers(accept: string | undefined, type: string, other: string): boolean {
  return accept !== undefined && quality(accept, type) > quality(accept, other);
}

/**
 * Returns the quality of a media type in an `Accept` header, 0 to 1: the quality of the most specific range that
 * includes the type (RFC 9110, section 12.5.1). Parameters of ranges are ignored, such as `charset`.
 */
export function quality(accept: string, type: string): number {
  const ranges = [type, type.replace(/\/.*/, '/*'), '*/*'];
  let specificity = ranges.length;
  let found = 0;
  for (const [text] of accept.matchAll(RANGE)) {
    const range = text.replace(/;.*/s, '').trim().toLowerCase();
    // `HttpURLConnection` of Java writes `*` for any type.
    const index = ranges.indexOf(range === '*' ? '*/*' : range);
    if (index === -1 || index > specificity) continue;
    found = index < specificity ? qualityOf(text) : Math.max(found, qualityOf(text));
    specificity = index;
  }
  return found;
}

function qualityOf(range: string): number {
  for (const [, name, value = ''] of range.matchAll(PARAMETER)) {
    if (name?.toLowerCase() !== 'q') continue;
    const given = Number.parseFloat(value.replace('"', ''));
    return Number.isNaN(given) ? 1 : Math.min(Math.max(given, 0), 1);
  }
  return 1;
}
