/** Adapter for Deep Agents (`deepagents`): `memory-service-client/deepagents`. */
import type { MemoryClient } from '../client.ts';
import { MemoryServiceError } from '../errors.ts';
import { type FileEntry, MemoryFileError, type MemoryFiles, type StoredFile } from '../files.ts';

// biome-ignore lint/suspicious/noExplicitAny: these types differ between the versions of Deep Agents.
type Any = any;

/** The part of `deepagents` that `MemoryBackend` needs. */
export interface DeepAgents {
  StoreBackend: new (options: { store: Any; namespace: string[] }) => Any;
}

/** The error of a result. The other fields are missing if it is set. */
interface Failure {
  error?: string;
}

interface FileInfo {
  path: string;
  is_dir: boolean;
  size: number;
  modified_at: string;
}

type ReadResult = Failure & {
  content?: string;
  mimeType?: string;
  totalLines?: number;
  startLine?: number;
  endLine?: number;
  nextOffset?: number;
};
type FileData = { content: string; mimeType: string; created_at: string; modified_at: string };
type GrepResult = Failure & {
  matches?: { path: string; line: number; text: string }[];
  truncated?: boolean;
};
type Written = Failure & { path?: string; filesUpdate?: null };

/**
 * A backend over the files of the memory, for `createDeepAgent({ backend })` or as a route of a `CompositeBackend`. Its
 * path `/notes.md` is `/memories/notes.md` for the memory tool.
 *
 * Each method reads the files that it needs and runs the `StoreBackend` of Deep Agents on them, which defines the line
 * ranges, globs, replacements, and errors. All files are text. A rejected call and a call without a result
 * return an `error` with the message, and the conversation continues.
 */
export class MemoryBackend {
  readonly #files: MemoryFiles;
  readonly #deepAgents: DeepAgents;

  constructor(client: Pick<MemoryClient, 'files'>, deepAgents: DeepAgents) {
    this.#files = client.files();
    this.#deepAgents = deepAgents;
  }

