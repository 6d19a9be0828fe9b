import type { Verdict, Workload } from '../support/faults/workload.ts';

export class Row {
  readonly fault: string;
  times = 0;
  acknowledged = 0;
  longestMs = 0;
  recoverMs: number | undefined;
  skipped: string | undefined;
  readonly lost: string[] = [];
  readonly doubled: string[] = [];
  readonly wrong: string[] = [];
  readonly notes: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #statuses = new Map<string, { count: number; longestMs: number }>();

  constructor(fault: string) {
    this.fault = fault;
  }

  add(verdict: Verdict, workload: Workload): void {
    this.acknowledged += verdict.acknowledged;
    this.lost.push(...verdict.lost);
    this.doubled.push(...verdict.doubled);
    this.wrong.push(...verdict.wrong);
    this.longestMs = Math.max(this.longestMs, workload.longestMs);
    for (const [status, { count, longestMs }] of workload.statuses) {
      const before = this.#statuses.get(status) ?? { count: 0, longestMs: 0 };
      this.#statuses.set(status, {
        count: before.count + count,
        longestMs: Math.max(before.longestMs, longestMs),
      });
    }
  }

  noteRecovery(ms: number): void {
    this.recoverMs = Math.max(this.recoverMs ?? 0, ms);
  }

  /** Adds to a counter in the last column. */
  count(what: string, n: number): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + n);
  }

  /** Records `violation` unless the condition is true. */
  expect(holds: boolean, violation: string): void {
    if (!holds) this.wrong.push(violation);
  }

  /**
   * Records `violation` unless a duration is within its limit. A short run, as in CI, only notes the violation, because
   * other loads on a shared machine lengthen durations.
   */
  expectInTime(isInTime: boolean, violation: string): void {
    if (isInTime) return;
    (process.env.SHORT === 'true' ? this.notes : this.wrong).push(violation);
  }

  get failed(): boolean {
    return this.lost.length + this.doubled.length + this.wrong.length > 0;
  }

  get statuses(): string {
    return [...this.#statuses]
      .map(([status, { count, longestMs }]) => `${status} × ${count} (≤ ${Math.round(longestMs)} ms)`)
      .join(', ');
  }

  toString(): string {
    if (this.skipped) return `| ${this.fault} | skipped: ${this.skipped} | | | | | | |`;
    const cells = [
      this.fault,
      this.times,
      this.acknowledged,
      this.lost.length,
      this.doubled.length,
      `${Math.round(this.longestMs)} ms`,
      this.recoverMs === undefined ? '–' : `${Math.round(this.recoverMs)} ms`,
      [this.statuses, ...this.notes, ...[...this.#counts].map(([what, n]) => `${n} ${what}`)]
        .filter(Boolean)
        .join('; '),
    ];
    return `| ${cells.join(' | ')} |`;
  }
}

export function table(rows: Row[]): string {
  return [
    '| fault | times injected | acknowledged writes | lost | doubled | longest response time | longest recovery time | responses |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |',
    ...rows.map(String),
  ].join('\n');
}
