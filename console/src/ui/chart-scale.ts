/** Factors of a power that a scale may end with, so that its labels are short. */
const NICE = [1, 2, 5, 10];
const NICE_BINARY = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/**
 * Returns the end of a scale that includes a value: 1, 2, or 5 times a power of 10, or a power of 2 for sizes in bytes.
 * The end is at least 2, so that half of it is a whole number.
 */
export function scaleEnd(highest: number, isBytes: boolean): number {
  const [base, factors] = isBytes ? [1024, NICE_BINARY] : [10, NICE];
  const wanted = Math.max(2, highest);
  const power = base ** Math.floor(Math.log(wanted) / Math.log(base) + 1e-9);
  const factor = factors.find((each) => each * power >= wanted) ?? base;
  return factor * power;
}

/** Returns the indexes of at most `most` bars that get a label, with equal distances. */
export function labeledBars(bars: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(bars / most));
  return Array.from({ length: Math.ceil(bars / step) }, (_, i) => i * step);
}

const MIN_BURST = 20;
const BURST_FACTOR = 5;

/** Returns the index of the hour with a burst and the usual number of changes, or null without a burst. */
export function burstOf(hours: readonly number[]): { index: number; usual: number } | null {
  const busy = hours.filter((changes) => changes > 0).sort((a, b) => a - b);
  const usual = busy[Math.floor((busy.length - 1) / 2)] ?? 0;
  const highest = busy.at(-1) ?? 0;
  return highest >= Math.max(MIN_BURST, usual * BURST_FACTOR)
    ? { index: hours.indexOf(highest), usual }
    : null;
}
