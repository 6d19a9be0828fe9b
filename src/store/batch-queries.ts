import { defineBatchQuery, MAX_BYTES } from '../postgres/batch-query.ts';
import { STALE } from './access-times.ts';
import { DEPTH_FIRST, LINE, VISIBLE } from './listing.ts';

/* The batch forms of single queries. */

/** Excludes files that are too large for a batch. */
const NOT_LARGE = `(e.kind IS DISTINCT FROM 'file' OR e.size_bytes <= ${MAX_BYTES})`;

/** For a path without an entry, `kind` is null. */
export const lookupFilesBatchQuery = defineBatchQuery(
  'lookup_files',
  { tenant: 'text', path: 'text' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, ${STALE} AS stale
FROM ${calls} LEFT JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
WHERE ${NOT_LARGE}
`,
);

/** A listing that reads more entries is left to the single query, so that other calls do not wait for it. */
const MAX_LISTED = 200;

/** Entries, with the listings of directories that fit `maxEntries`. For a path without an entry, `kind` is null. */
export const lookupBatchQuery = defineBatchQuery(
  'lookup_batch',
  { tenant: 'text', path: 'text', maxEntries: 'bigint' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, ${STALE} AS stale, s.entries, s.total
FROM ${calls} LEFT JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
CROSS JOIN LATERAL (
  WITH children AS MATERIALIZED (
    SELECT path, kind, size_bytes, ${VISIBLE} AS is_visible FROM entries
    WHERE tenant_id = c.tenant AND parent_path = c.path LIMIT ${MAX_LISTED + 1}
  ), listed AS (
    SELECT path, size_bytes, is_visible FROM children
    UNION ALL
    (SELECT grandchildren.* FROM children CROSS JOIN LATERAL (
      SELECT path, size_bytes, ${VISIBLE} AS is_visible FROM entries
      WHERE tenant_id = c.tenant AND parent_path = children.path OFFSET 0
    ) AS grandchildren
    WHERE children.kind = 'dir' AND children.is_visible LIMIT ${MAX_LISTED + 1})
  )
  SELECT string_agg(${LINE}, E'\\n' ORDER BY ${DEPTH_FIRST}) FILTER (WHERE is_visible) AS entries,
    (count(*) FILTER (WHERE is_visible))::integer AS total, count(*) AS looked_at
  FROM listed
) AS s
WHERE ${NOT_LARGE} AND s.looked_at <= ${MAX_LISTED} AND s.total <= c.max_entries
`,
);

export const readFilesBatchQuery = defineBatchQuery(
  'read_files',
  { tenant: 'text', path: 'text' },
  (calls) => `
SELECT c.item::integer, e.content, e.version
FROM ${calls} JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
WHERE e.kind = 'file' AND e.size_bytes <= ${MAX_BYTES}
`,
);
