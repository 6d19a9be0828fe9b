import { SerialQueue, ShortLivedMap } from '../lib/queues.ts';

/** File content, as read or as a pending write will store it. */
export interface FileVersion {
  content: string;
  version: string;
  /** For a pending write, resolves with whether it succeeded. Never rejects. */
  isWritten?: Promise<boolean>;
}

/**
 * File contents that this process is writing. An edit starts from the newest content instead of reading the file, so
 * edits to a busy file can share a statement.
 */
export class PendingFiles {
  readonly #newest = new ShortLivedMap<string, FileVersion>();
  /** Serializes the edits to each file, by `fileKey`. */
  readonly turns = new SerialQueue();

  newest(file: string): FileVersion | undefined {
    return this.#newest.get(file);
  }

  /**
   * Registers a file's newest content until its write succeeds or fails.
   *
   * @param written resolves with true when the content is written
   */
  add(file: string, version: { content: string; version: string }, written: Promise<boolean>): void {
    const isWritten = written
      .catch(() => false)
      .then((succeeded) => {
        // When a write fails, the writes based on it fail, too.
        if (!succeeded || this.#newest.get(file) === pending) this.#newest.delete(file);
        return succeeded;
      });
    const pending = { ...version, isWritten };
    this.#newest.set(file, pending);
  }
}

/**
 * Returns a file's key. The key is unambiguous, because a tenant ID contains no slash and a path starts with a slash.
 */
export function fileKey(tenant: string, path: string): string {
  return tenant + path;
}
