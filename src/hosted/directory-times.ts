import type { ArchivedDirectory } from '../archive/history-format.ts';
import { ancestorsOf, type MemoryPath, ROOT } from '../memory/path.ts';
import { timeOf } from '../util/rfc3339.ts';

/** From and until, in microseconds since 1970; infinity for what is there. */
interface Period {
  since: number;
  until: number;
}

/** When there were directories: while a file was below them, because the Memory Stores API knows only files. */
export class DirectoryTimes {
  readonly #periods = new Map<MemoryPath, Period[]>();

  /** A file was at a path. */
  add(path: MemoryPath, period: Period): void {
    for (const directory of ancestorsOf(path)) {
      if (directory === ROOT) continue;
      const periods = this.#periods.get(directory);
      if (periods === undefined) this.#periods.set(directory, [period]);
      else periods.push(period);
    }
  }

  *rows(): Generator<ArchivedDirectory> {
    for (const [path, periods] of this.#periods) {
      for (const { since, until } of joined(periods)) {
        const removed_at = until === Number.POSITIVE_INFINITY ? null : timeOf(until);
        yield { path, created_at: timeOf(since), removed_at };
      }
    }
  }
}

/** The periods that others make when those that overlap or meet are one. */
function joined(periods: readonly Period[]): Period[] {
  const whole: Period[] = [];
  for (const { since, until } of [...periods].sort((one, other) => one.since - other.since)) {
    const last = whole.at(-1);
    if (last !== undefined && since <= last.until) last.until = Math.max(last.until, until);
    else whole.push({ since, until });
  }
  return whole;
}
