/* Numbers that are written in groups, such as payment card numbers: `4929-1234-5678-9012`. */

/** Minimum and maximum number of digits when groups are joined: the lengths that card numbers have. */
const MIN_DIGITS = 12;
const MAX_DIGITS = 19;
const GROUP = /(?<![\p{L}\p{M}\p{N}])[0-9]{3,12}(?![\p{L}\p{M}\p{N}])/gu;
const GAP = /^[\s.\-\u2010-\u2015\u2212]{1,3}$/u;
const ONLY_GROUPS = /^[0-9]+(?:[\s.\-\u2010-\u2015\u2212]{1,3}[0-9]+)*$/u;
const NO_DIGIT = /[^0-9]/g;
/** Maximum number of groups in a number. */
export const MAX_GROUPS = Math.floor(MAX_DIGITS / 3);

/** A number with several groups in a text: UTF-16 offsets, `end` exclusive. */
export interface GroupedNumber {
  digits: string;
  start: number;
  end: number;
}

/** Returns the digits in a normalized text that is one number with 12 to 19 digits, with or without groups. */
export function numberIn(normal: string): string | undefined {
  const text = normal.trim();
  const digits = text.replace(NO_DIGIT, '');
  const isLong = digits.length >= MIN_DIGITS && digits.length <= MAX_DIGITS;
  return isLong && ONLY_GROUPS.test(text) ? digits : undefined;
}

/**
 * Yields all numbers with 12 to 19 digits that consecutive groups in a normalized text form. They may overlap, because
 * `2026 4929 1234 5678 9012` does not show where the number begins.
 */
export function* groupedNumbers(normal: string): Generator<GroupedNumber> {
  const groups: GroupedNumber[] = [];
  for (const { index: start, 0: group } of normal.matchAll(GROUP)) {
    const end = start + group.length;
    const last = groups.at(-1);
    if (last !== undefined && !isGap(normal, last.end, start)) groups.length = 0;
    groups.push({ digits: group, start, end });
    if (groups.length > MAX_GROUPS) groups.shift();
    let digits = group;
    for (let i = groups.length - 2; i >= 0; i--) {
      const first = groups[i] as GroupedNumber;
      if (digits.length + first.digits.length > MAX_DIGITS) break;
      digits = first.digits + digits;
      if (digits.length >= MIN_DIGITS) yield { digits, start: first.start, end };
    }
  }
}

function isGap(text: string, from: number, to: number): boolean {
  return to - from <= 3 && GAP.test(text.slice(from, to));
}
