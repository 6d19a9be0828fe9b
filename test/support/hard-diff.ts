const LINES = 690_000;

/**
 * Returns two texts of two megabytes that differ in hundreds of places, but in which any two lines can correspond. This
 * pair is the slowest known input when searching for the smallest diff.
 */
export function hardToCompare(): { before: string; after: string; lines: number } {
  const after = Array.from({ length: LINES }, (_, i) => (i % 2 === 0 ? '' : 'v'));
  const before = after.map((_, i) => ((i + Math.floor(i / 697)) % 2 === 0 ? '' : 'v'));
  return { before: `${before.join('\n')}\n`, after: `${after.join('\n')}\n`, lines: LINES };
}
