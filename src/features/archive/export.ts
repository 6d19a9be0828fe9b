import type { Readable, Writable } from 'node:stream';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { type Exported, exportEntries } from './export-entries.ts';
import { openTemporaryFile, writerTo } from './spool.ts';
import { writeTar } from './tar.ts';

export interface Total {
  files: number;
  bytes: number;
  /** Null if the history was not exported. */
  versions: number | null;
  /**
   * The first file that Git or Mercurial may read where the archive is unpacked. Their files can contain commands to
   * run.
   */
  actedUpon: string | null;
}

/** Case-insensitive, because some file systems are. */
const ACTED_UPON = /\/\.(?:git|hg)(?:\/|$)/i;

/**
 * Writes a snapshot of a tenant's memory as a tar archive.
 *
 * @param end whether to end `output` after the archive
 * @param path file or directory to export; defaults to the whole memory
 * @param history whether to include the history
 * @param scope tenants that the history may name; null means all
 * @param onFile called after each file
 * @param signal aborts the export; its reason is thrown
 * @throws ServiceError if the output cannot be written
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
  return explainOutput(async () => {
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

/**
 * Runs `write` and explains output errors.
 *
 * @throws ServiceError if the output cannot be written
 */
export async function explainOutput<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    throw new ServiceError('export_failed', code);
  }
}

/** An archive in a temporary file. The file is deleted when the content is consumed or destroyed. */
export interface SpooledArchive {
  bytes: number;
  total: Total;
  content: Readable;
}

/**
 * Exports to a temporary file first. A slow reader then holds no transaction open, the size is known in advance, and a
 * failed export cannot be mistaken for a complete archive.
 *
 * @param write writes the archive, and ends its output
 */
export async function spoolArchive(write: (output: Writable) => Promise<Total>): Promise<SpooledArchive> {
  const handle = await openTemporaryFile('export');
  try {
    const total = await write(writerTo(handle));
    const { size } = await handle.stat();
    // The stream owns the handle and closes it.
    return { bytes: size, total, content: handle.createReadStream({ start: 0 }) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
