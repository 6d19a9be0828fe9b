import { isUtf8 } from 'node:buffer';
import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { ServiceError } from '../../core/errors/errors.ts';
import { asByte, cannotImport, type SourceEntry } from './entry.ts';

/**
 * Reads a local directory's files and directories, ordered by name. Symbolic links are rejected.
 *
 * @param bare whether entry names are relative to the directory. Otherwise, the directory is `memories` or contains
 * `memories`, like the directory that the SDK's `BetaLocalFilesystemMemoryTool` uses, and entry names begin with
 * `memories/`.
 */
export async function* readDirectory(directory: string, bare: boolean): AsyncGenerator<SourceEntry> {
  try {
    if (bare) return yield* walk(Buffer.from(directory), '');
    yield* walk(Buffer.from(await memoriesDirectory(directory)), 'memories');
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === undefined || error instanceof ServiceError) throw error;
    throw new ServiceError('directory_unreadable', path ?? directory, code);
  }
}

async function memoriesDirectory(directory: string): Promise<string> {
  if (basename(resolve(directory)) === 'memories') return directory;
  const inside = join(directory, 'memories');
  if ((await stat(inside).catch(() => undefined))?.isDirectory()) return inside;
  throw new ServiceError('directory_without_memories', directory);
}

/** Uses bytes for paths, because names may not be valid UTF-8. */
async function* walk(directory: Buffer, name: string): AsyncGenerator<SourceEntry> {
  const { mtime } = await stat(directory);
  yield { name: name === '' ? '.' : name, kind: 'dir', bytes: 0, modified: mtime, content: emptyContent() };
  const entries = await readdir(directory, { withFileTypes: true, encoding: 'buffer' });
  for (const entry of entries.sort((a, b) => Buffer.compare(a.name, b.name))) {
    const path = Buffer.concat([directory, Buffer.from('/'), entry.name]);
    if (!isUtf8(entry.name)) {
      const shown = `${name}/${entry.name.toString('latin1').replace(/[^ -~]/g, asByte)}`;
      throw cannotImport(shown, 'entry_name_not_utf8');
    }
    const below = name === '' ? entry.name.toString() : `${name}/${entry.name}`;
    if (entry.isDirectory()) {
      yield* walk(path, below);
    } else if (entry.isFile()) {
      const { size, mtime: modified } = await lstat(path);
      yield { name: below, kind: 'file', bytes: size, modified, content: readFileContent(path) };
    } else {
      throw cannotImport(below, entryFault(entry));
    }
  }
}

async function* readFileContent(path: Buffer): AsyncGenerator<Uint8Array> {
  // Fails immediately if the file has been replaced by a link or a pipe since it was listed.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    yield* handle.createReadStream({ autoClose: false });
  } finally {
    await handle.close();
  }
}

async function* emptyContent(): AsyncGenerator<Uint8Array> {}

function entryFault(entry: Dirent<Buffer>) {
  if (entry.isSymbolicLink()) return 'entry_symlink';
  if (entry.isFIFO()) return 'entry_fifo';
  return entry.isSocket() ? 'entry_socket' : 'entry_device';
}
