/** Adapter for just-bash: `memory-service-client/just-bash`. */
import type { MemoryClient } from '../client.ts';
import {
  type DirectoryEntry,
  type FileEntry,
  MemoryFileError,
  type MemoryFiles,
  parentDirectory,
} from '../files.ts';

type Encoding = 'utf8' | 'utf-8' | 'ascii' | 'binary' | 'base64' | 'hex' | 'latin1';
type EncodingOption = { encoding?: Encoding | null } | Encoding | undefined;

/** The part of `just-bash` that `MemoryFileSystem` needs. */
export interface JustBash {
  DefenseInDepthBox: { runTrustedAsync<Result>(work: () => Promise<Result>): Promise<Result> };
}

interface Stat {
  isFile: boolean;
  isDirectory: boolean;
  isSymbolicLink: boolean;
  mode: number;
  size: number;
  mtime: Date;
  /** Identifies a file, for commands such as `mv` that compare files. */
  identity: string;
}

/**
 * The files of the memory as the filesystem of a `Bash`, or as a mount of a `MountableFs`. Its path `/notes.md` is
 * `/memories/notes.md` for the memory tool.
 *
 * All files are text in UTF-8, and there are no links. Modes and times cannot be changed, so `chmod` and `touch` of an
 * existing file have no effect. The memory keeps only directories that contain files, so an empty directory exists in
 * this object only. Errors have the messages of a filesystem (`ENOENT: …`). A call without a result throws a
 * `MemoryServiceError`.
 */
export class MemoryFileSystem {
  readonly #files: MemoryFiles;
  /** Directories that were created here. */
  readonly #created = new Set<string>();

  /** @param justBash exports of `just-bash`, which blocks requests during a script unless it runs them */
  constructor(client: Pick<MemoryClient, 'files'>, { DefenseInDepthBox }: JustBash) {
    this.#files = client.files((work) => DefenseInDepthBox.runTrustedAsync(work));
  }

