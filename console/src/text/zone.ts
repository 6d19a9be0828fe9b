import { computed, signal } from '@preact/signals';

/** Whether the console shows and reads times in UTC instead of the user's time zone. */
export const isUtc = signal(false);

/** Returns a signal with a formatter for the chosen time zone. */
export function zonedFormat(options: Intl.DateTimeFormatOptions) {
  return computed(
    () => new Intl.DateTimeFormat('en-GB', isUtc.value ? { ...options, timeZone: 'UTC' } : options),
  );
}

/** Returns a date whose local fields, such as `getHours`, show a time in the chosen zone. */
export function toFields(time: string | number): Date {
  const date = new Date(time);
  return isUtc.value ? new Date(date.getTime() + date.getTimezoneOffset() * 60_000) : date;
}

/** Returns the time that a date's local fields mean in the chosen zone, in milliseconds. */
export const fromFields = (date: Date): number =>
  date.getTime() - (isUtc.value ? date.getTimezoneOffset() * 60_000 : 0);
