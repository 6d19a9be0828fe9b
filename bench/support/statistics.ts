/** Returns the median, or NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(half) - 1] ?? Number.NaN, sorted[Math.floor(half)] ?? Number.NaN];
  return (low + high) / 2;
}

/** Times for single requests, in milliseconds. */
export class Times {
  readonly #values: number[] = [];

  add(milliseconds: number): void {
    this.#values.push(milliseconds);
  }

  get count(): number {
    return this.#values.length;
  }

  summary(): { p50: number; p99: number; p999: number; max: number } {
    const [p50 = Number.NaN, p99 = Number.NaN, p999 = Number.NaN, max = Number.NaN] = this.percentiles(
      0.5,
      0.99,
      0.999,
      1,
    );
    return { p50, p99, p999, max };
  }

  /** Returns the percentiles for the given shares (0 to 1). */
  percentiles(...shares: number[]): number[] {
    const sorted = Float64Array.from(this.#values).sort();
    return shares.map(
      (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN,
    );
  }
}