  async readFile(path: string, options?: EncodingOption): Promise<string> {
    return encode(await this.#readContent(path), chosenEncoding(options));
  }

  async readFileBuffer(path: string): Promise<Uint8Array> {
    return new TextEncoder().encode(await this.#readContent(path));
  }

  async writeFile(path: string, content: string | Uint8Array, options?: EncodingOption): Promise<void> {
    await this.#rejectDirectory(path, 'open');
    await this.#write(path, decode(content, chosenEncoding(options), path));
  }

  /** Appends to a file without losing a concurrent write. */
  async appendFile(path: string, content: string | Uint8Array, options?: EncodingOption): Promise<void> {
    const text = decode(content, chosenEncoding(options), path);
    for (;;) {
      const file = await this.#files.read(normalizePath(path)).catch(toFileSystemError(path, 'open'));
      if (file === undefined) return this.writeFile(path, text);
      const replaced = this.#files.replace(file, file.content + text);
      if (await replaced.catch(toFileSystemError(path, 'write'))) return;
    }
  }

  async exists(path: string): Promise<boolean> {
    return (await this.#find(path).catch(ignoreRejection)) !== undefined;
  }

  async stat(path: string): Promise<Stat> {
    const entry = await this.#requireEntry(path, 'stat');
    const isFile = entry.kind === 'file';
    return {
      isFile,
      isDirectory: !isFile,
      isSymbolicLink: false,
      mode: isFile ? 0o644 : 0o755,
      size: isFile ? entry.bytes : 0,
      mtime: new Date(isFile ? entry.changedAt : 0),
      identity: isFile ? entry.id : `directory:${entry.path}`,
    };
  }

  lstat(path: string): Promise<Stat> {
    return this.stat(path);
  }

  async mkdir(path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<void> {
    const entry = await this.#find(path);
    if (entry !== undefined) {
      if (recursive && entry.kind === 'directory') return;
      throw createError('EEXIST: file already exists', 'mkdir', path);
    }
    const parent = parentDirectory(normalizePath(path));
    if (recursive) await this.mkdir(parent, { recursive });
    else await this.#requireDirectory(parent, 'mkdir', path);
    this.#created.add(normalizePath(path));
  }

  async readdir(path: string): Promise<string[]> {
    return (await this.readdirWithFileTypes(path)).map(({ name }) => name);
  }

  async readdirWithFileTypes(
    path: string,
  ): Promise<{ name: string; isFile: boolean; isDirectory: boolean; isSymbolicLink: boolean }[]> {
    const directory = normalizePath(path);
    await this.#requireDirectory(directory, 'scandir', path);
    const entries = await this.#files.list(directory);
    const kinds = new Map<string, boolean>(
      entries.map((entry) => [baseName(entry.path), entry.kind === 'file']),
    );
    for (const created of this.#created)
      if (created !== '/' && parentDirectory(created) === directory && !kinds.has(baseName(created)))
        kinds.set(baseName(created), false);
    return [...kinds]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, isFile]) => ({ name, isFile, isDirectory: !isFile, isSymbolicLink: false }));
  }

  async rm(path: string, { recursive = false, force = false } = {}): Promise<void> {
    const entry = await this.#find(path);
    if (entry === undefined) {
      if (force) return;
      throw createError('ENOENT: no such file or directory', 'rm', path);
    }
    if (entry.kind === 'file') {
      this.#keepDirectory(parentDirectory(entry.path));
      return this.#files.delete(entry).catch(toFileSystemError(path, 'rm'));
    }
    const below = await this.#files.listAll(entry.path);
    const hasDirectories = [...this.#created].some((each) => isBelow(each, entry.path));
    if (!recursive && (below.length > 0 || hasDirectories))
      throw createError('ENOTEMPTY: directory not empty', 'rm', path);
    for (const file of below) await this.#files.delete(file).catch(toFileSystemError(path, 'rm'));
    for (const each of this.#created)
      if (each === entry.path || isBelow(each, entry.path)) this.#created.delete(each);
  }

  async cp(src: string, dest: string, { recursive = false } = {}): Promise<void> {
    const entry = await this.#requireEntry(src, 'cp');
    if (entry.kind === 'directory' && !recursive) throw createError('EISDIR: is a directory', 'cp', src);
    if (entry.kind === 'file') return this.writeFile(dest, await this.#readContent(src));
    await this.mkdir(dest, { recursive: true });
    for (const name of await this.readdir(src))
      await this.cp(join(src, name), join(dest, name), { recursive });
  }

  /**
   * Moves a file with its history, or each file of a directory. A file at the destination gets the content, and keeps
   * its own history.
   */
  async mv(src: string, dest: string): Promise<void> {
    const entry = await this.#requireEntry(src, 'mv');
    const to = normalizePath(dest);
    if (entry.path === to) return;
    if (isBelow(to, entry.path)) throw createError(`EINVAL: cannot move '${src}' into itself`, 'mv', dest);
    this.#keepDirectory(parentDirectory(entry.path));
    if (entry.kind === 'file') {
      const replaced = await this.#find(dest);
      if (replaced?.kind === 'directory') throw createError('EISDIR: is a directory', 'mv', dest);
      if (replaced === undefined) {
        await this.#files.move(entry, to).catch(toFileSystemError(dest, 'mv'));
        return;
      }
      // The destination never lacks a content, even if the move ends here.
      await this.#write(dest, await this.#readContent(src));
      return this.#files.delete(entry).catch(toFileSystemError(src, 'mv'));
    }
    await this.mkdir(dest, { recursive: true });
    for (const name of await this.readdir(src)) await this.mv(join(src, name), join(dest, name));
    this.#created.delete(entry.path);
  }

  resolvePath(base: string, path: string): string {
    return normalizePath(path.startsWith('/') ? path : `${base}/${path}`);
  }

  /** Returns no paths, because they cannot be listed without waiting. just-bash then reads the directories. */
  getAllPaths(): string[] {
    return [];
  }

  async chmod(path: string): Promise<void> {
    await this.#requireEntry(path, 'chmod');
  }

  async utimes(path: string): Promise<void> {
    await this.#requireEntry(path, 'utimes');
  }

  async symlink(_target: string, path: string): Promise<void> {
    throw createError('EPERM: a memory has no links', 'symlink', path);
  }

  async link(_existing: string, path: string): Promise<void> {
    throw createError('EPERM: a memory has no links', 'link', path);
  }

  async readlink(path: string): Promise<string> {
    await this.#requireEntry(path, 'readlink');
    throw createError('EINVAL: invalid argument', 'readlink', path);
  }

  async realpath(path: string): Promise<string> {
    return (await this.#requireEntry(path, 'realpath')).path;
  }

  async #readContent(path: string): Promise<string> {
    const file = await this.#files.read(normalizePath(path)).catch(toFileSystemError(path, 'open'));
    if (file !== undefined) return file.content;
    await this.#rejectDirectory(path, 'read');
    throw createError('ENOENT: no such file or directory', 'open', path);
  }

  async #write(path: string, text: string): Promise<void> {
    await this.#files.write(normalizePath(path), text).catch(toFileSystemError(path, 'open'));
  }

  async #rejectDirectory(path: string, operation: string): Promise<void> {
    if ((await this.#find(path).catch(ignoreRejection))?.kind === 'directory')
      throw createError('EISDIR: illegal operation on a directory', operation, path);
  }

  async #find(path: string): Promise<FileEntry | DirectoryEntry | undefined> {
    const wanted = normalizePath(path);
    const found = await this.#files.find(wanted).catch(toFileSystemError(path, 'stat'));
    return found ?? (this.#created.has(wanted) ? { kind: 'directory', path: wanted } : undefined);
  }

  async #requireEntry(path: string, operation: string): Promise<FileEntry | DirectoryEntry> {
    const entry = await this.#find(path);
    if (entry === undefined) throw createError('ENOENT: no such file or directory', operation, path);
    return entry;
  }

  async #requireDirectory(directory: string, operation: string, path: string): Promise<void> {
    const entry = await this.#find(directory);
    if (entry === undefined) throw createError('ENOENT: no such file or directory', operation, path);
    if (entry.kind === 'file') throw createError('ENOTDIR: not a directory', operation, path);
  }

  /** Keeps a directory that is about to lose its last file. */
  #keepDirectory(path: string): void {
    for (let each = path; each !== '/'; each = parentDirectory(each)) this.#created.add(each);
  }
}

function createError(what: string, operation: string, path: string): Error {
  return new Error(`${what}, ${operation} '${path}'`);
}

const CODES: Record<string, string> = {
  permission_error: 'EACCES',
  memory_path_conflict_error: 'ENOTDIR',
  request_too_large: 'EFBIG',
};

/** Converts a rejection of the service. The message names the reason, such as a limit. */
function toFileSystemError(path: string, operation: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof MemoryFileError)) throw error;
    const code = CODES[error.code] ?? 'EINVAL';
    throw new Error(`${code}: ${error.message}, ${operation} '${path}'`, { cause: error });
  };
}

