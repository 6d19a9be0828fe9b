import { z } from 'zod';

const DATE_TIME = z.iso.datetime({ offset: true });
const FRACTION = /\.(\d+)/;

/** Postgres writes other years in another way, and reads none from 0000. */
const FOUR_DIGIT_YEAR = /^(?!0000)\d{4}-/;

/**
 * A bound in RFC 3339 with any number of digits, in UTC with microseconds, as times are stored; undefined for another
 * text, or a year that is not 1 to 9999 in UTC. What a bound has beyond microseconds is rounded so that it includes
 * the same times.
 */
export function boundOf(text: string, bound: 'since' | 'until'): string | undefined {
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

/** A time as it is stored, for positions that come back from a caller. */
export const storedTime = z.string().refine((text) => boundOf(text, 'until') === text);

/** A time in RFC 3339 as microseconds since 1970, without what it has beyond those; undefined for another text. */
export function microsecondsOf(text: string): number | undefined {
  const at = boundOf(text, 'until');
  return at === undefined ? undefined : Date.parse(at) * 1000 + Number(at.slice(-4, -1));
}

/** The text of such a time, as Postgres writes it (src/database/query.ts). */
export function timeOf(microseconds: number): string {
  const milliseconds = Math.floor(microseconds / 1000);
  const rest = String(microseconds - milliseconds * 1000).padStart(3, '0');
  return new Date(milliseconds).toISOString().replace('Z', `${rest}Z`);
}
