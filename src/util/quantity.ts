import { DAY_MS, parseDuration } from './duration.ts';
import { formatBytes, parseSize } from './size.ts';

/** What a number that people type or read is a number of. */
export type Unit =
  | ('bytes' | 'days' | 'hours' | 'seconds' | 'milliseconds')
  | ('characters' | 'drafts' | 'files' | 'requests' | 'things');

const TIMES: Partial<Record<Unit, { ms: number; example: string }>> = {
  days: { ms: DAY_MS, example: '30d' },
  hours: { ms: 60 * 60_000, example: '12h' },
  seconds: { ms: 1000, example: '10s' },
  milliseconds: { ms: 1, example: '5s' },
};

/**
 * The number that a text means: always digits alone, in the unit; also `10MB` for bytes, and `90d` or `2h` for a time of whole units.
 * Undefined for another text.
 */
export function parseQuantity(text: string, unit: Unit): number | undefined {
  if (unit === 'bytes') return parseSize(text);
  if (/^\d{1,16}$/.test(text)) return Number(text);
  const ms = parseDuration(text);
  const time = TIMES[unit];
  if (ms === undefined || time === undefined || ms % time.ms !== 0) return undefined;
  return ms / time.ms;
}

/** What such a text has to be, after "must be" or "Use". */
export function expectedQuantity(unit: Unit): string {
  if (unit === 'bytes') return 'a size such as 10MB, or a whole number of bytes';
  const time = TIMES[unit];
  if (time === undefined) return 'a whole number';
  return `a duration of whole ${unit} such as ${time.example}, or a whole number of ${unit}`;
}

/** A number as people read it: `100 MB`, `1.9 MB (2000000)` where that is not the exact number, `30 days`. */
export function formatQuantity(value: number, unit: Unit): string {
  if (unit === 'bytes') {
    const text = formatBytes(value);
    return parseSize(text) === value ? text : `${text} (${value})`;
  }
  return TIMES[unit] === undefined ? String(value) : `${value} ${value === 1 ? unit.slice(0, -1) : unit}`;
}

/** The same as people type it: `100MB`, or the number itself where no shorter text means exactly that. */
export function typedQuantity(value: number, unit: Unit): string {
  if (unit !== 'bytes' || value < 1024) return String(value);
  const text = formatBytes(value).replace(' ', '');
  return parseSize(text) === value ? text : String(value);
}
