const UNITS = ['K', 'M', 'G'] as const;

/** The size that a listing shows for a directory: that of a POSIX directory entry. */
export const DIRECTORY_BYTES = 4096;

/**
 * Formats a size in bytes for a directory listing: `{n}B` under 1,024, above it one decimal, rounded half up,
 * in the unit that keeps the number below 1024.0 (`1.0M`, never `1024.0K`). Source: contract, section 2.
 */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  let unitBytes = 1024;
  let unit = 0;
  // In tenths, as integers: no floating-point value sits just below a half.
  const tenths = () => Math.floor((bytes * 20 + unitBytes) / (unitBytes * 2));
  while (tenths() >= 10240 && unit < UNITS.length - 1) {
    unitBytes *= 1024;
    unit++;
  }
  return `${Math.floor(tenths() / 10)}.${tenths() % 10}${UNITS[unit]}`;
}
