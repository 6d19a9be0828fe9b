const MIN_BURST = 20;
const BURST_FACTOR = 5;

/** Returns the burst hour's index and the usual number of changes, or null without a burst. */
export function findBurst(hours: readonly number[]): { index: number; usual: number } | null {
  const busy = hours.filter((changes) => changes > 0).sort((a, b) => a - b);
  const usual = busy[Math.floor((busy.length - 1) / 2)] ?? 0;
  const highest = busy.at(-1) ?? 0;
  return highest >= Math.max(MIN_BURST, usual * BURST_FACTOR)
    ? { index: hours.indexOf(highest), usual }
    : null;
}
