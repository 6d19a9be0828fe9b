const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/**
 * The bytes of `1048576`, `10MB`, or `1.5 GB`; undefined for another text. A KB has 1,024 bytes, and `KiB` is the same: so have all limits of
 * the service been, and so does the console write sizes.
 */
export function parseSize(text: string): number | undefined {
  const [, amount, prefix = ''] = /^(\d{1,16}(?:\.\d{1,6})?) ?(?:([kmgt]?)i?b?)$/i.exec(text.trim()) ?? [];
  if (amount === undefined || (prefix === '' && (amount.includes('.') || /i/i.test(text)))) return undefined;
  const exponent = prefix === '' ? 0 : 'kmgt'.indexOf(prefix.toLowerCase()) + 1;
  const bytes = Math.round(Number(amount) * 1024 ** exponent);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

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

/** For a sentence: `1 byte`, `12 bytes`, `1.4 KB`. */
export function byteAmount(bytes: number): string {
  if (bytes >= 1024) return formatBytes(bytes);
  return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
}
