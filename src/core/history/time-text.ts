import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { parseDuration } from '../lib/units.ts';

const DATE_TIME = z.iso.datetime({ offset: true, local: true });
const HOUR_AND_MINUTE = /T\d\d:\d\d(?=$|[Z+-])/;
const OFFSET = /(?:Z|[+-]\d\d:\d\d)$/;
const FRACTION = /\.(?<digits>\d+)/;

/** First and last time whose year both JavaScript and Postgres write with four digits. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Parses a time given by an operator, and returns it in UTC with microseconds (`2026-11-22T09:30:00.123456Z`). Accepts
 * ISO 8601, or a duration before `now`. A date without a time means midnight, and a time without an offset is UTC.
 * Times in the future are valid.
 *
 * @throws ServiceError if the text is invalid; the message lists the accepted formats
 */
export function parseTime(text: string, now: Date): string {
  const duration = parseDuration(text);
  if (duration !== undefined) return formatTime(text, now.getTime() - duration);
  if (z.iso.date().safeParse(text).success) return formatTime(text, Date.parse(`${text}T00:00:00Z`));
  const digits = FRACTION.exec(text)?.groups?.digits ?? '';
  const withSeconds = text.replace(HOUR_AND_MINUTE, '$&:00');
  if (!DATE_TIME.safeParse(withSeconds).success || digits.length > 6)
    throw new ServiceError('invalid_time', text);
  // JavaScript times only have milliseconds.
  const seconds = withSeconds.replace(FRACTION, '');
  return formatTime(text, Date.parse(OFFSET.test(seconds) ? seconds : `${seconds}Z`), digits);
}

/** Formats a time for display and for commands. Omits the microseconds if they are zero. */
export function displayTime(time: string): string {
  return time.replace(/000Z$/, 'Z');
}

function formatTime(text: string, ms: number, digits?: string): string {
  if (!(ms >= FIRST_MS && ms <= LAST_MS)) throw new ServiceError('invalid_time', text);
  const iso = new Date(ms).toISOString();
  return digits === undefined ? iso.replace('Z', '000Z') : `${iso.slice(0, 19)}.${digits.padEnd(6, '0')}Z`;
}
