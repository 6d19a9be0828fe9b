/** How long notes are gathered. What was gathered is lost when the process is killed, and nothing else. */
const FLUSH_INTERVAL_MS = 10_000;

/**
 * Gathers coarse notes, such as when something was last used, and writes them together in the background, so that a use costs
 * no write of its own. They are hints: what cannot be written is left for the next use.
 */
export class WriteBehindBuffer<Note> {
  readonly #write: (notes: Note[]) => Promise<void>;
  readonly #max: number;
  #gathered = new Map<string, Note>();
  #timer: NodeJS.Timeout | undefined;

  /** @param max more are not gathered */
  constructor(write: (notes: Note[]) => Promise<void>, max: number) {
    this.#write = write;
    this.#max = max;
  }

  /** @param key of notes with the same one, one is written */
  add(key: string, note: Note): void {
    if (this.#gathered.size >= this.#max) return;
    this.#gathered.set(key, note);
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Writes what was gathered. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const notes = [...this.#gathered.values()];
    this.#gathered = new Map();
    if (notes.length > 0) await this.#write(notes).catch(() => {});
  }
}
