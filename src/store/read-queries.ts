import { defineQuery } from '../postgres/query.ts';
import { STALE } from './access-times.ts';
import { lookupBatchQuery, lookupFilesBatchQuery, readFilesBatchQuery } from './batch-queries.ts';
import { DEPTH_FIRST, LINE, VISIBLE } from './listing.ts';

/* The statements that read memory. They take no lock. */

export interface LookupRow {
  /** Null, like a missing row, means that there is no entry. */
  kind: 'file' | 'dir' | null;
  content: string | null;
  /** For a file: whether its access time is to be updated. */
  stale: boolean | null;
  /**
   * For a directory that is not empty: one line per entry, with its path and, for a file, a tab and its size in bytes. No path contains
   * a control character. One text, because the driver reads many rows much more slowly.
   */
  entries: string | null;
  /** The number of entries, including those beyond `maxEntries`. */
  total: number | null;
}

/** The entry at a path and, for a directory, its listing: two levels, in depth-first order. */
export const lookupQuery = defineQuery<{ tenant: string; path: string; maxEntries: number }, LookupRow>(
  'lookup',
  ['tenant', 'path', 'maxEntries'],
  `
WITH children AS (
  SELECT path, kind, size_bytes FROM entries WHERE tenant_id = $1 AND parent_path = $2 AND ${VISIBLE}
), listed AS (
  SELECT path, size_bytes FROM children
  UNION ALL
  SELECT grandchildren.* FROM children CROSS JOIN LATERAL (
    SELECT path, size_bytes FROM entries WHERE tenant_id = $1 AND parent_path = children.path AND ${VISIBLE} OFFSET 0
  ) AS grandchildren
  WHERE children.kind = 'dir'
), shown AS (
  SELECT path, size_bytes, count(*) OVER () AS total FROM listed ORDER BY ${DEPTH_FIRST} LIMIT $3
)
SELECT e.kind, e.content, ${STALE} AS stale, s.entries, s.total
FROM entries AS e, (
  SELECT string_agg(${LINE}, E'\\n') AS entries, max(total)::integer AS total FROM shown
) AS s
WHERE e.tenant_id = $1 AND e.path = $2
`,
  lookupBatchQuery,
);

/** The entry at a path, without a listing: cheaper than `lookupQuery`. */
export const lookupFileQuery = defineQuery<
  { tenant: string; path: string },
  Pick<LookupRow, 'kind' | 'content' | 'stale'>
>(
  'lookup_file',
  ['tenant', 'path'],
  `
SELECT kind, content, ${STALE} AS stale FROM entries WHERE tenant_id = $1 AND path = $2
`,
  lookupFilesBatchQuery,
);

export interface FileRow {
  content: string;
  version: string;
}

export const readFileQuery = defineQuery<{ tenant: string; path: string }, FileRow>(
  'read_file',
  ['tenant', 'path'],
  `SELECT content, version FROM entries WHERE tenant_id = $1 AND path = $2 AND kind = 'file'`,
  readFilesBatchQuery,
);
