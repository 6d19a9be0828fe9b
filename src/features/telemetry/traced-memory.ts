import type { RecordedMemory } from '../../core/files/record-tracer.ts';
import type {
  Created,
  Deleted,
  Edit,
  Edited,
  Listing,
  LookupResult,
  MemoryStore,
  Renamed,
} from '../../core/memory/memory-store.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import type { MemoryResult } from '../../core/memory/result.ts';
import { toPublicId } from '../../core/tenants/store-ids.ts';

/**
 * Adds a file's ID to the current operation.
 *
 * @param store a mounted memory's tenant; undefined for the caller's tenant
 */
type NoteRecord = (record: string, store: string | undefined) => void;

/**
 * A memory whose sampled operations name their file in the trace. Finding the file's ID takes one more statement, which
 * does not run for other calls. An operation on a directory has no file.
 */
export class TracedMemory implements MemoryStore {
  readonly #memory: RecordedMemory;
  readonly #noteRecord: NoteRecord;

  constructor(memory: RecordedMemory, noteRecord: NoteRecord) {
    this.#memory = memory;
    this.#noteRecord = noteRecord;
  }

  async lookup(path: MemoryPath, maxEntries: number): Promise<LookupResult> {
    const noted = this.#note(path);
    const found = await this.#memory.lookup(path, maxEntries);
    await noted;
    return found;
  }

  rootEntries(maxEntries: number): Promise<Listing> {
    return this.#memory.rootEntries(maxEntries);
  }

  async create(path: MemoryPath, content: string, result: MemoryResult): Promise<Created> {
    const created = await this.#memory.create(path, content, result);
    if (created.kind === 'created') await this.#note(path);
    return created;
  }

  async edit<R>(
    path: MemoryPath,
    change: (content: string) => Edit<R> | Promise<Edit<R>>,
  ): Promise<Edited<R>> {
    const noted = this.#note(path);
    const edited = await this.#memory.edit(path, change);
    await noted;
    return edited;
  }

  async delete(path: MemoryPath, result: MemoryResult): Promise<Deleted> {
    await this.#note(path);
    return this.#memory.delete(path, result);
  }

  async deleteIf(path: MemoryPath, isExpected: (content: string) => boolean, result: MemoryResult) {
    await this.#note(path);
    return this.#memory.deleteIf(path, isExpected, result);
  }

  async rename(from: MemoryPath, to: MemoryPath, result: MemoryResult): Promise<Renamed> {
    await this.#note(from);
    return this.#memory.rename(from, to, result);
  }

  reserveKey(result: MemoryResult): Promise<void> {
    return this.#memory.reserveKey(result);
  }

  recordFailure(result: MemoryResult): Promise<void> {
    return this.#memory.recordFailure(result);
  }

  /** Never rejects, because the trace must not affect the call. */
  async #note(path: MemoryPath): Promise<void> {
    if (path === ROOT) return;
    const { tenant, isMounted } = this.#memory;
    const id = await this.#memory.recordId(path).catch(() => undefined);
    if (id !== undefined) this.#noteRecord(toPublicId('mem', id), isMounted ? tenant : undefined);
  }
}
