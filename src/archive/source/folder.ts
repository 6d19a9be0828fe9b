import { isUtf8 } from 'node:buffer';
import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { asByte, cannotImport, notUtf8Name, type SourceEntry } from './entry.ts';

/**
 * Reads the files and directories in a folder, in the order of their names, without following links.
 *
 * @param bare whether names are relative to the folder. Otherwise the folder is `memories` itself, or one that holds it
 *   (as that of the SDK's `BetaLocalFilesystemMemoryTool`), and they begin with `memories/`.
 */
export async function* readFolder(folder: string, bare: boolean): AsyncGenerator<SourceEntry> {
  try {
    if (bare) return yield* walk(Buffer.from(folder), '');
    yield* walk(Buffer.from(await memoriesFolder(folder)), 'memories');
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === undefined || error instanceof OperatorError) throw error;
    throw new OperatorError(`Cannot read ${path ?? folder} (${code}).`);
  }
}

async function memoriesFolder(folder: string): Promise<string> {
  if (basename(resolve(folder)) === 'memories') return folder;
  const inside = join(folder, 'memories');
  if ((await stat(inside).catch(() => undefined))?.isDirectory()) return inside;
  throw new OperatorError(
    `${folder} is not named memories and does not contain a folder memories. Give the destination with --into, for example --into /memories.`,
  );
}

/** Works on paths as bytes, because they may not be UTF-8. */
async function* walk(folder: Buffer, name: string): AsyncGenerator<SourceEntry> {
  const { mtime } = await stat(folder);
  yield { name: name === '' ? '.' : name, kind: 'dir', bytes: 0, modified: mtime, content: nothing() };
  const entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' });
  for (const entry of entries.sort((a, b) => Buffer.compare(a.name, b.name))) {
    const path = Buffer.concat([folder, Buffer.from('/'), entry.name]);
    if (!isUtf8(entry.name)) {
      throw notUtf8Name(`${name}/${entry.name.toString('latin1').replace(/[^ -~]/g, asByte)}`);
    }
    const below = name === '' ? entry.name.toString() : `${name}/${entry.name}`;
    if (entry.isDirectory()) {
      yield* walk(path, below);
    } else if (entry.isFile()) {
      const { size, mtime: modified } = await lstat(path);
      yield { name: below, kind: 'file', bytes: size, modified, content: contentOf(path) };
    } else {
      throw cannotImport(below, `it is ${typeOf(entry)}, and a memory holds files and directories only.`);
    }
  }
}

async function* contentOf(path: Buffer): AsyncGenerator<Uint8Array> {
  // If it has become a link or a pipe in the meantime, this fails instead of waiting.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    yield* handle.createReadStream({ autoClose: false });
  } finally {
    await handle.close();
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function typeOf(entry: Dirent<Buffer>): string {
  if (entry.isSymbolicLink()) return 'a symbolic link';
  if (entry.isFIFO()) return 'a named pipe';
  if (entry.isSocket()) return 'a socket';
  return 'a device';
}
