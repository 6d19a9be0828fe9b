import type { StoreError } from './response.ts';
import type { CreateInput, MemoryResult } from './types.ts';

/** A file of the memory. Its path has no `/memories`: `/notes.md` is `/memories/notes.md` for the memory tool. */
export interface FileEntry {
  kind: 'file';
  id: string;
  path: string;
  /** Size of the content in UTF-8. */
  bytes: number;
  /** SHA-256 of the content in hexadecimal. */
  sha256: string;
  /** ISO 8601. */
  createdAt: string;
  /** ISO 8601. */
  changedAt: string;
}

/** A file with its text. */
export interface StoredFile extends FileEntry {
  content: string;
}

/** A directory that has files in it or below it. */
export interface DirectoryEntry {
  kind: 'directory';
  path: string;
}

/** A rejected read or write, such as a write with a read-only key, above a limit, or to an invalid path. */
export class MemoryFileError extends Error {
  override readonly name = 'MemoryFileError';
  /** Type of the error in the Memory Stores API, such as `permission_error`. */
  readonly code: string;

  constructor({ type, message }: StoreError) {
    super(message);
    this.code = type;
  }
}

type Json = Record<string, unknown>;
export type Rejected = { error: StoreError };

/** A request below `/v1/memory_stores/{store}/memories`. */
export interface StoreRequest<Result> {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  query?: Record<string, string>;
  body?: Json;
  read: (body: Json) => Result | undefined;
}

type Send = <Result>(request: StoreRequest<Result>) => Promise<Result | Rejected>;

/** Number of paths whose IDs are remembered. */
const MAX_KNOWN = 10_000;

/** Number of attempts of a write to a path that others delete and create at the same time. */
const ATTEMPTS = 5;

/**
 * The files of a memory as whole texts. All writes have the same effect if they are sent again, so lost responses are
 * retried without an idempotency key.
 */
export class MemoryFiles {
  readonly #send: Send;
  readonly #execute: (call: CreateInput) => Promise<MemoryResult>;
  /** IDs of files by path. A file that was moved or deleted since then is looked up again. */
  readonly #ids = new Map<string, string>();

  constructor(send: Send, execute: (call: CreateInput) => Promise<MemoryResult>) {
    this.#send = send;
    this.#execute = execute;
  }

  /** Lists the entries of a directory, `/` or a path, by name. A missing directory is empty. */
  async list(directory: string): Promise<(FileEntry | DirectoryEntry)[]> {
    return this.#list(directory, { depth: '1', limit: '100' });
  }

