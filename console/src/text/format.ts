import { zonedFormat } from './zone.ts';

export { formatBytes } from '../../../src/core/lib/units.ts';

const numbers = new Intl.NumberFormat('en-US');
export const formatNumber = (value: number) => numbers.format(value);

/** Formats a count as `1 file` or `2,000 files`. */
export function count(value: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(value)} ${value === 1 ? noun : plural}`;
}

/** Formats a duration as `5 s` or `2 min 5 s`. */
export function formatDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${formatNumber(minutes)} min ${seconds % 60} s`;
}

const DAY = { year: 'numeric', month: 'short', day: 'numeric' } as const;
const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const ZONE = { timeZoneName: 'short' } as const;
const times = zonedFormat({ ...DAY, ...CLOCK, ...ZONE });
const exactTimes = zonedFormat({ ...DAY, ...CLOCK, ...ZONE, fractionalSecondDigits: 3 });
const minuteTimes = zonedFormat({ ...DAY, hour: '2-digit', minute: '2-digit' });
const secondTimes = zonedFormat({ ...DAY, ...CLOCK });
const clockTimes = zonedFormat(CLOCK);
const days = zonedFormat({ weekday: 'long', ...DAY, ...ZONE });

/** Formats a time as `23 Nov 2026, 14:51:30 UTC`. */
export const formatTime = (time: string | number) => times.value.format(new Date(time));
/** Formats a time with milliseconds, to distinguish changes made in the same second. */
export const formatExactTime = (time: string) => exactTimes.value.format(new Date(time));
/** Formats a change's time exactly, and a time that a person chose as `23 Nov 2026, 14:51`. */
export function formatChosenTime(time: string): string {
  const date = new Date(time);
  if (date.getMilliseconds() !== 0) return formatExactTime(time);
  return (date.getSeconds() === 0 ? minuteTimes : secondTimes).value.format(date);
}
/** Formats a time as `14:51:30`, for use below a heading with the date. */
export const formatClock = (time: string) => clockTimes.value.format(new Date(time));
/** Formats a date as `Monday, 23 Nov 2026, UTC`. */
export const formatDay = (time: string) => days.value.format(new Date(time));

/** Replaces the UTC times in a message from the service with local times. */
export const withLocalTimes = (message: string) =>
  message.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) => formatExactTime(time));

const STEPS: [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [60, 'minute'],
  [24, 'hour'],
  [30, 'day'],
  [12, 'month'],
  [Number.POSITIVE_INFINITY, 'year'],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Formats an age as `3 minutes ago`. */
export function formatAge(time: string, now: number = Date.now()): string {
  let value = (Date.parse(time) - now) / 1000;
  for (const [size, unit] of STEPS) {
    if (Math.round(Math.abs(value)) < size)
      return unit === 'second' ? 'just now' : relative.format(Math.round(value), unit);
    value /= size;
  }
  return time;
}

/** Warns about changed files that contain a text that is kept out. */
export function keptOutText(files: number): string {
  return `${count(files, 'file')} ${files === 1 ? 'contains' : 'contain'} a text that is kept out.`;
}
