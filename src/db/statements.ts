import { statement } from './statement.ts';

/*
 * Every statement on memory. The rules they keep:
 * - A writing statement locks its tenant's row before it touches the tree, so one tenant's writers come one after the
 *   other, always lock in the same order, and keep the usage counters exact. Readers take no lock.
 * - A statement that had to wait for that lock still sees the tree as it was before. The constraints and the versions
 *   catch what changed meanwhile, the whole statement is undone, and the store tries again.
 * - A subtree is `path >= p||'/' AND path < p||'0'` on the primary key ('0' follows '/'): nothing to escape.
 */

const LOCK_TENANT = 'SELECT id FROM tenants WHERE id = $1 FOR NO KEY UPDATE';

// Missing directories of $n (root first), each with the one before it as its parent.
const directories = (paths: string) =>
  `unnest(${paths}::text[], NULL::text || trim_array(${paths}::text[], 1)) AS d (path, parent_path)`;

const VISIBLE = "NOT starts_with(path, parent_path || '/.') AND path <> parent_path || '/node_modules'";

export interface LookedRow {
  path: string;
  kind: 'file' | 'dir';
  content: string | null;
  bytes: number | null;
  total: number | null;
}

/**
 * The entry at a path and, below a directory, what a listing shows: two levels, in depth-first order (a `/` sorts
 * before every character that a name can hold once it is written as U+0001).
 */
export const lookStatement = statement<{ tenant: string; path: string; limit: number }, LookedRow>(
  'look',
  ['tenant', 'path', 'limit'],
  `
WITH children AS (
  SELECT path, kind, size_bytes FROM entries WHERE tenant_id = $1 AND parent_path = $2 AND ${VISIBLE}
), listed AS (
  SELECT path, kind, size_bytes FROM children
  UNION ALL
  SELECT path, kind, size_bytes FROM entries
  WHERE tenant_id = $1 AND parent_path = ANY (ARRAY(SELECT path FROM children WHERE kind = 'dir')) AND ${VISIBLE}
)
SELECT path, kind, content, size_bytes AS bytes, NULL::integer AS total FROM entries
WHERE tenant_id = $1 AND path = $2
UNION ALL
(SELECT path, kind, NULL, size_bytes, (count(*) OVER ())::integer FROM listed
 ORDER BY replace(path, '/', E'\\x01') COLLATE "C" LIMIT $3)
`,
);

export interface FileRow {
  content: string;
  version: string;
}

export const readFileStatement = statement<{ tenant: string; path: string }, FileRow>(
  'read_file',
  ['tenant', 'path'],
  `SELECT content, version FROM entries WHERE tenant_id = $1 AND path = $2 AND kind = 'file'`,
);

/** Which of some paths exist, and as what: to say why a write could not be done. */
export const kindsStatement = statement<
  { tenant: string; paths: string[] },
  { path: string; kind: 'file' | 'dir' }
>(
  'kinds',
  ['tenant', 'paths'],
  `SELECT path, kind FROM entries WHERE tenant_id = $1 AND path = ANY ($2::text[]) ORDER BY path`,
);

/** Makes the tenant on first use. Fails with a unique violation when something is at the path already. */
export const createFileStatement = statement<{
  tenant: string;
  path: string;
  ancestors: string[];
  content: string;
  version: string;
}>(
  'create_file',
  ['tenant', 'path', 'ancestors', 'content', 'version'],
  `
WITH tenant AS (
  INSERT INTO tenants AS t (id, file_count, byte_count) VALUES ($1, 1, octet_length($4::text))
  ON CONFLICT (id) DO UPDATE
    SET file_count = t.file_count + excluded.file_count, byte_count = t.byte_count + excluded.byte_count
  RETURNING id
), parents AS (
  INSERT INTO entries AS e (tenant_id, path, parent_path, kind)
  SELECT $1, d.path, d.parent_path, 'dir' FROM tenant, ${directories('$3')}
  ON CONFLICT (tenant_id, path) DO NOTHING
)
INSERT INTO entries AS e (tenant_id, path, parent_path, kind, content, version)
SELECT $1, $2, ($3::text[])[cardinality($3::text[])], 'file', $4, $5::uuid FROM tenant
`,
);

