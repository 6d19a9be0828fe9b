import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { OperatorError } from '../../../core/errors/errors.ts';
import { byteAmount } from '../../../core/lib/units.ts';
import { ancestorPaths, type MemoryPath, parsePath, ROOT } from '../../../core/memory/path.ts';
import { type IsIgnored, readIgnoreRules } from './ignore-rules.ts';
import type { LocalFile } from './plan.ts';
import { STATE_DIRECTORY, writeDurably } from './sync-state.ts';

/** Files above this size are not read. A memory could not store them. */
const MAX_BYTES = 64 * 1024 * 1024;

export interface LocalTree {
  files: Map<MemoryPath, LocalFile>;
  /** Files and directories that cannot be synchronized, with the reason. */
  skipped: Map<MemoryPath, string>;
  /** Names that are not paths in a memory, with the reason. */
  invalidNames: Map<string, string>;
  isIgnored: IsIgnored;
}

/** A local directory whose files have the paths of a memory. */
export class LocalDirectory {
  readonly root: string;
  /** Local names, relative to the root, by path. A local name may have another Unicode normalization. */
  #names = new Map<MemoryPath, string>();

  constructor(root: string) {
    this.root = root;
  }

  /** Reads all files. Symbolic links and special files are skipped. */
  async scan(): Promise<LocalTree> {
    this.#names = new Map([[ROOT, '']]);
    const isIgnored = await readIgnoreRules(this.root);
    const tree: LocalTree = { files: new Map(), skipped: new Map(), invalidNames: new Map(), isIgnored };
    await this.#scanDirectory('', tree);
    return tree;
  }