  ls(path: string): Promise<Failure & { files?: FileInfo[] }> {
    return catchFileError(async () => ({
      files: (await this.#files.list(trimSlashes(path))).map(toFileInfo),
    }));
  }

  read(path: string, offset?: number, limit?: number): Promise<ReadResult> {
    return catchFileError(async () =>
      this.#createBackend(await this.#readIfExists(path)).read(path, offset, limit),
    );
  }

  readRaw(path: string): Promise<Failure & { data?: FileData }> {
    return catchFileError(async () => this.#createBackend(await this.#readIfExists(path)).readRaw(path));
  }

  /** Creates a file, or replaces its content. */
  write(path: string, content: string): Promise<Written> {
    return catchFileError(async () => {
      await this.#files.write(path, content);
      return { path, filesUpdate: null };
    });
  }

  /** Replaces a text. If another write changes the file at the same time, the new content is read and edited. */
  edit(
    path: string,
    oldString: string,
    newString: string,
    replaceAll?: boolean,
  ): Promise<Written & { occurrences?: number }> {
    return catchFileError(async () => {
      for (;;) {
        const given = await this.#readIfExists(path);
        const store = createStore(given);
        const result = await this.#createBackend(given, store).edit(path, oldString, newString, replaceAll);
        const [file] = given;
        if (result.error !== undefined || file === undefined) return result;
        const edited = store.get([], path)?.value.content ?? '';
        if (await this.#files.replace(file, edited)) return result;
      }
    });
  }

  grep(
    pattern: string,
    path?: string | null,
    glob?: string | null,
    maxCount?: number | null,
  ): Promise<GrepResult> {
    const top = path || '/';
    return catchFileError(async () => {
      const below = await this.#files.readAll(trimSlashes(top));
      const given = below.length > 0 ? below : await this.#readIfExists(top);
      return this.#createBackend(given).grep(pattern, top, glob ?? null, maxCount ?? null);
    });
  }

  glob(pattern: string, path?: string): Promise<Failure & { files?: FileInfo[]; truncated?: boolean }> {
    const top = path || '/';
    return catchFileError(async () => {
      const files = await this.#listFiles(top);
      const found = await this.#createBackend(files.map(withoutContent)).glob(pattern, top);
      const infos = new Map(files.map((file) => [file.path, toFileInfo(file)]));
      return { ...found, files: found.files?.map((file: FileInfo) => infos.get(file.path) ?? file) };
    });
  }

  /** Deletes a file, or all files below a directory. */
  delete(path: string): Promise<Written> {
    return catchFileError(async () => {
      const files = await this.#listFiles(path);
      if (files.length === 0) return { error: `Error: File '${path}' not found` };
      for (const file of files) await this.#files.delete(file);
      return { path, filesUpdate: null };
    });
  }

  async uploadFiles(
    files: [path: string, content: Uint8Array][],
  ): Promise<{ path: string; error: 'invalid_path' | 'permission_denied' | null }[]> {
    const responses: Awaited<ReturnType<MemoryBackend['uploadFiles']>> = [];
    for (const [path, bytes] of files) {
      const text = decodeUtf8(bytes);
      if (text === undefined) {
        responses.push({ path, error: 'permission_denied' });
        continue;
      }
      const failure = await this.#files.write(path, text).then(() => null, requireFileError);
      const isPermission = failure?.code === 'permission_error';
      responses.push({ path, error: failure && (isPermission ? 'permission_denied' : 'invalid_path') });
    }
    return responses;
  }

  async downloadFiles(
    paths: string[],
  ): Promise<
    { path: string; content: Uint8Array | null; error: 'file_not_found' | 'invalid_path' | null }[]
  > {
    const responses: Awaited<ReturnType<MemoryBackend['downloadFiles']>> = [];
    for (const path of paths) {
      const file = await this.#files.read(path).catch(requireFileError);
      if (file instanceof MemoryFileError) responses.push({ path, content: null, error: 'invalid_path' });
      else if (file === undefined) responses.push({ path, content: null, error: 'file_not_found' });
      else responses.push({ path, content: new TextEncoder().encode(file.content), error: null });
    }
    return responses;
  }

  /** Returns the file at a path as a list, which is empty if there is none. */
  async #readIfExists(path: string): Promise<StoredFile[]> {
    const file = await this.#files.read(path);
    return file === undefined ? [] : [file];
  }

  /** Returns the file at a path, or all files below it. */
  async #listFiles(path: string): Promise<FileEntry[]> {
    const top = trimSlashes(path);
    const below = await this.#files.listAll(top);
    const entry = below.length > 0 ? undefined : await this.#files.find(top);
    return entry?.kind === 'file' ? [entry] : below;
  }

  #createBackend(files: readonly StoredFile[], store = createStore(files)): Any {
    return new this.#deepAgents.StoreBackend({ store, namespace: ['memory'] });
  }
}

/** A store of LangGraph with some files, as far as `StoreBackend` uses it. */
function createStore(files: readonly StoredFile[]) {
  const items = new Map(files.map((file) => [file.path, { key: file.path, value: toFileData(file) }]));
  return {
    get: (_namespace: string[], key: string) => items.get(key) ?? null,
    put: (_namespace: string[], key: string, value: FileData) => void items.set(key, { key, value }),
    search: (_namespace: string[], { offset = 0, limit = 10 }: { offset?: number; limit?: number }) =>
      [...items.values()].slice(offset, offset + limit),
  };
}

function toFileData({ content, createdAt, changedAt }: StoredFile): FileData {
  return { content, mimeType: 'text/plain', created_at: createdAt, modified_at: changedAt };
}

const withoutContent = (file: FileEntry): StoredFile => ({ ...file, content: '' });

function toFileInfo(entry: FileEntry | { kind: 'directory'; path: string }): FileInfo {
  if (entry.kind === 'directory') return { path: `${entry.path}/`, is_dir: true, size: 0, modified_at: '' };
  return { path: entry.path, is_dir: false, size: entry.bytes, modified_at: entry.changedAt };
}

function trimSlashes(path: string): string {
  return path.replace(/\/+$/, '') || '/';
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function requireFileError(error: unknown): MemoryFileError {
  if (error instanceof MemoryFileError) return error;
  throw error;
}

async function catchFileError<Result>(work: () => Promise<Result | Failure>): Promise<Result | Failure> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MemoryFileError || error instanceof MemoryServiceError)) throw error;
    return { error: `Error: ${error.message}` };
  }
}
