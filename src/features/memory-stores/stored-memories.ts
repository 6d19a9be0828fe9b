import { randomUUID } from 'node:crypto';
import { runWithRetries } from '../../core/database/database-errors.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { STALE } from '../../core/files/access-times.ts';
import type { Memory } from '../../core/files/memory.ts';
import { isShownSql } from '../../core/files/read-queries.ts';
import { rejectedWrite } from '../../core/files/rejected-write.ts';
import {
  type PathConflict,
  type StoredMemory,
  storeCreateFunction,
  storeDeleteFunction,
  storeUpdateFunction,
} from '../../core/files/write-functions.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { success } from '../../core/memory/result.ts';
import { isReadable, type Rights, shownParams } from '../../core/memory/rights.ts';

/* Queries for the Memory Stores API, which reads files by ID and in pages. They take no locks. */

export type MemoryRow = StoredMemory & {
  /** Whether the access time should be updated. */
  stale: boolean;
};

const COLUMNS = (content: string) => `
  e.memory_id AS "memoryId", e.version AS "versionId", e.path, e.size_bytes AS "sizeBytes",
  encode(memory_sha256(e.content), 'hex') AS sha256, ${time('e.created_at')} AS "createdAt", ${time('e.changed_at')} AS "updatedAt",
  ${content} AS content, ${STALE} AS stale`;

export const findMemoryQuery = defineQuery<
  { tenant: string; memory: string; withContent: boolean },
  MemoryRow
>(
  'find_memory',
  `
SELECT ${COLUMNS('CASE WHEN $withContent::boolean THEN e.content END')}
FROM entries AS e WHERE e.tenant_id = $tenant AND e.memory_id = $memory::text::uuid
`,
);

export type MemoryPageParams = {
  tenant: string;
  /** Paths that the caller may read, and paths that it must not read. */
  shown: string[];
  hidden: string[];
  /** Directory below which files are listed. */
  top: string;
  /** Path after which the page begins. */
  after: string;
  withContent: boolean;
  limit: number;
  /** Maximum content size. The file that exceeds this size is the last file on the page. */
  bytes: number;
};

/**
 * A `dir` is a directory that contains files, and has only a path. `candidates` counts the matching entries, up to one
 * more than `limit`.
 */
export type MemoryPageRow = { kind: 'file' | 'dir'; candidates: number } & MemoryRow;

/**
 * Declares a query for one page: entries that `candidates` selects, ordered by path. Only the contents that fit are
 * read.
 */
const pageQuery = (name: string, candidates: string) =>
  defineQuery<MemoryPageParams, MemoryPageRow>(
    name,
    `
SELECT e.kind, listed.candidates::integer, ${COLUMNS('CASE WHEN $withContent::boolean THEN e.content END')}
FROM (
  SELECT c.path, row_number() OVER paths AS item, count(*) OVER () AS candidates,
    COALESCE(sum(c.size_bytes) OVER (paths ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
  FROM (${candidates} ORDER BY path LIMIT $limit::integer + 1) AS c
  WINDOW paths AS (ORDER BY c.path)
) AS listed JOIN entries AS e ON e.tenant_id = $tenant AND e.path = listed.path
WHERE listed.item <= $limit::integer AND listed.bytes_before < $bytes::bigint
ORDER BY e.path
`,
  );

/** All files below the directory. */
export const listMemoriesQuery = pageQuery(
  'list_memories',
  `SELECT f.path, f.size_bytes FROM entries AS f
   WHERE f.tenant_id = $tenant AND f.kind = 'file' AND f.path > $after AND f.path > $top || '/'
     AND f.path < $top || '0' AND ${isShownSql('f.path')}`,
);

/** Direct entries in the directory: files, and directories that contain files. */
export const listChildrenQuery = pageQuery(
  'list_children',
  `SELECT d.path, d.size_bytes FROM entries AS d
   WHERE d.tenant_id = $tenant AND d.parent_path = $top AND d.path > $after
     AND (d.kind = 'file' AND ${isShownSql('d.path')} OR EXISTS (
     SELECT FROM entries AS f
     WHERE f.tenant_id = $tenant AND f.kind = 'file' AND f.path > d.path || '/' AND f.path < d.path || '0'
       AND ${isShownSql('f.path')}
   ))`,
);

/** A file to create. With `withContent`, the outcome contains the content. */
export interface NewMemory {
  path: MemoryPath;
  content: string;
  withContent: boolean;
}

/** Changes to a file. Null keeps the path or the content. */
export interface MemoryUpdate {
  path: MemoryPath | null;
  content: string | null;
  /** Required SHA-256 of the current content, in hexadecimal; null for any content. */
  expected: string | null;
  /** 0 means no limit. */
  maxFileBytes: number;
  withContent: boolean;
}

