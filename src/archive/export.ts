import type { Readable, Writable } from 'node:stream';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/errors.ts';
import type { MemoryPath } from '../memory/path.ts';
import { type Exported, exportEntries } from './export-entries.ts';
import { openTemporaryFile, writerTo } from './spool.ts';
import { writeTar } from './tar.ts';

export interface Total {
  files: number;
  bytes: number;
  /** Null without the history. */
  versions: number | null;
  /**
   * The first file that a program may act upon where the archive is unpacked: those of Git and Mercurial can name
   * commands to run.
   */
  actedUpon: string | null;
}

/** File systems that ignore case find these under any spelling. */
const ACTED_UPON = /\/\.(?:git|hg)(?:\/|$)/i;

/**
 * Writes a tenant's memory, as it is at one moment, as a tar archive.
 *
 * @param end whether the archive is all that `output` gets
 * @param path a directory or file of it; by default everything
 * @param history whether to take the history along
 * @param scope the only tenants that the history names; null: all
 * @param onFile called after each file
 * @param signal ends the export; its reason is thrown
 * @throws ServiceError when the output cannot be written
 */
export async function exportArchive(
  database: Database,
  tenant: string,
  output: Writable,
  {
    end,
    path,
    history,
    scope = null,
    onFile = () => {},
    signal,
  }: {
    end: boolean;
    path?: MemoryPath | undefined;
    history: boolean;
    scope?: readonly string[] | null;
    onFile?: ((total: Total) => void) | undefined;
    signal?: AbortSignal;
  },
): Promise<Total> {
  const total: Total = { files: 0, bytes: 0, versions: null, actedUpon: null };
  return explainingOutput(async () => {
    await writeTar(output, end, async (add) => {
      const write = async (entry: Exported) => {
        await add(entry);
        if (entry.kind !== 'file') return;
        total.files++;
        total.bytes += Buffer.byteLength(entry.content);
        if (ACTED_UPON.test(entry.path)) total.actedUpon ??= entry.path;
        onFile(total);
      };
      total.versions = await exportEntries(database, tenant, write, { path, history, scope, signal });
    });
    return total;
  });
}

/** Writes an archive. @throws ServiceError when its output cannot be written */
export async function explainingOutput<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    throw new ServiceError('export_failed', code);
  }
}

/** An archive in a temporary file, which is gone once the content is read or destroyed. */
export interface SpooledArchive {
  bytes: number;
  total: Total;
  content: Readable;
}

/**
 * Exports to a temporary file first: a slow reader holds no transaction open, its size is known, and a failed export
 * is not mistaken for one.
 *
 * @param write writes the archive, and ends its output
 */
export async function spoolArchive(write: (output: Writable) => Promise<Total>): Promise<SpooledArchive> {
  const handle = await openTemporaryFile('export');
  try {
    const total = await write(writerTo(handle));
    const { size } = await handle.stat();
    // From here on, the stream owns the handle.
    return { bytes: size, total, content: handle.createReadStream({ start: 0 }) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
