import { defineBatchQuery, defineQuery, MAX_BYTES, time } from '../database/query.ts';
import { ROOT } from '../memory/path.ts';
import type { ShownParams } from '../memory/rights.ts';
import { STALE } from './access-times.ts';

/* Queries that read memory, with their batch queries. They take no locks. */

/**
 * The tenant's creation time, from the root (memory_bind_root). Null, like a missing row, if the tenant has no root: it
 * has no entries, or does not exist.
 */
export interface OfTenant {
  tenantCreatedAt: string | null;
}

/**
 * Joins a tenant's entry to each call `c` in a batch. `OFFSET 0` keeps the planner from joining all entries, which it
 * would do in a table with few rows.
 */
const callEntrySql = (alias: string, columns: string, condition: string) =>
  `LEFT JOIN LATERAL (SELECT ${columns} FROM entries WHERE tenant_id = c.tenant AND ${condition} OFFSET 0) AS ${alias} ON true`;
const ROOT_OF_CALL = callEntrySql('root', 'created_at', `path = '${ROOT}'`);
const TENANT_CREATED_AT = `${time('root.created_at')} AS "tenantCreatedAt"`;

/** Adds `OfTenant` for `$tenant` to the row from a statement; the row may be missing. */
const withTenantSql = (statement: string) => `
SELECT found.*, ${TENANT_CREATED_AT}
FROM (SELECT created_at FROM entries WHERE tenant_id = $tenant AND path = '${ROOT}') AS root
  LEFT JOIN (${statement}) AS found ON true
`;

export interface LookupRow extends OfTenant {
  /** Null, like a missing row, means that the entry does not exist. */
  kind: 'file' | 'dir' | null;
  content: string | null;
  /** For a file: whether its access time should be updated. */
  stale: boolean | null;
  /**
   * For a non-empty directory: one line per entry, with its path and, for a file, a tab and the size in bytes. Paths
   * contain no control characters. A single text, because the driver reads many rows much more slowly.
   */
  entries: string | null;
  /** Number of entries, including entries beyond `maxEntries`. */
  total: number | null;
}

/* SQL fragments for listing a directory, in terms of an entry's columns. */

export const VISIBLE =
  "NOT starts_with(path, parent_path || '/.') AND path <> parent_path || '/node_modules'";

/** Sort key for depth-first order. It replaces `/` with U+0001, which sorts before all characters in a name. */
const DEPTH_FIRST = `replace(path, '/', E'\\x01') COLLATE "C"`;

/** Entry as text: the path and, for a file, a tab and the size in bytes. */
const LINE = "concat_ws(E'\\t', path, size_bytes)";

/** Excludes files that are too large for a batch. */
const NOT_LARGE = `(e.kind IS DISTINCT FROM 'file' OR e.size_bytes <= ${MAX_BYTES})`;

/**
 * Whether the caller may read a path: the longest path in `$shown` and `$hidden` at or above it is in `$shown`. Compares
 * a file or a directory whose rights apply to everything below it.
 *
 * @param path a column
 */
export const isShownSql = (path: string) => `($hidden::text[] = '{}'
  OR COALESCE((SELECT max(length(s.top)) FROM unnest($shown::text[]) AS s (top) WHERE memory_in_subtree(${path}, s.top)), 0)
  >= COALESCE((SELECT max(length(h.top)) FROM unnest($hidden::text[]) AS h (top) WHERE memory_in_subtree(${path}, h.top)), 0)
)`;

/** Whether the caller may read an entry. A directory in `$mixed` is shown if an entry below it is. */
const isEntryShownSql = (
  entry: string,
) => `(CASE WHEN ${entry}.kind = 'dir' AND ${entry}.path = ANY ($mixed::text[])
  THEN EXISTS (
    SELECT FROM entries AS below
    WHERE below.tenant_id = $tenant AND below.path > ${entry}.path || '/' AND below.path < ${entry}.path || '0'
      AND NOT (below.kind = 'dir' AND below.path = ANY ($mixed::text[])) AND ${isShownSql('below.path')}
  ) ELSE ${isShownSql(`${entry}.path`)} END)`;

