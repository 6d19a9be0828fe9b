const FLUSH_INTERVAL_MS = 10_000;

/**
 * Buffers notes, such as when something was last used, and writes them in batches in the background, so that a use
 * needs no write of its own. Notes are hints: one that cannot be written is dropped, and the next use creates
 * another.
 */
export class WriteBehindBuffer<Note> {
  readonly #write: (notes: Note[]) => Promise<void>;
  readonly #max: number;
  readonly #flushMs: number;
  readonly #merge: (buffered: Note, newer: Note) => Note;
  #buffered = new Map<string, Note>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param max notes beyond this number are dropped
   * @param options.flushMs for how long notes are buffered: these are lost when the process is killed
   * @param options.merge makes one note of two with the same key; by default the newer one
   */
  constructor(
    write: (notes: Note[]) => Promise<void>,
    max: number,
    options: { flushMs?: number; merge?: (buffered: Note, newer: Note) => Note } = {},
  ) {
    this.#write = write;
    this.#max = max;
    this.#flushMs = options.flushMs ?? FLUSH_INTERVAL_MS;
    this.#merge = options.merge ?? ((_, newer) => newer);
  }

  /** @param key one note of each key is written */
  add(key: string, note: Note): void {
    const buffered = this.#buffered.get(key);
    if (buffered === undefined && this.#buffered.size >= this.#max) return;
    this.#buffered.set(key, buffered === undefined ? note : this.#merge(buffered, note));
    this.#timer ??= setTimeout(() => void this.flush(), this.#flushMs).unref();
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
