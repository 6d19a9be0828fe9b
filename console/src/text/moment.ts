const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,6}))?Z$/;

/** Whether a text is a time as the pages write it in addresses: ISO 8601, UTC, to the microsecond. */
export function isMoment(text: string): boolean {
  return ISO.test(text) && !Number.isNaN(Date.parse(text));
}

/** Whether a moment is before another one. */
export function isBefore(moment: string, other: string): boolean {
  return toMicroseconds(moment) < toMicroseconds(other);
}

/** Always as long, so that texts compare as times do. */
function toMicroseconds(moment: string): string {
  const digits = ISO.exec(moment)?.[1] ?? '';
  return `${moment.slice(0, 19)}.${digits.padEnd(6, '0')}`;
}
