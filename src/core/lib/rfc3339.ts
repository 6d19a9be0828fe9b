import { z } from 'zod';

const DATE_TIME = z.iso.datetime({ offset: true });
const FRACTION = /\.(\d+)/;

/** Postgres formats other years differently, and cannot read the year 0000. */
const FOUR_DIGIT_YEAR = /^(?!0000)\d{4}-/;

/**
 * Converts a bound in RFC 3339 to UTC with microseconds, the format for stored times. Further digits are rounded so
 * that the bound includes the same stored times.
 *
 * @returns undefined if the text is not a time, or if its year in UTC is not between 1 and 9999
 */
export function parseBound(text: string, bound: 'since' | 'until'): string | undefined {
  if (text.length > 64 || !DATE_TIME.safeParse(text).success) return undefined;
  const digits = FRACTION.exec(text)?.[1] ?? '';
  const seconds = Date.parse(text.replace(FRACTION, ''));
  const isBetween = /[1-9]/.test(digits.slice(6));
  const microseconds = Number(digits.slice(0, 6).padEnd(6, '0')) + (isBetween && bound === 'since' ? 1 : 0);
  const at = new Date(seconds + Math.floor(microseconds / 1_000_000) * 1000);
  if (Number.isNaN(at.getTime()) || !FOUR_DIGIT_YEAR.test(at.toISOString())) return undefined;
  const fraction = String(microseconds % 1_000_000).padStart(6, '0');
  return at.toISOString().replace(/\.\d+Z$/, `.${fraction}Z`);
}

/** A stored time in a position that a caller sends back. */
export const storedTime = z.string().refine((text) => parseBound(text, 'until') === text);

/**
 * Converts a time in RFC 3339 to microseconds since 1970, without further digits.
 *
 * @returns undefined if the text is not a valid time
 */
export function parseMicroseconds(text: string): number | undefined {
  const at = parseBound(text, 'until');
  return at === undefined ? undefined : Date.parse(at) * 1000 + Number(at.slice(-4, -1));
}

/** Converts microseconds since 1970 to a time in Postgres' format (src/core/database/query.ts). */
export function formatMicroseconds(microseconds: number): string {
  const milliseconds = Math.floor(microseconds / 1000);
  const rest = String(microseconds - milliseconds * 1000).padStart(3, '0');
  return new Date(milliseconds).toISOString().replace('Z', `${rest}Z`);
}