/**
 * Maximum entries per listing in a batch. The single query reads longer listings, so that other calls do not wait for
 * them.
 */
const MAX_LISTED = 200;

/**
 * Looks up entries, with listings for directories that fit `maxEntries`. `kind` is null for a path without an entry.
 */
const lookupBatchQuery = defineBatchQuery(
  'lookup_batch',
  { tenant: 'text', path: 'text', maxEntries: 'bigint' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, e.stale, s.entries, s.total, ${TENANT_CREATED_AT}
FROM ${calls} ${callEntrySql('e', `kind, content, size_bytes, ${STALE} AS stale`, 'path = c.path')}
${ROOT_OF_CALL}
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

/** @param condition SQL for the condition on an entry with an alias */
const lookupSql = (condition: (entry: string) => string) =>
  withTenantSql(`
WITH children AS (
  SELECT path, kind, size_bytes FROM entries AS c
  WHERE tenant_id = $tenant AND parent_path = $path AND ${VISIBLE} AND ${condition('c')}
), listed AS (
  SELECT path, size_bytes FROM children
  UNION ALL
  SELECT grandchildren.* FROM children CROSS JOIN LATERAL (
    SELECT path, size_bytes FROM entries AS g WHERE tenant_id = $tenant AND parent_path = children.path
      AND ${VISIBLE} AND ${condition('g')} OFFSET 0
  ) AS grandchildren
  WHERE children.kind = 'dir'
), shown AS (
  SELECT path, size_bytes, count(*) OVER () AS total FROM listed ORDER BY ${DEPTH_FIRST} LIMIT $maxEntries
)
SELECT e.kind, e.content, ${STALE} AS stale, s.entries, s.total
FROM entries AS e, (
  SELECT string_agg(${LINE}, E'\\n') AS entries, max(total)::integer AS total FROM shown
) AS s
WHERE e.tenant_id = $tenant AND e.path = $path AND (e.path = '${ROOT}' OR ${condition('e')})
`);

/** Looks up the entry at a path and, for a directory, its listing: two levels, in depth-first order. */
export const lookupQuery = defineQuery<{ tenant: string; path: string; maxEntries: number }, LookupRow>(
  'lookup',
  lookupSql(() => 'true'),
  lookupBatchQuery,
);

/** Like `lookup`, for a caller that must not read some paths. */
export const lookupShownQuery = defineQuery<
  { tenant: string; path: string; maxEntries: number } & ShownParams,
  LookupRow
>('lookup_shown', lookupSql(isEntryShownSql));

const listRootsBatchQuery = defineBatchQuery(
  'list_roots',
  { tenant: 'text', maxEntries: 'bigint' },
  (calls) => `
SELECT c.item::integer, s.entries, s.total, ${TENANT_CREATED_AT}
FROM ${calls} ${ROOT_OF_CALL} CROSS JOIN LATERAL (
  SELECT string_agg(${LINE}, E'\\n' ORDER BY path) FILTER (WHERE is_visible) AS entries,
    (count(*) FILTER (WHERE is_visible))::integer AS total, count(*) AS looked_at
  FROM (
    SELECT path, size_bytes, ${VISIBLE} AS is_visible FROM entries
    WHERE tenant_id = c.tenant AND parent_path = '${ROOT}' LIMIT ${MAX_LISTED + 1}
  ) AS children
) AS s
WHERE s.looked_at <= ${MAX_LISTED} AND s.total <= c.max_entries
`,
);

type RootParams = { tenant: string; maxEntries: number; turn: string };
type RootRow = Pick<LookupRow, 'entries' | 'total' | 'tenantCreatedAt'>;

/** Lists the root's direct entries, sorted by path. Long listings with the same `turn` are read one at a time. */
export const listRootQuery = defineQuery<RootParams, RootRow>(
  'list_root',
  withTenantSql(`
SELECT string_agg(${LINE}, E'\\n' ORDER BY path) AS entries, (
  SELECT count(*)::integer FROM entries WHERE tenant_id = $tenant AND parent_path = '${ROOT}' AND ${VISIBLE}
) AS total
FROM (
  SELECT path, size_bytes FROM entries
  WHERE tenant_id = $tenant AND parent_path = '${ROOT}' AND ${VISIBLE} ORDER BY path LIMIT $maxEntries
) AS shown
`),
  listRootsBatchQuery,
);

/** Like `list_root`, for a caller that must not read some paths. */
export const listShownRootQuery = defineQuery<RootParams & ShownParams, RootRow>(
  'list_shown_root',
  withTenantSql(`
SELECT string_agg(${LINE}, E'\\n' ORDER BY path) AS entries, COALESCE(max(total), 0)::integer AS total
FROM (
  SELECT path, size_bytes, count(*) OVER () AS total FROM entries AS e
  WHERE tenant_id = $tenant AND parent_path = '${ROOT}' AND ${VISIBLE} AND ${isEntryShownSql('e')}
  ORDER BY path LIMIT $maxEntries
) AS shown
`),
);

/** Looks up entries. `kind` is null for a path without an entry. */
const lookupFilesBatchQuery = defineBatchQuery(
  'lookup_files',
  { tenant: 'text', path: 'text' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, e.stale, ${TENANT_CREATED_AT}
FROM ${calls} ${callEntrySql('e', `kind, content, size_bytes, ${STALE} AS stale`, 'path = c.path')}
${ROOT_OF_CALL}
WHERE ${NOT_LARGE}
`,
);

/** Looks up the entry at a path without its listing, which is cheaper than `lookupQuery`. */
export const lookupFileQuery = defineQuery<
  { tenant: string; path: string },
  Pick<LookupRow, 'kind' | 'content' | 'stale' | 'tenantCreatedAt'>
>(
  'lookup_file',
  withTenantSql(
    `SELECT kind, content, ${STALE} AS stale FROM entries WHERE tenant_id = $tenant AND path = $path`,
  ),
  lookupFilesBatchQuery,
);

/** A file. The content is null if the file does not exist. */
export interface FileRow extends OfTenant {
  content: string | null;
  version: string | null;
}

const readFilesBatchQuery = defineBatchQuery(
  'read_files',
  { tenant: 'text', path: 'text' },
  (calls) => `
SELECT c.item::integer, e.content, e.version, ${TENANT_CREATED_AT}
FROM ${calls} ${callEntrySql('e', 'kind, content, size_bytes, version', "path = c.path AND kind = 'file'")}
${ROOT_OF_CALL}
WHERE ${NOT_LARGE}
`,
);

export const readFileQuery = defineQuery<{ tenant: string; path: string }, FileRow>(
  'read_file',
  withTenantSql(
    `SELECT content, version FROM entries WHERE tenant_id = $tenant AND path = $path AND kind = 'file'`,
  ),
  readFilesBatchQuery,
);

const findRecordsBatchQuery = defineBatchQuery(
  'find_records',
  { tenant: 'text', path: 'text' },
  (calls) => `
SELECT c.item::integer, e.memory_id AS "memoryId"
FROM ${calls} ${callEntrySql('e', 'memory_id', "path = c.path AND kind = 'file'")}
`,
);

/** Finds a file's ID, for its trace. */
export const findRecordQuery = defineQuery<{ tenant: string; path: string }, { memoryId: string | null }>(
  'find_record',
  `SELECT memory_id AS "memoryId" FROM entries WHERE tenant_id = $tenant AND path = $path AND kind = 'file'`,
  findRecordsBatchQuery,
);

/**
 * The entries at `$paths`. A plan for `path = ANY ($paths)` expects ten paths, and so may read all entries in a tenant
 * if most tenants have few.
 */
export const entriesAtPaths = (columns: string) =>
  `unnest($paths::text[]) AS given (path) CROSS JOIN LATERAL (
  SELECT ${columns} FROM entries WHERE tenant_id = $tenant AND path = given.path OFFSET 0
) AS e`;

/** Returns the existing entries among `paths`. */
export const findPathsQuery = defineQuery<
  { tenant: string; paths: string[] },
  { path: string; kind: 'file' | 'dir' }
>('find_paths', `SELECT e.path, e.kind FROM ${entriesAtPaths('path, kind')}`);