/** The outcome of a write that the caller's rights do not cover. */
const FORBIDDEN = { kind: 'forbidden' } as const;

export function mayWrite(rights: Rights | undefined, paths: readonly MemoryPath[]): boolean {
  return rights === undefined || rejectedWrite(rights, paths) === undefined;
}

/** Returns an outcome without a conflict with a file that the caller must not know about. */
function withoutHidden<T extends { kind: string }>(
  outcome: T,
  rights: Rights | undefined,
): T | typeof FORBIDDEN {
  if (outcome.kind !== 'conflict' || rights === undefined) return outcome;
  return isReadable(rights, (outcome as unknown as PathConflict).path) ? outcome : FORBIDDEN;
}

/** These writes have no idempotency key, so no result is stored for them. */
const NO_RESULT = success('');

/**
 * One tenant's files by ID, for the Memory Stores API. Each method is atomic, and shares locks, quotas, history, and
 * batches with the `MemoryStore` methods.
 */
export class Memories {
  readonly #memory: Memory;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  async find(memory: string, { withContent }: { withContent: boolean }): Promise<MemoryRow | undefined> {
    const { services } = this.#memory;
    const row = await runWithRetries(true, () => this.#find(services.database.query, memory, withContent));
    if (row !== undefined && withContent) this.#noteRead([row]);
    return row;
  }

  /**
   * Reads one page: the files below a directory or, with `depth` 1, its direct entries. `hasMore` is whether another
   * page follows.
   */
  async page(
    depth: 0 | 1,
    page: Omit<MemoryPageParams, 'tenant' | 'shown' | 'hidden'>,
  ): Promise<{ rows: MemoryPageRow[]; hasMore: boolean }> {
    const { tenant, services } = this.#memory;
    const query = depth === 0 ? listMemoriesQuery : listChildrenQuery;
    const { shown, hidden } = shownParams(this.#memory.rights);
    const params = { tenant, shown, hidden, ...page };
    const { rows } = await runWithRetries(true, () => services.database.query(query, params));
    if (page.withContent) this.#noteRead(rows);
    return { rows, hasMore: rows.length > 0 && (rows[0]?.candidates ?? 0) > rows.length };
  }

  async create(memory: NewMemory) {
    const { origin, services, rights } = this.#memory;
    if (!mayWrite(rights, [memory.path])) return FORBIDDEN;
    const params = { ...memory, version: randomUUID(), origin, ...services.defaults };
    const created = await this.#memory.write(storeCreateFunction, params, NO_RESULT);
    return withoutHidden(created, rights);
  }

  async update(memory: string, update: MemoryUpdate) {
    const { origin, services, rights } = this.#memory;
    const params = { memory, ...update, change: randomUUID(), origin, ...services.defaults };
    const updated = await this.#writeAt(memory, update.path, (options) =>
      this.#memory.write(storeUpdateFunction, params, NO_RESULT, options),
    );
    return withoutHidden(updated, rights);
  }

  /** @param expected required SHA-256 of the content, in hexadecimal; null for any content */
  delete(memory: string, expected: string | null) {
    const { origin, services } = this.#memory;
    const params = { memory, expected, change: randomUUID(), origin, ...services.defaults };
    return this.#writeAt(memory, null, (options) =>
      this.#memory.write(storeDeleteFunction, params, NO_RESULT, options),
    );
  }

  async #find(query: QueryExecutor, memory: string, withContent: boolean): Promise<MemoryRow | undefined> {
    const { tenant, rights = [] } = this.#memory;
    const [row] = (await query(findMemoryQuery, { tenant, memory, withContent })).rows;
    return row?.path != null && isReadable(rights, row.path) ? row : undefined;
  }

  /**
   * Runs a write to a file if the caller's rights cover it. With rights, the tenant is locked, because a concurrent
   * rename could move the file to another path.
   *
   * @param to the new path; null if the path stays
   */
  async #writeAt<T>(
    memory: string,
    to: MemoryPath | null,
    write: (options: { transaction?: QueryExecutor }) => Promise<T>,
  ): Promise<T | typeof FORBIDDEN | { kind: 'missing' }> {
    const { rights } = this.#memory;
    if (rights === undefined) return write({});
    return this.#memory.inTransaction(async (query) => {
      const row = await this.#find(query, memory, false);
      if (row === undefined) return { kind: 'missing' };
      const path = row.path as MemoryPath;
      return mayWrite(rights, [path, to ?? path]) ? write({ transaction: query }) : FORBIDDEN;
    });
  }

  #noteRead(rows: readonly MemoryRow[]): void {
    for (const { path, stale, content } of rows)
      if (path !== null && content !== null) this.#memory.noteRead(path, stale);
  }
}
