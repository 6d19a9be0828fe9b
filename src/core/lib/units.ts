/** Formats a number with a noun: `1 file`, `2 files`. */
export function amount(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

const QUOTAS = { files: 'file', directories: 'directory', bytes: 'byte' };

/** Formats a quota's number: `1 file`, `100 bytes`. */
export function quotaAmount(limit: number, of: keyof typeof QUOTAS): string {
  return amount(limit, QUOTAS[of], of);
}

export const DAY_MS = 24 * 60 * 60_000;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 60 * 60_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
};

/** Converts `500ms`, `30s`, `90m`, `2h`, `3d`, or `1w` to milliseconds. Returns undefined for other texts. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})(ms|[smhdw])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/**
 * Converts `1048576`, `10MB`, or `1.5 GB` to bytes. Returns undefined for other texts. KB and KiB both have 1,024
 * bytes, like the service's limits and the sizes in the console.
 */
export function parseSize(text: string): number | undefined {
  const [, amount, prefix = ''] = /^(\d{1,16}(?:\.\d{1,6})?) ?(?:([kmgt]?)i?b?)$/i.exec(text.trim()) ?? [];
  if (amount === undefined || (prefix === '' && (amount.includes('.') || /i/i.test(text)))) return undefined;
  const exponent = prefix === '' ? 0 : 'kmgt'.indexOf(prefix.toLowerCase()) + 1;
  const bytes = Math.round(Number(amount) * 1024 ** exponent);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Formats a size as `1.4 KB`, in units of 1,024 bytes. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.round(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits).replace(/\.0$/, '')} ${UNITS[unit]}`;
}

/** Formats a size for a sentence: `1 byte`, `12 bytes`, `1.4 KB`. */
export function byteAmount(bytes: number): string {
  if (bytes >= 1024) return formatBytes(bytes);
  return amount(bytes, 'byte');
}

/** The unit for a number that people write or read. */
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
 * Parses a quantity: digits in the given unit, `10MB` for bytes, or `90d` or `2h` for whole time units. Returns
 * undefined for other texts.
 */
export function parseQuantity(text: string, unit: Unit): number | undefined {
  if (unit === 'bytes') return parseSize(text);
  if (/^\d{1,16}$/.test(text)) return Number(text);
  const ms = parseDuration(text);
  const time = TIMES[unit];
  if (ms === undefined || time === undefined || ms % time.ms !== 0) return undefined;
  return ms / time.ms;
}

/** Describes the texts that `parseQuantity` accepts, after "must be" or "Use". */
export function expectedQuantity(unit: Unit): string {
  if (unit === 'bytes') return 'a size such as 10MB, or a whole number of bytes';
  const time = TIMES[unit];
  if (time === undefined) return 'a whole number';
  return `a duration of whole ${unit} such as ${time.example}, or a whole number of ${unit}`;
}

/** Formats a number for people: `100 MB`, `1.9 MB (2000000)` if the short form is not exact, or `30 days`. */
export function formatQuantity(value: number, unit: Unit): string {
  if (unit === 'bytes') {
    const text = formatBytes(value);
    return parseSize(text) === value ? text : `${text} (${value})`;
  }
  return TIMES[unit] === undefined ? String(value) : amount(value, unit.slice(0, -1));
}

/** Formats a number so that `parseQuantity` accepts it: `100 MB`, or digits if the short form is not exact. */
export function typedQuantity(value: number, unit: Unit): string {
  if (unit !== 'bytes' || value < 1024) return String(value);
  const text = formatBytes(value);
  return parseSize(text) === value ? text : String(value);
}
