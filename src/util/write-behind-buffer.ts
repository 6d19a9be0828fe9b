/** Notes buffered for up to this long are lost when the process is killed. */
const FLUSH_INTERVAL_MS = 10_000;

/**
 * Buffers notes, such as when something was last used, and writes them in batches in the background, so that a use needs no write of its
 * own. Notes are hints: one that cannot be written is dropped, and the next use creates another.
 */
export class WriteBehindBuffer<Note> {
  readonly #write: (notes: Note[]) => Promise<void>;
  readonly #max: number;
  #buffered = new Map<string, Note>();
  #timer: NodeJS.Timeout | undefined;

  /** @param max notes beyond this number are dropped */
  constructor(write: (notes: Note[]) => Promise<void>, max: number) {
    this.#write = write;
    this.#max = max;
  }

  /** @param key only the newest note of each key is written */
  add(key: string, note: Note): void {
    if (this.#buffered.size >= this.#max) return;
    this.#buffered.set(key, note);
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Writes the buffered notes. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const notes = [...this.#buffered.values()];
    this.#buffered = new Map();
    if (notes.length > 0) await this.#write(notes).catch(() => {});
  }
}
