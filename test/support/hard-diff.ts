const LINES = 690_000;

/**
 * Two megabytes that differ in hundreds of places only, but between which every line of one can be compared with
 * those of the other: the slowest known to a search for the smallest diff.
 */
export function hardToCompare(): { before: string; after: string; lines: number } {
  const after = Array.from({ length: LINES }, (_, i) => (i % 2 === 0 ? '' : 'v'));
  const before = after.map((_, i) => ((i + Math.floor(i / 697)) % 2 === 0 ? '' : 'v'));
  return { before: `${before.join('\n')}\n`, after: `${after.join('\n')}\n`, lines: LINES };
}