/** A path that the service rejects does not exist. */
function ignoreRejection(error: unknown): undefined {
  if (!(error instanceof Error && error.cause instanceof MemoryFileError)) throw error;
}

/** Resolves `.` and `..`, and returns an absolute path in Unicode Normalization Form C. */
function normalizePath(path: string): string {
  const names: string[] = [];
  for (const name of path.normalize('NFC').split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}

const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const isBelow = (path: string, directory: string) =>
  path !== directory && path.startsWith(join(directory, ''));
const join = (directory: string, name: string) =>
  (directory.endsWith('/') ? directory : `${directory}/`) + name;

function chosenEncoding(options: EncodingOption): Encoding {
  return (typeof options === 'string' ? options : options?.encoding) ?? 'utf8';
}

function encode(text: string, encoding: Encoding): string {
  if (encoding === 'utf8' || encoding === 'utf-8' || encoding === 'ascii') return text;
  const bytes = new TextEncoder().encode(text);
  if (encoding === 'hex') return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return encoding === 'base64' ? btoa(binary) : binary;
}

/** @throws Error EILSEQ if the content is not UTF-8 */
function decode(content: string | Uint8Array, encoding: Encoding, path: string): string {
  if (typeof content === 'string' && (encoding === 'utf8' || encoding === 'utf-8')) return content;
  const bytes = typeof content === 'string' ? toBytes(content, encoding) : content;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw createError('EILSEQ: a memory holds only text in UTF-8', 'write', path);
  }
}

function toBytes(content: string, encoding: Encoding): Uint8Array {
  if (encoding === 'hex')
    return Uint8Array.from(content.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
  const binary = encoding === 'base64' ? atob(content) : content;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
