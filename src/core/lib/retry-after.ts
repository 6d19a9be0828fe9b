/**
 * Parses a `Retry-After` header (RFC 9110, section 10.2.3): a number of seconds, or a date.
 *
 * @returns milliseconds from now, at least 0; undefined if the header is missing or not valid
 */
export function parseRetryAfter(header: string | null | undefined): number | undefined {
  const given = header ?? '';
  const ms = /^\d+(\.\d+)?$/.test(given) ? Number(given) * 1000 : Date.parse(given) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
