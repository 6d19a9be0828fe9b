/**
 * A time as an `<input type="datetime-local">` wants it: in the person's time zone, to the second. Empty for what is
 * no time.
 */
export function toLocal(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Null while the field is not filled in. */
export function fromLocal(value: string): string | null {
  const date = new Date(value);
  return value === '' || Number.isNaN(date.getTime()) ? null : date.toISOString();
}
