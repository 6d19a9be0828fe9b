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
  /** Edits of a file, by `fileKey`, one at a time. */
  readonly turns = new SerialQueue();

  newest(file: string): FileVersion | undefined {
    return this.#newest.get(file);
  }

  /**
   * Registers the newest content of a file until its write has succeeded or failed.
   *
   * @param written resolves with true when it is written
   */
  add(file: string, version: { content: string; version: string }, written: Promise<boolean>): void {
    const isWritten = written
      .catch(() => false)
      .then((succeeded) => {
        // When a write fails, the writes that are based on it fail, too.
        if (!succeeded || this.#newest.get(file) === pending) this.#newest.delete(file);
        return succeeded;
      });
    const pending = { ...version, isWritten };
    this.#newest.set(file, pending);
  }
}

/** The key of a file. Unambiguous: a tenant ID has no slash, and a path starts with one. */
export function fileKey(tenant: string, path: string): string {
  return tenant + path;
}
