import { LRUCache } from 'lru-cache';
import type { SearchedFile } from './search-query.ts';
import { compactTexts, type SharedText } from './shared-text.ts';

/** A current file. Files with the same path and version are equal. */
export interface CachedFile extends SearchedFile<SharedText> {
  version: string;
}

/** A tenant's current files, sorted by path. */
export interface CachedMemory {
  files: readonly CachedFile[];
  /** The tenant's state with exactly these files; undefined if the tenant changed while the files were read. */
  state: string | undefined;
}

/** Time after the last search for which files remain in memory. */
const IDLE_MS = 60_000;
/** Estimated file size without the path and content, in bytes. */
const FILE_BYTES = 300;

/** Follows a tenant's changes until the returned function is called. */
export type Follow = (tenant: string) => () => void;

/** Files from tenants that were searched recently. */
export class TextCache {
  readonly maxBytes: number;
  readonly #memories: LRUCache<string, CachedMemory> | undefined;
  readonly #follow: Follow | undefined;
  readonly #unfollow = new Map<string, () => void>();

  /**
   * @param maxBytes maximum size for all files together; 0 turns the cache off
   * @param follow called for each tenant whose files are kept
   */
  constructor(maxBytes: number, follow?: Follow, idleMs = IDLE_MS) {
    this.maxBytes = maxBytes;
    this.#follow = follow;
    if (maxBytes === 0) return;
    this.#memories = new LRUCache({
      maxSize: maxBytes,
      ttl: idleMs,
      ttlAutopurge: true,
      dispose: (_, tenant, reason) => reason !== 'set' && this.#stopFollowing(tenant),
    });
  }

  /** Number of tenants whose files are kept. */
  get tenants(): number {
    return this.#memories?.size ?? 0;
  }

  get(tenant: string): CachedMemory | undefined {
    return this.#memories?.get(tenant);
  }

  /** Keeps a tenant's files for `IDLE_MS`, unless they exceed `maxBytes`. */
  set(tenant: string, memory: CachedMemory): void {
    this.#keep(tenant, memory, false);
  }

  /**
   * Replaces a tenant's kept files, and drops earlier contents. The time for which the files are kept does not change.
   */
  update(tenant: string, memory: CachedMemory): void {
    if (this.#memories?.has(tenant)) this.#keep(tenant, memory, true);
  }

  forget(tenant: string): void {
    this.#memories?.delete(tenant);
  }

  clear(): void {
    this.#memories?.clear();
  }

  #keep(tenant: string, { files, state }: CachedMemory, isUpdate: boolean): void {
    const used = files.reduce((sum, file) => sum + bytesInMemory(file), 0);
    const unused = unusedBytes(files);
    const isCompact = unused <= (isUpdate ? 0 : used);
    const memory = { files: isCompact ? files : compactTexts(files), state };
    const size = Math.max(1, isCompact ? used + unused : used);
    this.#memories?.set(tenant, memory, { size, noUpdateTTL: isUpdate });
    if (!this.#memories?.has(tenant)) this.#stopFollowing(tenant);
    else if (this.#follow && !this.#unfollow.has(tenant)) this.#unfollow.set(tenant, this.#follow(tenant));
  }

  #stopFollowing(tenant: string): void {
    this.#unfollow.get(tenant)?.();
    this.#unfollow.delete(tenant);
  }
}

/** Returns the size of earlier file contents in the buffers. These contents remain until the whole buffer is unused. */
function unusedBytes(files: readonly CachedFile[]): number {
  const buffers = new Set(files.map(({ content }) => content.buffer));
  const held = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
  return files.reduce((sum, { content: { start, end } }) => sum - (end - start), held);
}

/** Estimates a file's memory use. */
export function bytesInMemory({ path, content }: CachedFile): number {
  return FILE_BYTES + 2 * path.length + content.end - content.start;
}
