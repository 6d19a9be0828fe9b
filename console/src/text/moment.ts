const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,6}))?Z$/;

/** Whether a text is a time in the format of the console's URLs: ISO 8601, UTC, at most microseconds. */
export function isMoment(text: string): boolean {
  return ISO.test(text) && !Number.isNaN(Date.parse(text));
}

export function isBefore(moment: string, other: string): boolean {
  return toMicroseconds(moment) < toMicroseconds(other);
}

/** Pads the fraction to six digits, so that string comparison orders times correctly. */
function toMicroseconds(moment: string): string {
  const digits = ISO.exec(moment)?.[1] ?? '';
  return `${moment.slice(0, 19)}.${digits.padEnd(6, '0')}`;
}
