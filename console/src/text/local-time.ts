import { fromFields, isUtc } from './zone.ts';

/**
 * Formats a time for `<input type="datetime-local">`: in the chosen time zone, in seconds. Returns an empty string for an invalid
 * time.
 */
export function toLocal(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  const offset = isUtc.value ? 0 : date.getTimezoneOffset();
  return new Date(date.getTime() - offset * 60_000).toISOString().slice(0, 19);
}

/** Returns null while the field is empty or incomplete. */
export function fromLocal(value: string): string | null {
  const date = new Date(value);
  return value === '' || Number.isNaN(date.getTime()) ? null : new Date(fromFields(date)).toISOString();
}
