import type { Database } from '../../core/database/database.ts';
import { defineQuery, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { isShownSql } from '../../core/files/read-queries.ts';
import { lastChangeQuery } from '../../core/files/watches.ts';
import { AFTER } from '../../core/history/version.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { NO_TENANT } from '../../core/tenants/queries.ts';
import { HEAD_CHARS } from './description.ts';

/** Number of files in one memory that an index considers: the first by path. */
export const MAX_CONSIDERED = 10_000;
/** Number of deleted paths since a version. With more, the changes are not known. */
const MAX_GONE = 200;

/** Time of the last change to a memory that cannot be read. */
export const NEVER = '1970-01-01T00:00:00.000000Z';

/** A file in a context. */
export interface ContextFile {
  path: MemoryPath;
  bytes: number;
  /** Time when the current version was created, ISO 8601 with microseconds. */
  changedAt: string;
  isPinned: boolean;
  /** The first `HEAD_CHARS` characters; for a pinned file within the limit, the whole content. */
  head: string;
  isWhole: boolean;
}

export interface ContextFiles {
  /** Pinned files, and the files that changed last, in any order. */
  files: ContextFile[];
  /** Number of visible files that were considered. */
  considered: number;
  /** Whether the memory has more files than an index considers. */
  hasMore: boolean;
  /** Time when the memory was last changed. */
  at: string;
  /** Paths of files that existed at `since` and no longer exist; null if they are not known. */
  gone: MemoryPath[] | null;
}

/** A tenant, with its expected creation time, or `NO_TENANT`; null for any tenant with the ID. */
export interface TenantIdentity {
  tenant: string;
  createdAt: string | null;
}

interface Params extends Record<string, string | number | string[]> {
  tenant: string;
  pinned: string[];
  /** Paths in this memory that the caller may read, and paths that rights or mounts hide from it. */
  shown: string[];
  hidden: string[];
  maxFiles: number;
  maxBytes: number;
}

interface Row {
  createdAt: string;
  at: string;
  files: [
    path: string,
    bytes: number,
    changedAt: string,
    isPinned: boolean,
    isWhole: boolean,
    head: string,
  ][];
  considered: number;
  visible: number;
  gone?: string[] | null;
}

/** Excludes the names that a view omits, at any depth, and paths that the caller must not read. */
const isVisible = (path: string) => `strpos(${path}, '/.') = 0
  AND (strpos(${path}, '/node_modules') = 0 OR ${path} !~ '/node_modules(/|$)')
  AND ${isShownSql(path)}`;

/** @param more further columns, from the tenant `t` */
const filesSql = (more = '') => `
WITH considered AS MATERIALIZED (
  SELECT path, changed_at, (${isVisible('entries.path')}) AS is_visible FROM entries
  WHERE tenant_id = $tenant AND kind = 'file' AND ${isShownSql('entries.path')} ORDER BY path LIMIT ${MAX_CONSIDERED}
), pinned AS MATERIALIZED (
  SELECT DISTINCT e.path FROM unnest($pinned::text[]) AS given (path) CROSS JOIN LATERAL (
    SELECT path FROM entries
    WHERE tenant_id = $tenant AND kind = 'file' AND memory_in_subtree(path, given.path)
      AND ${isVisible('entries.path')}
    ORDER BY path LIMIT $maxFiles
  ) AS e
), newest AS (
  SELECT path FROM considered WHERE is_visible
  ORDER BY changed_at DESC, path LIMIT $maxFiles::bigint + (SELECT count(*) FROM pinned)
), chosen AS (
  SELECT path, bool_or(is_pinned) AS is_pinned FROM (
    SELECT path, true AS is_pinned FROM pinned UNION ALL SELECT path, false FROM newest
  ) AS either GROUP BY path
), sized AS (
  SELECT e.*, chosen.is_pinned, chosen.is_pinned
    AND sum(e.size_bytes) OVER (PARTITION BY chosen.is_pinned ORDER BY e.changed_at, e.path) <= $maxBytes AS is_whole
  FROM chosen CROSS JOIN LATERAL (
    SELECT path, size_bytes, changed_at, content FROM entries WHERE tenant_id = $tenant AND path = chosen.path OFFSET 0
  ) AS e
)
SELECT ${time('t.created_at')} AS "createdAt", ${time('COALESCE(t.last_change_at, t.created_at)')} AS at, (
  SELECT COALESCE(json_agg(json_build_array(path, size_bytes, ${time('changed_at')}, is_pinned, is_whole,
    CASE WHEN is_whole THEN content ELSE left(content, ${HEAD_CHARS}) END)), '[]') FROM sized
) AS files, (SELECT count(*)::integer FROM considered) AS considered,
  (SELECT count(*)::integer FROM considered WHERE is_visible) AS visible${more}
FROM tenants AS t WHERE t.id = $tenant
`;

const contextFilesQuery = defineQuery<Params, Row>('context_files', filesSql());

/** Reads the paths of files that existed at a time and no longer exist too, in the same snapshot. */
const changedContextFilesQuery = defineQuery<Params & { since: string }, Row>(
  'changed_context_files',
  filesSql(`, CASE WHEN t.history_since <= $since::text::timestamptz THEN (
  SELECT COALESCE(json_agg(path), '[]') FROM (
    SELECT DISTINCT v.path FROM versions AS v
    WHERE v.tenant_id = $tenant AND v.superseded_at > $since::text::timestamptz AND v.id < ${AFTER('$since')}
      AND v.operation <> 'deleted' AND ${isVisible('v.path')} AND NOT EXISTS (
        SELECT FROM entries AS e WHERE e.tenant_id = $tenant AND e.path = v.path AND e.kind = 'file'
      )
    ORDER BY path LIMIT ${MAX_GONE + 1}
  ) AS gone
) END AS gone`),
);

/**
 * Reads the time when a memory was last changed, which is much cheaper than its files.
 *
 * @throws ServiceError when the tenant was replaced
 * @throws DatabaseError
 */
export async function readLastChange(database: Database, memory: TenantIdentity): Promise<string> {
  const [row] = (await database.query(lastChangeQuery, { tenant: memory.tenant })).rows;
  requireIdentity(memory, row);
  return row?.at ?? row?.createdAt ?? NEVER;
}

function requireIdentity(
  { tenant, createdAt }: TenantIdentity,
  row: Pick<Row, 'createdAt'> | undefined,
): void {
  if (createdAt !== null && createdAt !== (row?.createdAt ?? NO_TENANT))
    throw new ServiceError('tenant_replaced', tenant);
}

/**
 * Reads a memory's files for a context, in one snapshot.
 *
 * @param limits.maxFiles maximum number of files, and of pinned files
 * @param limits.maxBytes maximum size of all pinned contents
 * @param since time from which deleted paths are read
 * @throws ServiceError when the tenant was replaced
 * @throws DatabaseError
 */
export async function readFiles(
  database: Database,
  memory: TenantIdentity,
  limits: Omit<Params, 'tenant'>,
  since: string | undefined,
): Promise<ContextFiles> {
  const params = { ...limits, tenant: memory.tenant } as Params;
  const { rows } = await (since === undefined
    ? database.query(contextFilesQuery, params)
    : database.query(changedContextFilesQuery, { ...params, since }));
  const [row] = rows;
  requireIdentity(memory, row);
  if (row === undefined) return { files: [], considered: 0, hasMore: false, at: NEVER, gone: null };
  const files = row.files.map(([path, bytes, changedAt, isPinned, isWhole, head]) => ({
    ...{ path: path as MemoryPath, bytes, changedAt, isPinned, isWhole, head },
  }));
  const { gone = null } = row;
  return {
    files,
    considered: row.visible,
    hasMore: row.considered === MAX_CONSIDERED,
    at: row.at,
    gone: gone !== null && gone.length <= MAX_GONE ? (gone as MemoryPath[]) : null,
  };
}
