import type { Database } from '../../database/database.ts';
import { retrying } from '../../database/errors.ts';
import { defineQuery } from '../../database/query.ts';
import { History } from '../../history/history.ts';
import { findAt, type TreeRow, treePageAt } from '../../history/past.ts';
import { type MemoryPath, ROOT } from '../../memory/path.ts';
import { findPathsQuery } from '../read-queries.ts';
import type { SearchedFile } from './query.ts';

/** A page is read by one statement and searched in one go. */
const PAGE = { files: 100, bytes: 2 ** 19 };

/**
 * A page of the files at a path and below it, in the order of their paths: at most `limit`, stopping once they exceed
 * `bytes`, but at least one if there is one. The first page follows ''.
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

/** The files of a tenant that a search reads: those of now, or of a time. Throws `DatabaseError`. */
export interface FileSource {
  /** The page of the files at a path and below it that follows a path; '' for the first. An empty one is the last. */
  page(path: MemoryPath, after: string): Promise<SearchedFile[]>;
  /** Whether there is a file or a directory. */
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
 * The files as they were at a time, in ISO 8601.
 *
 * @throws HistoryIncomplete (its methods) for a time before the history is complete
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
        // A page of directories has none.
        if (files.length > 0 || taken.length === 0) return files;
      }
    },
    has: async (path) => (await findAt(history, tenant, path, at)).kind !== 'missing',
  };
}

/** The first entries, up to so many bytes but at least one. */
function upTo(bytes: number, rows: readonly TreeRow[]): TreeRow[] {
  let sum = 0;
  return rows.filter(({ sizeBytes }, i) => {
    sum += sizeBytes ?? 0;
    return i === 0 || sum <= bytes;
  });
}

/** The files among the entries, but for those whose versions have gone meanwhile. */
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
