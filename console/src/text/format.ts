const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** As `1.4 KB`, in units of 1,024 bytes. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits).replace(/\.0$/, '')} ${UNITS[unit]}`;
}

const numbers = new Intl.NumberFormat('en-US');
export const formatNumber = (value: number) => numbers.format(value);

/** As `1 file` or `2,000 files`. */
export function count(value: number, noun: string): string {
  return `${formatNumber(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** As `5 s` or `2 min 5 s`. */
export function formatDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${formatNumber(minutes)} min ${seconds % 60} s`;
}

const times = new Intl.DateTimeFormat('en-GB', {
  ...{ year: 'numeric', month: 'short', day: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
});
/** In the time zone of the person. */
export const formatTime = (time: string | number) => times.format(new Date(time));

const STEPS: [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [60, 'minute'],
  [24, 'hour'],
  [30, 'day'],
  [12, 'month'],
  [Number.POSITIVE_INFINITY, 'year'],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** As `3 minutes ago`. */
export function formatAge(time: string, now: number = Date.now()): string {
  let value = (Date.parse(time) - now) / 1000;
  for (const [size, unit] of STEPS) {
    if (Math.abs(value) < size)
      return unit === 'second' ? 'just now' : relative.format(Math.round(value), unit);
    value /= size;
  }
  return time;
}
