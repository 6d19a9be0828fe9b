import { SerialQueue, ShortLivedMap } from '../lib/queues.ts';

/** The content of a file, as read or as it will be when a write has succeeded. */
export interface FileVersion {
  content: string;
  version: string;
  /** For content that is being written: resolves with whether that succeeded. Never rejects. */
  isWritten?: Promise<boolean>;
}

/**
 * The file contents that this process is writing. An edit starts from the newest one instead of reading the file, so
 * edits of a busy file queue up behind one another and share a statement.
 */
export class PendingFiles {
  readonly #newest = new ShortLivedMap<string, FileVersion>();
  readonly #turns = new SerialQueue();

  /** Runs `work` after all earlier work on the same file. */
  inTurn<T>(tenant: string, path: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(keyOf(tenant, path), work);
  }

  newest(tenant: string, path: string): FileVersion | undefined {
    return this.#newest.get(keyOf(tenant, path));
  }

  /**
   * Registers the newest content of a file until its write has succeeded or failed.
   *
   * @param written resolves with true when it is written
   */
  add(
    tenant: string,
    path: string,
    file: { content: string; version: string },
    written: Promise<boolean>,
  ): void {
    const key = keyOf(tenant, path);
    const isWritten = written
      .catch(() => false)
      .then((succeeded) => {
        // When a write fails, the writes that are based on it fail, too.
        if (!succeeded || this.#newest.get(key) === pending) this.#newest.delete(key);
        return succeeded;
      });
    const pending = { ...file, isWritten };
    this.#newest.set(key, pending);
  }
}

/** Unambiguous: a tenant ID has no slash, and a path starts with one. */
function keyOf(tenant: string, path: string): string {
  return tenant + path;
}
