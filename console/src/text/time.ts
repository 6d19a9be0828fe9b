import { parseDuration } from '../../../src/core/lib/units.ts';
import { fromFields } from './zone.ts';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,6}))?Z$/;

/** Whether a text is a time in the format that the console's URLs use: ISO 8601, UTC, at most microseconds. */
export function isTime(text: string): boolean {
  return ISO.test(text) && !Number.isNaN(Date.parse(text));
}

export function isBefore(time: string, other: string): boolean {
  return toMicroseconds(time) < toMicroseconds(other);
}

/** Pads the fraction to six digits, so that string comparison orders times correctly. */
function toMicroseconds(time: string): string {
  const digits = ISO.exec(time)?.[1] ?? '';
  return `${time.slice(0, 19)}.${digits.padEnd(6, '0')}`;
}

const LOCAL = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?$/;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Rounds down to minutes, because an age is not exact. An age below one hour is rounded to seconds. */
function roundTime(time: number, age: number): number {
  const unit = age >= HOUR_MS ? 60_000 : 1000;
  return Math.floor(time / unit) * unit;
}

/**
 * Parses a time that a person typed: a duration back from `now` such as `2d`, `yesterday`, a local date with or without
 * a time of day, or a time in UTC. Returns null for any other text.
 */
export function parseTime(text: string, now: number): string | null {
  const given = text.trim().toLowerCase();
  if (isTime(given.toUpperCase())) return given.toUpperCase();
  const duration =
    given === 'yesterday' ? DAY_MS : parseDuration(given.replace(/^-| ago$/g, '').replaceAll(' ', ''));
  if (duration !== undefined) return new Date(roundTime(now - duration, duration)).toISOString();
  const [, date, clock = '00:00'] = LOCAL.exec(given.toUpperCase()) ?? [];
  const local = new Date(`${date}T${clock}`);
  return date === undefined || Number.isNaN(local.getTime())
    ? null
    : new Date(fromFields(local)).toISOString();
}
