import type { Activity } from '../../api/api-types.ts';

/** A period in the history. */
export interface Range {
  /** A time, or an age such as `7d`. Null is the beginning of the history. */
  since: string | null;
  /** A time, or null for now. */
  until: string | null;
}

export const ALL: Range = { since: null, until: null };

export const isAll = ({ since, until }: Range) => since === null && until === null;

/** Selectable periods. A period longer than the history is not offered, because it would equal the whole history. */
const PERIODS = [
  ['1h', 'Last hour', 3600],
  ['1d', 'Last day', 86_400],
  ['7d', 'Last week', 7 * 86_400],
  ['30d', 'Last 30 days', 30 * 86_400],
] as const;

/** Returns the titles for the selectable periods in a history that begins at `start`. */
export function availablePeriods(start: string): Record<string, string> {
  const seconds = (Date.now() - Date.parse(start)) / 1000;
  const periods = PERIODS.filter(([, , length]) => length < seconds).map(([since, title]) => [since, title]);
  return { ...Object.fromEntries(periods), all: 'All', range: 'Range…' };
}

/** Returns a range's key in `availablePeriods`. */
export function periodKey({ since, until }: Range): string {
  if (until !== null) return 'range';
  if (since === null) return 'all';
  return PERIODS.some(([period]) => period === since) ? since : 'range';
}

const MIN_MS = 1000;

/**
 * Zooms a range around a time, within the history.
 *
 * @param at the time, or null for now
 */
export function zoomRange(shown: Activity, start: string, at: string | null, factor: number): Range {
  const [since, until, first] = [shown.since, shown.until, start].map(Date.parse) as [number, number, number];
  const now = Date.now();
  const length = Math.max((until - since) * factor, MIN_MS);
  const middle = Math.min(Math.max(at === null ? until : Date.parse(at), since), until);
  // `at` keeps its position on the screen.
  const from = middle - ((middle - since) / (until - since)) * length;
  return toRange(from, from + length, first, now);
}

/** Centers a range on `at` and keeps the length. Returns null if the range already contains `at`. */
export function moveRange(shown: Activity, start: string, at: string): Range | null {
  const [since, until, first] = [shown.since, shown.until, start].map(Date.parse) as [number, number, number];
  const middle = Date.parse(at);
  if (middle >= since && middle <= until) return null;
  const half = (until - since) / 2;
  return toRange(middle - half, middle + half, first, Date.now());
}

function toRange(from: number, to: number, first: number, now: number): Range {
  return {
    since: from <= first ? null : new Date(from).toISOString(),
    until: to >= now ? null : new Date(to).toISOString(),
  };
}
