import { LRUCache } from 'lru-cache';
import type { SearchedFile } from './query.ts';
import type { SharedText } from './shared-text.ts';

/** A current file. Files with the same path and version are equal. */
export interface CachedFile extends SearchedFile<SharedText> {
  version: string;
}

/** Current files of a tenant, sorted by path. */
export interface CachedMemory {
  files: readonly CachedFile[];
  /** State of the tenant with exactly these files; undefined if the tenant changed while the files were read. */
  state: string | undefined;
}

/**
 * Time after the last search for which files remain in memory. It limits how long a text remains that another replica
 * redacted or deleted.
 */
const IDLE_MS = 60_000;
/** Estimated size of a file without its path and content, in bytes. */
const FILE_BYTES = 300;

/** Files of tenants that were searched recently. */
export class TextCache {
  readonly maxBytes: number;
  readonly #memories: LRUCache<string, CachedMemory> | undefined;

  /** @param maxBytes maximum size of all files together; 0 turns the cache off */
  constructor(maxBytes: number, idleMs = IDLE_MS) {
    this.maxBytes = maxBytes;
    if (maxBytes === 0) return;
    this.#memories = new LRUCache({
      maxSize: maxBytes,
      ttl: idleMs,
      ttlAutopurge: true,
    });
  }

  /** Number of tenants whose files are kept. */
  get tenants(): number {
    return this.#memories?.size ?? 0;
  }

  get(tenant: string): CachedMemory | undefined {
    return this.#memories?.get(tenant);
  }

  /**
   * Keeps the files of a tenant for `IDLE_MS`, unless they exceed `maxBytes`, or most of their buffers is earlier
   * contents. The next search then reads all files again.
   */
  set(tenant: string, memory: CachedMemory): void {
    const used = memory.files.reduce((sum, file) => sum + bytesInMemory(file), 0);
    const size = used + unusedBytes(memory.files);
    if (size > 2 * used) this.forget(tenant);
    else this.#memories?.set(tenant, memory, { size: Math.max(1, size) });
  }

  forget(tenant: string): void {
    this.#memories?.delete(tenant);
  }

  clear(): void {
    this.#memories?.clear();
  }
}

/** Returns the size of earlier contents of files in the buffers, which remain until the whole buffer is unused. */
function unusedBytes(files: readonly CachedFile[]): number {
  const buffers = new Set(files.map(({ content }) => content.buffer));
  const held = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
  return files.reduce((sum, { content: { start, end } }) => sum - (end - start), held);
}

/** Estimates the memory of a file. */
export function bytesInMemory({ path, content }: CachedFile): number {
  return FILE_BYTES + 2 * path.length + content.end - content.start;
}
