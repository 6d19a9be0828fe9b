import { touchStatement } from './statements/memory.ts';
import type { Writer } from './writer.ts';

/** An access is noted when the last note is older than this, so a file costs at most one such write a day. */
const RESOLUTION_MS = 24 * 60 * 60 * 1000;
/** How long accesses are gathered. What was gathered is lost when the process is killed, and nothing else. */
const FLUSH_INTERVAL_MS = 10_000;
/** More than this are not gathered: the next access of the file is noted instead. */
const MAX_GATHERED = 50_000;

let bound = { madeAt: Number.NEGATIVE_INFINITY, text: '' };

/** The time before which a file's access time counts as old, to the second. */
export function accessedBefore(): string {
  const now = Date.now();
  // Every view asks for it, and writing a time out costs more than the rest of asking.
  if (Math.abs(now - bound.madeAt) >= 1000) {
    bound = { madeAt: now, text: new Date(now - RESOLUTION_MS).toISOString() };
  }
  return bound.text;
}

/** Writes down which files were read: in the background, in batches, to the day. */
export class AccessTimes {
  readonly #writer: Writer;
  #gathered = new Map<string, Set<string>>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /** A file with an old access time was read. */
  note(tenant: string, path: string): void {
    if (this.#count >= MAX_GATHERED) return;
    const paths = this.#gathered.get(tenant) ?? new Set();
    if (paths.has(path)) return;
    this.#gathered.set(tenant, paths.add(path));
    this.#count++;
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Writes what was gathered. A tenant whose write fails is left for its next access. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const gathered = this.#gathered;
    this.#gathered = new Map();
    this.#count = 0;
    const now = new Date().toISOString();
    for (const [tenant, paths] of gathered) {
      const params = { tenant, paths: [...paths], now, accessedBefore: accessedBefore() };
      try {
        await this.#writer.write(tenant, { execute: (run) => run(touchStatement, params) });
      } catch {
        // Not worth an error: the file's access time stays old, so its next reader notes it again.
      }
    }
  }

  close(): Promise<void> {
    return this.flush();
  }
}
