import { deleteFile, moveFile, readFile, writeFile } from '../../../core/admin/memory-operations.ts';
import { type Caller, iteratePages } from '../../../core/cli/caller.ts';
import type { MemoryPath } from '../../../core/memory/path.ts';
import { listHashes } from '../hash-operation.ts';
import type { RemoteFile } from './plan.ts';

/** Identifies a tenant's state. A tenant that is deleted and created again has another `createdAt`. */
export interface RemoteState {
  createdAt: string;
  changedAt: string | null;
}

export interface RemoteTree extends RemoteState {
  files: RemoteFile[];
  /** Whether the files are from one state. Otherwise, renamed files may be missing. */
  isConsistent: boolean;
}

/** Maximum lists that are read until one shows a single state. */
const MAX_LISTS = 3;

/** Reads and changes a tenant's files through the admin API. */
export class RemoteMemory {
  readonly #caller: Caller;
  readonly #tenant: string;

  constructor(caller: Caller, tenant: string) {
    this.#caller = caller;
    this.#tenant = tenant;
  }

  async list(): Promise<RemoteTree> {
    for (let attempt = 1; ; attempt++) {
      const tree = await this.#list();
      if (tree.isConsistent || attempt === MAX_LISTS) return tree;
    }
  }

  async #list(): Promise<RemoteTree> {
    const files = new Map<string, RemoteFile>();
    const states: RemoteState[] = [];
    const pages = iteratePages((after) =>
      this.#caller.call(listHashes, { params: { tenant: this.#tenant }, query: { after } }),
    );
    for await (const page of pages) {
      states.push({ createdAt: page.tenant_created_at, changedAt: page.last_change_at });
      for (const { path, memory_id: memoryId, content_sha256: sha256 } of page.files)
        files.set(memoryId, { path, memoryId, sha256 });
    }
    if (states.length > 1) states.push(await this.state());
    const [first = await this.state()] = states;
    const isConsistent = states.every(({ changedAt }) => changedAt === first.changedAt);
    return { ...first, files: [...files.values()], isConsistent };
  }

  async state(): Promise<RemoteState> {
    const input = { params: { tenant: this.#tenant }, query: { limit: 1 } };
    const page = await this.#caller.call(listHashes, input);
    return { createdAt: page.tenant_created_at, changedAt: page.last_change_at };
  }

  async read(path: MemoryPath): Promise<string> {
    const { content } = await this.#caller.call(readFile, {
      params: { tenant: this.#tenant },
      query: { path },
    });
    return content;
  }

  /**
   * Writes a file.
   *
   * @param expected content hash to replace; null creates the file
   * @returns the written content's hash, which differs if secrets were masked
   * @throws ServiceError if the file has another content, or if the content is rejected
   */
  async write(path: MemoryPath, text: string, expected: string | null): Promise<string> {
    const headers = expected === null ? { 'if-none-match': '*' } : { 'if-match': `"${expected}"` };
    const input = { params: { tenant: this.#tenant }, query: { path }, headers, body: text };
    return (await this.#caller.call(writeFile, input)).sha256;
  }

  /** @throws ServiceError if the new path is occupied, or if the file does not exist */
  async move(from: MemoryPath, to: MemoryPath): Promise<void> {
    await this.#caller.call(moveFile, { params: { tenant: this.#tenant }, body: { from, to } });
  }

  /** @throws ServiceError if the file has another content, or does not exist */
  async delete(path: MemoryPath, expected: string): Promise<void> {
    const headers = { 'if-match': `"${expected}"` };
    await this.#caller.call(deleteFile, { params: { tenant: this.#tenant }, query: { path }, headers });
  }
}