  async #scanDirectory(directory: string, tree: LocalTree): Promise<void> {
    const entries = await this.#readDirectory(directory, tree);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = join(directory, entry.name);
      const path = toMemoryPath(name);
      if (path === undefined) {
        tree.invalidNames.set(name, 'its name is not valid in a memory');
        continue;
      }
      if (tree.isIgnored(path, entry.isDirectory() ? 'directory' : 'file')) continue;
      if (this.#names.has(path)) {
        tree.skipped.set(path, 'another file has the same name in another Unicode normalization');
        continue;
      }
      this.#names.set(path, name);
      if (entry.isDirectory()) await this.#scanDirectory(name, tree);
      else await this.#scanFile(entry, path, tree);
    }
  }

  async #readDirectory(directory: string, { skipped }: LocalTree): Promise<Dirent[]> {
    try {
      return await readdir(join(this.root, directory), { withFileTypes: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const path = toMemoryPath(directory);
      if (directory === '' || path === undefined)
        throw new OperatorError(`Cannot read the directory ${this.root} (${code}).`);
      // The directory may have been deleted since its parent was read.
      if (code !== 'ENOENT') skipped.set(path, `it cannot be read (${code})`);
      return [];
    }
  }

  async #scanFile(entry: Dirent, path: MemoryPath, { files, skipped }: LocalTree): Promise<void> {
    if (!entry.isFile()) {
      skipped.set(path, entry.isSymbolicLink() ? 'it is a symbolic link' : 'it is not a regular file');
      return;
    }
    try {
      const { size, mtime: modifiedAt } = await lstat(this.#resolve(path));
      if (size > MAX_BYTES) {
        skipped.set(path, `it is larger than ${byteAmount(MAX_BYTES)}`);
        return;
      }
      const bytes = await readBytes(this.#resolve(path));
      if (isUtf8(bytes) && !bytes.includes(0))
        files.set(path, { path, sha256: hash('sha256', bytes, 'hex'), modifiedAt });
      else skipped.set(path, 'it is not UTF-8 text');
    } catch (error) {
      // The file may have been deleted since the directory was read.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') skipped.set(path, `it cannot be read (${code})`);
    }
  }

  async read(path: MemoryPath): Promise<string> {
    return (await readBytes(this.#resolve(path))).toString();
  }

  /** Whether anything exists at the path. */
  async exists(path: MemoryPath): Promise<boolean> {
    return (await getKind(this.#resolve(path))) !== undefined;
  }

  /**
   * Writes a file if the content at its path is as expected.
   *
   * @param expected content hash to replace; null if nothing exists at the path
   * @returns false if the path has another content, or is blocked
   */
  async write(path: MemoryPath, text: string, expected: string | null): Promise<boolean> {
    if (!(await this.#makeDirectories(path))) return false;
    const target = this.#resolve(path);
    const unfinished = join(this.root, STATE_DIRECTORY, 'unfinished');
    if (expected === null) await removeEmptyDirectory(target);
    // After an interruption, it may be a link to a complete file.
    await rm(unfinished, { force: true });
    await writeDurably(unfinished, text, 0o666);
    if (expected !== null) await copyMode(target, unfinished);
    if ((await readHash(target)) !== expected) return false;
    if (expected !== null) await rename(unfinished, target);
    else if (!(await linkOrRename(unfinished, target))) return false;
    this.#names.set(path, this.#nameFor(path));
    return true;
  }

  /**
   * Deletes a file if its content is as expected, and the directories that are empty after it.
   *
   * @returns false if the file has another content
   */
  async delete(path: MemoryPath, expected: string): Promise<boolean> {
    const target = this.#resolve(path);
    const found = await readHash(target);
    if (found === null) return true;
    if (found !== expected) return false;
    await unlink(target);
    for (const directory of ancestorPaths(path).slice(1).reverse())
      await removeEmptyDirectory(this.#resolve(directory));
    return true;
  }

  /** Whether the file system regards names that differ only in case as the same name. */
  async isCaseInsensitive(): Promise<boolean> {
    const probe = join(this.root, STATE_DIRECTORY, 'case-probe');
    await writeFile(probe, '');
    const found = await getKind(join(this.root, STATE_DIRECTORY, 'CASE-PROBE'));
    await rm(probe, { force: true });
    return found !== undefined;
  }

  /** Creates the directories above a path. Returns false if a file or a symbolic link is in their place. */
  async #makeDirectories(path: MemoryPath): Promise<boolean> {
    for (const directory of ancestorPaths(path).slice(1)) {
      const local = this.#resolve(directory);
      const kind = await getKind(local);
      if (kind === undefined) await mkdir(local);
      else if (kind !== 'directory') return false;
    }
    return true;
  }

  #resolve(path: MemoryPath): string {
    return join(this.root, this.#nameFor(path));
  }

  /** Returns a path's local name. Unknown names are added to the local name for the directory above. */
  #nameFor(path: MemoryPath): string {
    const known = this.#names.get(path);
    if (known !== undefined) return known;
    const parent = dirname(path) as MemoryPath;
    return join(this.#nameFor(parent), path.slice(parent.length + 1));
  }
}

/** @throws OperatorError if the path is not a directory, or cannot be created */
export async function makeStateDirectory(root: string): Promise<void> {
  try {
    await mkdir(join(root, STATE_DIRECTORY), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new OperatorError(`Cannot use the directory ${root} (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** Returns the path for a local name, or undefined if a memory cannot have the name. */
function toMemoryPath(name: string): MemoryPath | undefined {
  // Bytes that are not UTF-8 are read as U+FFFD.
  if (name.includes('\uFFFD')) return undefined;
  const parsed = parsePath(`${ROOT}/${name.split(sep).join('/')}`);
  return parsed.ok ? parsed.path : undefined;
}

async function readBytes(file: string): Promise<Buffer> {
  // Fails immediately if the file has been replaced by a link or a pipe since it was listed.
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

async function getKind(file: string): Promise<'file' | 'directory' | 'other' | undefined> {
  try {
    const found = await lstat(file);
    if (found.isDirectory()) return 'directory';
    return found.isFile() ? 'file' : 'other';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Returns a file's content hash; null if nothing exists, and another text for a directory or a link. */
async function readHash(file: string): Promise<string | null> {
  const kind = await getKind(file);
  if (kind === undefined) return null;
  return kind === 'file' ? hash('sha256', await readBytes(file), 'hex') : kind;
}

/** Removes a directory if it is empty. */
async function removeEmptyDirectory(directory: string): Promise<void> {
  await rmdir(directory).catch(() => {});
}

async function copyMode(from: string, to: string): Promise<void> {
  const found = await lstat(from).catch(() => undefined);
  if (found?.isFile()) await chmod(to, found.mode & 0o777);
}

/** Gives a file a new name unless the name exists. File systems without hard links rename it. */
async function linkOrRename(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    await rename(from, to);
    return true;
  }
  await unlink(from);
  return true;
}
