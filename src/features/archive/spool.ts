import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Writable } from 'node:stream';
import { ServiceError } from '../../core/errors/errors.ts';
import { BATCH } from '../../core/lib/pages.ts';

/** A temporary file's use, for error messages. */
type Purpose = 'import' | 'export';

/**
 * Opens a temporary file that only the current user can read. The file has no name, so closing it or ending the process
 * deletes it.
 *
 * @throws ServiceError if the file cannot be written
 */
export async function openTemporaryFile(purpose: Purpose): Promise<FileHandle> {
  try {
    const directory = await mkdtemp(join(tmpdir(), 'memory-service-'));
    try {
      return await open(join(directory, purpose), 'wx+', 0o600);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  } catch (error) {
    throw cannotWrite(error, purpose);
  }
}

/**
 * Returns a stream that appends to an open file and never closes the file. A stream over the descriptor would close the
 * descriptor. The handle would then close the same number again, which may belong to another file or socket by then.
 */
export function writerTo(handle: FileHandle): Writable {
  const append = (content: Uint8Array, done: (error?: Error | null) => void) => {
    handle.writeFile(content).then(() => done(), done);
  };
  return new Writable({
    write: (chunk, _encoding, done) => append(chunk, done),
    writev: (chunks, done) => append(Buffer.concat(chunks.map(({ chunk }) => chunk)), done),
  });
}

/** Copies a stream to a temporary file, and returns a stream from the file. */
export async function spoolChunks(chunks: AsyncIterable<Uint8Array>, purpose: Purpose): Promise<Readable> {
  const handle = await openTemporaryFile(purpose);
  try {
    for await (const chunk of chunks) {
      await handle.writeFile(chunk).catch((error) => {
        throw cannotWrite(error, purpose);
      });
    }
    // The stream owns the handle and closes it.
    return handle.createReadStream({ start: 0 });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Stores an import's checked contents in a temporary file until the whole source is checked. The database does not wait
 * for a slow source, and memory use does not grow with the archive. Each content has a label that describes the
 * content.
 */
export class Spool<Label extends object> {
  readonly #handle: FileHandle;
  readonly #files: { label: Label; bytes: number }[] = [];
  bytes = 0;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async open<Label extends object>(): Promise<Spool<Label>> {
    return new Spool(await openTemporaryFile('import'));
  }

  get files(): number {
    return this.#files.length;
  }

  async add(label: Label, content: Uint8Array): Promise<void> {
    try {
      await this.#handle.writeFile(content);
    } catch (error) {
      throw cannotWrite(error, 'import');
    }
    this.#files.push({ label, bytes: content.length });
    this.bytes += content.length;
  }

  /** Yields the files in their original order, in batches. */
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
  }

  /** Opens a spool for each name. If one spool fails to open, the others are closed. */
  static async openAll<Name extends string, Label extends object>(
    names: readonly Name[],
  ): Promise<Record<Name, Spool<Label>>> {
    const opened = await Promise.allSettled(
      names.map(async (name) => [name, await Spool.open<Label>()] as const),
    );
    const open = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failed = opened.find(({ status }) => status === 'rejected');
    if (failed === undefined) return Object.fromEntries(open) as Record<Name, Spool<Label>>;
    await closeAll(open.map(([, spool]) => spool)).catch(() => {});
    throw (failed as PromiseRejectedResult).reason;
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

/**
 * Closes all resources, even if some fail.
 *
 * @throws the first error
 */
export async function closeAll(all: readonly { close(): Promise<void> }[]): Promise<void> {
  const closed = await Promise.allSettled(all.map((each) => each.close()));
  for (const each of closed) if (each.status === 'rejected') throw each.reason;
}

function cannotWrite(error: unknown, purpose: Purpose): ServiceError {
  const { code = '' } = error as NodeJS.ErrnoException;
  return new ServiceError('no_temporary_file', tmpdir(), code, purpose);
}
