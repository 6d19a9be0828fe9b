import type { Database } from '../../database/database.ts';
import { retrying } from '../../database/errors.ts';
import { defineQuery } from '../../database/query.ts';
import { History } from '../../history/history.ts';
import { findAt, type TreeRow, treePageAt } from '../../history/past.ts';
import { type MemoryPath, ROOT } from '../../memory/path.ts';
import { findPathsQuery } from '../read-queries.ts';
import type { SearchedFile } from './query.ts';

/** Size of a page, which is read by one statement and searched as a whole. */
const PAGE = { files: 100, bytes: 2 ** 19 };

/**
 * Reads a page of the files at a path and below it, sorted by path. It has at most `limit` files, and ends before the
 * file that would exceed `bytes`, but has at least one file. The first page is after ''.
 */
const searchPageQuery = defineQuery<
  { tenant: string; path: string; after: string; limit: number; bytes: number },
  SearchedFile
>(
  'search_page',
  `
SELECT path, content, bytes, modified FROM (
  SELECT path, content, size_bytes AS bytes, extract(epoch FROM updated_at)::float8 AS modified,
    sum(size_bytes) OVER (ORDER BY path) - size_bytes AS before
  FROM entries
  WHERE tenant_id = $tenant AND kind = 'file' AND path > $after AND memory_in_subtree(path, $path) ORDER BY path LIMIT $limit
) AS page
WHERE before < $bytes::bigint ORDER BY path
`,
);

/** The files of a tenant that a search reads, now or at a time. Throws `DatabaseError`. */
export interface FileSource {
  /**
   * Returns the page after the path `after` of the files at a path and below it. The first page is after ''. An empty
   * page is the last one.
   */
  page(path: MemoryPath, after: string): Promise<SearchedFile[]>;
  /** Whether a file or directory exists at a path. */
  has(path: MemoryPath): Promise<boolean>;
}

export function filesNow(database: Database, tenant: string): FileSource {
  return {
    page: async (path, after) => {
      const params = { tenant, path, after, limit: PAGE.files, bytes: PAGE.bytes };
      return (await retrying(true, () => database.query(searchPageQuery, params))).rows;
    },
    has: async (path) =>
      path === ROOT || (await database.query(findPathsQuery, { tenant, paths: [path] })).rows.length > 0,
  };
}

/**
 * Returns the files at a past time, in ISO 8601.
 *
 * @throws HistoryIncomplete (its methods) for a time before the complete history
 */
export function filesAt(database: Database, tenant: string, at: string): FileSource {
  const history = new History(database);
  return {
    page: async (path, after) => {
      for (let last = after; ; ) {
        const rows = await treePageAt(history, tenant, path, at, { after: last, limit: PAGE.files });
        const taken = upTo(PAGE.bytes, rows);
        last = taken.at(-1)?.path ?? last;
        const files = await withContents(history, tenant, taken);
        // A page may consist of directories only.
        if (files.length > 0 || taken.length === 0) return files;
      }
    },
    has: async (path) => (await findAt(history, tenant, path, at)).kind !== 'missing',
  };
}

/** Returns the first entries of at most `bytes` bytes, but at least one entry. */
function upTo(bytes: number, rows: readonly TreeRow[]): TreeRow[] {
  let sum = 0;
  return rows.filter(({ sizeBytes }, i) => {
    sum += sizeBytes ?? 0;
    return i === 0 || sum <= bytes;
  });
}

/** Returns the files among the entries with their contents. Versions that were deleted in the meantime are omitted. */
async function withContents(
  history: History,
  tenant: string,
  rows: readonly TreeRow[],
): Promise<SearchedFile[]> {
  const versions = rows.flatMap(({ versionId, memoryId, sizeBytes, ...row }) =>
    versionId === null || memoryId === null ? [] : [{ versionId, memoryId, bytes: sizeBytes ?? 0, ...row }],
  );
  const contents = await history.contents(tenant, versions);
  return versions.flatMap(({ versionId, path, bytes, createdAt }) => {
    const content = contents.get(versionId);
    return content === undefined ? [] : [{ path, content, bytes, modified: Date.parse(createdAt) / 1000 }];
  });
}
