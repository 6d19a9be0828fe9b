import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '../../errors.ts';
import { BATCH } from '../queries.ts';

/**
 * Keeps the checked contents of an import in a temporary file until the whole source is checked. So the database does not wait for a
 * slow source, and memory does not grow with the archive. Each content has a label, which says what it is.
 */
export class Spool<Label extends object> {
  readonly #handle: FileHandle;
  readonly #folder: string;
  readonly #files: { label: Label; bytes: number }[] = [];
  bytes = 0;

  private constructor(handle: FileHandle, folder: string) {
    this.#handle = handle;
    this.#folder = folder;
  }

  static async open<Label extends object>(): Promise<Spool<Label>> {
    try {
      const folder = await mkdtemp(join(tmpdir(), 'memory-service-'));
      const handle = await open(join(folder, 'import'), 'wx+', 0o600);
      // An unlinked file disappears with the process. Where unlinking an open file is not possible, `close` removes it.
      await rm(folder, { recursive: true, force: true }).catch(() => {});
      return new Spool(handle, folder);
    } catch (error) {
      throw cannotSpool(error);
    }
  }

  get files(): number {
    return this.#files.length;
  }

  async add(label: Label, content: Uint8Array): Promise<void> {
    try {
      await this.#handle.writeFile(content);
    } catch (error) {
      throw cannotSpool(error);
    }
    this.#files.push({ label, bytes: content.length });
    this.bytes += content.length;
  }

  /** Returns the files in their original order, in batches. */
  async *batches(): AsyncGenerator<(Label & { content: string })[]> {
    let position = 0;
    for (let first = 0; first < this.#files.length; ) {
      let bytes = 0;
      let end = first;
      for (; end < this.#files.length && end - first < BATCH.rows; end++) {
        const next = this.#files[end]?.bytes ?? 0;
        if (end > first && bytes + next > BATCH.bytes) break;
        bytes += next;
      }
      const content = await this.#read(position, bytes);
      let at = 0;
      yield this.#files.slice(first, end).map((file) => {
        const text = content.toString('utf8', at, at + file.bytes);
        at += file.bytes;
        return { ...file.label, content: text };
      });
      position += bytes;
      first = end;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #read(position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    for (let read = 0; read < length; ) {
      const { bytesRead } = await this.#handle.read(buffer, read, length - read, position + read);
      if (bytesRead === 0) throw new Error('The temporary file of an import was cut short.');
      read += bytesRead;
    }
    return buffer;
  }
}

function cannotSpool(error: unknown): ServiceError {
  const { code = '' } = error as NodeJS.ErrnoException;
  return new ServiceError('no_temporary_file', tmpdir(), code, 'import');
}
