/**
 * Formats a time for `<input type="datetime-local">`: local time, in seconds. Returns an empty string for an invalid
 * time.
 */
export function toLocal(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Returns null while the field is empty or incomplete. */
export function fromLocal(value: string): string | null {
  const date = new Date(value);
  return value === '' || Number.isNaN(date.getTime()) ? null : date.toISOString();
}