  /** Lists all files below a directory, by path. */
  async listAll(directory: string): Promise<FileEntry[]> {
    return (await this.#list(directory, { limit: '100' })).filter((entry) => entry.kind === 'file');
  }

  /** Reads all files below a directory, by path. */
  async readAll(directory: string): Promise<StoredFile[]> {
    return (await this.#list(directory, { view: 'full' })).filter(isWithContent);
  }

  async find(path: string): Promise<FileEntry | DirectoryEntry | undefined> {
    if (path === '/') return { kind: 'directory', path };
    return (await this.list(parentDirectory(path))).find((entry) => entry.path === path);
  }

  async read(path: string): Promise<StoredFile | undefined> {
    const known = this.#ids.get(path);
    const file = known === undefined ? undefined : await this.#retrieve(known);
    if (file?.path === path) return file;
    const found = await this.find(path);
    const again = found?.kind === 'file' ? await this.#retrieve(found.id) : undefined;
    return again?.path === path ? again : undefined;
  }

  /** Creates a file, or replaces its content. The first file creates a tenant, if the key allows that. */
  async write(path: string, content: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const created = await this.#send({ method: 'POST', path: '', body: { path, content }, read: isMemory });
      if (!('error' in created)) return;
      const { error } = created;
      const { conflicting_path, conflicting_memory_id: id } = error;
      let outcome: 'written' | 'changed' = 'changed';
      if (conflicting_path === path && id !== undefined) outcome = await this.#update(id, { content });
      // The store does not exist yet.
      else if (error.type === 'not_found_error') outcome = await this.#createTenant(path, content, error);
      else throw new MemoryFileError(error);
      if (outcome === 'written') return;
      if (attempt === ATTEMPTS) throw new MemoryFileError(error);
    }
  }

  /** Replaces the content of a file. Returns false if the file was changed, moved, or deleted since it was read. */
  async replace({ id, sha256 }: FileEntry, content: string): Promise<boolean> {
    const precondition = { type: 'content_sha256', content_sha256: sha256 };
    return (await this.#update(id, { content, precondition })) === 'written';
  }

  /** Moves a file. Returns false if it was deleted since it was read. */
  async move({ id }: FileEntry, path: string): Promise<boolean> {
    return (await this.#update(id, { path })) === 'written';
  }

  /** Deletes a file. A file that was deleted since it was read is no error. */
  async delete({ id }: FileEntry): Promise<void> {
    const deleted = await this.#send({ method: 'DELETE', path: `/${id}`, read: isMemory });
    if ('error' in deleted && deleted.error.type !== 'not_found_error')
      throw new MemoryFileError(deleted.error);
  }

  async #list(directory: string, given: Record<string, string>): Promise<(FileEntry | DirectoryEntry)[]> {
    const entries: (FileEntry | DirectoryEntry)[] = [];
    let page: string | undefined;
    do {
      const query = {
        path_prefix: directory === '/' ? '/' : `${directory}/`,
        ...given,
        ...(page === undefined ? {} : { page }),
      };
      const listed = await this.#send({ method: 'GET', path: '', query, read: readPage });
      if ('error' in listed) {
        // A store that does not exist yet is empty.
        if (listed.error.type === 'not_found_error') return [];
        throw new MemoryFileError(listed.error);
      }
      for (const entry of listed.entries) {
        if (entry.kind === 'file') this.#know(entry);
        entries.push(entry);
      }
      page = listed.next;
    } while (page !== undefined);
    return entries;
  }

  async #retrieve(id: string): Promise<StoredFile | undefined> {
    const found = await this.#send({ method: 'GET', path: `/${id}`, read: readFile });
    if (!('error' in found)) return found;
    if (found.error.type === 'not_found_error') return undefined;
    throw new MemoryFileError(found.error);
  }

  async #update(id: string, body: Json): Promise<'written' | 'changed'> {
    const updated = await this.#send({ method: 'POST', path: `/${id}`, body, read: isMemory });
    if (!('error' in updated)) return 'written';
    const { type } = updated.error;
    if (type === 'not_found_error' || type === 'memory_precondition_failed_error') return 'changed';
    throw new MemoryFileError(updated.error);
  }

  /** Creates the first file over the memory tool, because the Memory Stores API creates no tenants for other keys. */
  async #createTenant(path: string, content: string, error: StoreError): Promise<'written' | 'changed'> {
    const call = { command: 'create', path: `/memories${path}`, file_text: content } as const;
    const { content: message, is_error } = await this.#execute(call);
    if (!is_error) return 'written';
    if (message.endsWith(' already exists')) return 'changed';
    throw new MemoryFileError({
      ...error,
      type: 'invalid_request_error',
      message: message.replace(/^Error: /, ''),
    });
  }

  #know({ path, id }: FileEntry): void {
    if (this.#ids.size >= MAX_KNOWN) this.#ids.clear();
    this.#ids.set(path, id);
  }
}

function isWithContent(entry: FileEntry | DirectoryEntry): entry is StoredFile {
  return 'content' in entry;
}

export function parentDirectory(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

function readPage({ data, next_page: next }: Json) {
  if (!Array.isArray(data)) return undefined;
  const entries = data.map((item: Json) =>
    item.type === 'memory'
      ? (readFile(item) ?? fileEntry(item))
      : { kind: 'directory' as const, path: String(item.path).slice(0, -1) },
  );
  return { entries, next: typeof next === 'string' ? next : undefined };
}

function readFile(item: Json): StoredFile | undefined {
  return typeof item.content === 'string' ? { ...fileEntry(item), content: item.content } : undefined;
}

function fileEntry(item: Json): FileEntry {
  return {
    kind: 'file',
    id: String(item.id),
    path: String(item.path),
    bytes: Number(item.content_size_bytes),
    sha256: String(item.content_sha256),
    createdAt: String(item.created_at),
    changedAt: String(item.updated_at),
  };
}

function isMemory({ id }: Json): { id: string } | undefined {
  return typeof id === 'string' ? { id } : undefined;
}
