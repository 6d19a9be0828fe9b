import { randomUUID } from 'node:crypto';
import type { MemoryPath } from '../memory/path.ts';
import { success } from '../memory/result.ts';
import {
  findMemoryQuery,
  listChildrenQuery,
  listMemoriesQuery,
  type MemoryPageParams,
  type MemoryPageRow,
  type MemoryRow,
} from './memory-queries.ts';
import type { TenantDatabase } from './tenant-database.ts';
import { storeCreateFunction, storeDeleteFunction, storeUpdateFunction } from './write-functions.ts';

/** A file to create; with `withContent`, the outcome has the content. */
export interface NewMemory {
  path: MemoryPath;
  content: string;
  withContent: boolean;
}

/** What becomes of a file. Null leaves the path or the content as it is. */
export interface MemoryUpdate {
  path: MemoryPath | null;
  content: string | null;
  /** The SHA-256 that the content has to have, in hexadecimal; null for any. */
  expected: string | null;
  /** 0: no limit. */
  maxFileBytes: number;
  withContent: boolean;
}

/** These writes are not stored under idempotency keys, so they have no result to repeat. */
const NO_RESULT = success('');

/**
 * The files of one tenant by their ids, as the Memory Stores API has them. Each method is atomic, and shares locks, quotas, history and batches
 * with those of `MemoryStore`.
 */
export class Memories {
  readonly #calls: TenantDatabase;

  constructor(calls: TenantDatabase) {
    this.#calls = calls;
  }

  async find(memory: string, { withContent }: { withContent: boolean }): Promise<MemoryRow | undefined> {
    const { tenant } = this.#calls.context;
    const [row] = (await this.#calls.read(findMemoryQuery, { tenant, memory, withContent })).rows;
    if (row !== undefined && withContent) this.#noteRead([row]);
    return row;
  }

  /** A page of the files below a directory or, with `depth` 1, of what is directly in it. `hasMore` says whether another one follows. */
  async page(
    depth: 0 | 1,
    page: Omit<MemoryPageParams, 'tenant'>,
  ): Promise<{ rows: MemoryPageRow[]; hasMore: boolean }> {
    const { tenant } = this.#calls.context;
    const query = depth === 0 ? listMemoriesQuery : listChildrenQuery;
    const { rows } = await this.#calls.read(query, { tenant, ...page });
    if (page.withContent) this.#noteRead(rows);
    return { rows, hasMore: rows.length > 0 && (rows[0]?.candidates ?? 0) > rows.length };
  }

  create(memory: NewMemory) {
    const { origin, context } = this.#calls;
    const params = { ...memory, version: randomUUID(), origin, ...context.defaults };
    return this.#calls.write(storeCreateFunction, params, NO_RESULT);
  }

  update(memory: string, update: MemoryUpdate) {
    const { origin, context } = this.#calls;
    const params = { memory, ...update, change: randomUUID(), origin, ...context.defaults };
    return this.#calls.write(storeUpdateFunction, params, NO_RESULT);
  }

  /** @param expected the SHA-256 that the content has to have, in hexadecimal; null for any */
  delete(memory: string, expected: string | null) {
    const { origin, context } = this.#calls;
    const params = { memory, expected, change: randomUUID(), origin, ...context.defaults };
    return this.#calls.write(storeDeleteFunction, params, NO_RESULT);
  }

  #noteRead(rows: readonly MemoryRow[]): void {
    const { tenant, accessTimes } = this.#calls.context;
    for (const { path, stale } of rows) if (stale && path !== null) accessTimes.note(tenant, path);
  }
}
