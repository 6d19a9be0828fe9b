const FLUSH_INTERVAL_MS = 10_000;

/**
 * Buffers notes, such as the time of the last use, and writes them in batches in the background, so that a use needs no
 * separate write. Notes are hints: if a write fails, the notes are dropped, and the next use creates a new note.
 */
export class WriteBehindBuffer<Note> {
  readonly #write: (notes: Note[]) => Promise<void>;
  readonly #max: number;
  readonly #flushMs: number;
  readonly #merge: (buffered: Note, newer: Note) => Note;
  #buffered = new Map<string, Note>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param max maximum number of notes; further notes are dropped
   * @param options.flushMs time that notes are buffered, and therefore lost if the process is killed
   * @param options.merge combines two notes with the same key; by default, the newer note replaces the older
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

  /** @param key only one note is written for each key */
  add(key: string, note: Note): void {
    const buffered = this.#buffered.get(key);
    if (buffered === undefined && this.#buffered.size >= this.#max) return;
    this.#buffered.set(key, buffered === undefined ? note : this.#merge(buffered, note));
    this.#timer ??= setTimeout(() => void this.flush(), this.#flushMs).unref();
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const notes = [...this.#buffered.values()];
    this.#buffered = new Map();
    if (notes.length > 0) await this.#write(notes).catch(() => {});
  }
}
