import { defineBatchQuery, MAX_BYTES } from '../postgres/batch-query.ts';
import { findTenantsBatchQuery } from '../tenants/queries.ts';
import { DEPTH_FIRST, LINE, VISIBLE } from './listing.ts';

/* What single statements do, for many calls at once. */

/** What is looked at is no entry, a directory, or a file that may be read with others. */
const NOT_LARGE = `(e.kind IS DISTINCT FROM 'file' OR e.size_bytes <= ${MAX_BYTES})`;

/** Where there is no entry, its row has no kind. */
export const lookupFilesBatchQuery = defineBatchQuery(
  'lookup_files',
  { tenant: 'text', path: 'text', accessedBefore: 'text' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, e.accessed_at < c.accessed_before::timestamptz AS stale
FROM ${calls} LEFT JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
WHERE ${NOT_LARGE}
`,
);

/** A listing that looks at more goes alone, so that the others do not wait for it. */
const MAX_LISTED = 200;

/** Entries and, of directories, listings that are shown whole. Where there is no entry, its row has no kind. */
export const lookupBatchQuery = defineBatchQuery(
  'lookup_batch',
  { tenant: 'text', path: 'text', maxEntries: 'bigint', accessedBefore: 'text' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, e.accessed_at < c.accessed_before::timestamptz AS stale, s.entries, s.total
FROM ${calls} LEFT JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
CROSS JOIN LATERAL (
  WITH children AS MATERIALIZED (
    SELECT path, kind, size_bytes, ${VISIBLE} AS is_visible FROM entries
    WHERE tenant_id = c.tenant AND parent_path = c.path LIMIT ${MAX_LISTED + 1}
  ), grandchildren AS (
    SELECT path, size_bytes, ${VISIBLE} AS is_visible FROM entries
    WHERE tenant_id = c.tenant
      AND parent_path = ANY (ARRAY(SELECT path FROM children WHERE kind = 'dir' AND is_visible)) LIMIT ${MAX_LISTED + 1}
  ), listed AS (
    SELECT path, size_bytes, is_visible FROM children UNION ALL SELECT path, size_bytes, is_visible FROM grandchildren
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

export const batchQueries = [
  lookupFilesBatchQuery,
  lookupBatchQuery,
  readFilesBatchQuery,
  findTenantsBatchQuery,
] as const;