/** Writes a file's content if it is still at the version that was read; counts 1 written row, or 0. */
export const writeFileStatement = statement<{
  tenant: string;
  path: string;
  readVersion: string;
  content: string;
  version: string;
}>(
  'write_file',
  ['tenant', 'path', 'readVersion', 'content', 'version'],
  `
WITH tenant AS MATERIALIZED (${LOCK_TENANT}
), file AS MATERIALIZED (
  SELECT e.size_bytes FROM tenant, entries AS e
  WHERE e.tenant_id = $1 AND e.path = $2 AND e.version = $3::uuid FOR NO KEY UPDATE OF e
), usage AS (
  UPDATE tenants AS t SET byte_count = t.byte_count + octet_length($4::text) - file.size_bytes
  FROM file WHERE t.id = $1
)
UPDATE entries AS e SET content = $4, version = $5::uuid, updated_at = now()
FROM file WHERE e.tenant_id = $1 AND e.path = $2
`,
);

/** Deletes a subtree; counts 1, or 0 when nothing is at the path. */
export const deleteStatement = statement<{ tenant: string; path: string }>(
  'delete',
  ['tenant', 'path'],
  `
WITH tenant AS MATERIALIZED (${LOCK_TENANT}
), gone AS (
  DELETE FROM entries AS e USING tenant
  WHERE e.tenant_id = $1 AND (e.path = $2 OR (e.path >= $2::text || '/' AND e.path < $2::text || '0'))
  RETURNING e.kind, e.size_bytes
), freed AS (
  SELECT count(*) AS entries, count(*) FILTER (WHERE kind = 'file') AS files, coalesce(sum(size_bytes), 0) AS bytes
  FROM gone
)
UPDATE tenants AS t SET file_count = t.file_count - freed.files, byte_count = t.byte_count - freed.bytes
FROM freed WHERE t.id = $1 AND freed.entries > 0
`,
);

/** Moves a subtree and makes the destination's missing directories; counts the moved entries. */
export const renameStatement = statement<{
  tenant: string;
  from: string;
  to: string;
  ancestors: string[];
}>(
  'rename',
  ['tenant', 'from', 'to', 'ancestors'],
  `
WITH tenant AS MATERIALIZED (${LOCK_TENANT}
), source AS MATERIALIZED (
  SELECT e.path FROM tenant, entries AS e WHERE e.tenant_id = $1 AND e.path = $2 FOR UPDATE OF e
), parents AS (
  INSERT INTO entries AS e (tenant_id, path, parent_path, kind)
  SELECT $1, d.path, d.parent_path, 'dir' FROM source, ${directories('$4')}
  ON CONFLICT (tenant_id, path) DO NOTHING
)
UPDATE entries AS e SET
  path = $3::text || substr(e.path, length($2::text) + 1),
  parent_path = CASE WHEN e.path = $2 THEN ($4::text[])[cardinality($4::text[])]
    ELSE $3::text || substr(e.parent_path, length($2::text) + 1) END
FROM source
WHERE e.tenant_id = $1 AND (e.path = $2 OR (e.path >= $2::text || '/' AND e.path < $2::text || '0'))
`,
);

/** What stands in a rename's way: which of `paths` exist, and the first path that it would make too long or deep. */
export const explainRenameStatement = statement<
  { tenant: string; from: string; to: string; paths: string[]; maxBytes: number; maxDepth: number },
  { path: string; kind: 'file' | 'dir' | 'too_long' }
>(
  'explain_rename',
  ['tenant', 'from', 'to', 'paths', 'maxBytes', 'maxDepth'],
  `
SELECT path, kind FROM entries WHERE tenant_id = $1 AND path = ANY ($4::text[])
UNION ALL
(SELECT moved.path, 'too_long' FROM (
   SELECT $3::text || substr(path, length($2::text) + 1) COLLATE "C" AS path FROM entries
   WHERE tenant_id = $1 AND (path = $2 OR (path >= $2::text || '/' AND path < $2::text || '0'))
 ) AS moved
 WHERE octet_length(moved.path) > $5::integer
    OR length(moved.path) - length(replace(moved.path, '/', '')) - 1 > $6::integer
 ORDER BY moved.path LIMIT 1)
`,
);

/** Holds off the tenant's other writers until the transaction ends. */
export const lockTenantStatement = statement<{ tenant: string }, { id: string }>(
  'lock_tenant',
  ['tenant'],
  LOCK_TENANT,
);

export const statements = [
  lookStatement,
  readFileStatement,
  kindsStatement,
  createFileStatement,
  writeFileStatement,
  deleteStatement,
  renameStatement,
  explainRenameStatement,
  lockTenantStatement,
] as const;
