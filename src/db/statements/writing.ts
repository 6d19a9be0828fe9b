import { statement } from '../statement.ts';
import { createFilesStatement, writeFilesStatement } from './batches.ts';
import { roomForFile } from './quota.ts';
import { withAndWithoutReceipt } from './receipts.ts';

/*
 * The statements that change memory. The rules they keep:
 * - A writing statement locks its tenant's row before it touches the tree, so one tenant's writers come one after the
 *   other, always lock in the same order, and keep the usage counters exact. Readers take no lock.
 * - A statement that had to wait for that lock still sees the tree as it was before. The constraints and the versions
 *   catch what changed meanwhile, the whole statement is undone, and the store tries again.
 * - A subtree is `path >= p||'/' AND path < p||'0'` on the primary key ('0' follows '/'): nothing to escape.
 */

export const LOCK_TENANT = 'SELECT id FROM tenants WHERE id = $1 FOR NO KEY UPDATE';

/**
 * Makes the missing ones of the directories in $n (root first), each with the one before it as its parent, when there is
 * a row in `source`. What is there already is left out beforehand: ON CONFLICT alone makes each row, and checks it, first,
 * which was a quarter of a create's time. It is there for those that come in between. (A subquery for a value and not
 * NOT EXISTS, of which Postgres may make a join with the whole tenant.)
 */
const makeDirectories = (paths: string, source: string) => `
  INSERT INTO entries AS e (tenant_id, path, parent_path, kind)
  SELECT $1, d.path, d.parent_path, 'dir'
  FROM ${source}, unnest(${paths}::text[], NULL::text || trim_array(${paths}::text[], 1)) AS d (path, parent_path)
  WHERE (SELECT there.path FROM entries AS there WHERE there.tenant_id = $1 AND there.path = d.path) IS NULL
  ON CONFLICT (tenant_id, path) DO NOTHING`;

type CreateFile = {
  tenant: string;
  path: string;
  ancestors: string[];
  parent: string;
  content: string;
  version: string;
  maxFiles: number;
  maxBytes: number;
};

// `tenant`: counts the file, if there is room for it, and answers the tenant's row.
const createFile = (name: string, tenant: string) =>
  withAndWithoutReceipt<CreateFile>(
    name,
    ['tenant', 'path', 'ancestors', 'content', 'version', 'maxFiles', 'maxBytes', 'parent'],
    'tenant',
    (receipt) => `
WITH tenant AS (${tenant}
), parents AS (${makeDirectories('$3', 'tenant')}
)${receipt}
INSERT INTO entries AS e (tenant_id, path, parent_path, kind, content, version)
SELECT $1, $2, $8, 'file', $4, $5::uuid FROM tenant
`,
    createFilesStatement,
  );

/**
 * Creates a file for a tenant that there is. Counts 1, or 0 when there is no room or no such tenant; fails with a
 * unique violation when something is at the path already.
 */
export const createFileStatement = createFile(
  'create_file',
  `
  UPDATE tenants AS t SET file_count = t.file_count + 1, byte_count = t.byte_count + octet_length($4::text)
  WHERE t.id = $1 AND ${roomForFile('octet_length($4::text)', '$6::bigint', '$7::bigint')}
  RETURNING t.id`,
);

/** The same, and makes the tenant when there is none. */
export const createFileAndTenantStatement = createFile(
  'create_file_and_tenant',
  `
  INSERT INTO tenants AS t (id, file_count, byte_count)
  SELECT $1, 1, octet_length($4::text)
  WHERE $7::bigint = 0 OR octet_length($4::text) <= $7::bigint OR EXISTS (SELECT 1 FROM tenants WHERE id = $1)
  ON CONFLICT (id) DO UPDATE
    SET file_count = t.file_count + excluded.file_count, byte_count = t.byte_count + excluded.byte_count
    WHERE ${roomForFile('excluded.byte_count', '$6::bigint', '$7::bigint')}
  RETURNING t.id`,
);

/**
 * Writes a file's content if it is still at the version that was read, and if it does not grow beyond the tenant's room;
 * counts 1 written row, or 0.
 */
export const writeFileStatement = withAndWithoutReceipt<{
  tenant: string;
  path: string;
  readVersion: string;
  content: string;
  version: string;
  maxBytes: number;
}>(
  'write_file',
  ['tenant', 'path', 'readVersion', 'content', 'version', 'maxBytes'],
  'file',
  (receipt) => `
WITH tenant AS MATERIALIZED (
  SELECT t.byte_count, COALESCE(t.max_bytes, $6::bigint) AS max_bytes FROM tenants AS t WHERE t.id = $1
  FOR NO KEY UPDATE
), file AS MATERIALIZED (
  SELECT e.size_bytes FROM tenant, entries AS e
  WHERE e.tenant_id = $1 AND e.path = $2 AND e.version = $3::uuid
    AND (octet_length($4::text) <= e.size_bytes OR tenant.max_bytes = 0
         OR tenant.byte_count + octet_length($4::text) - e.size_bytes <= tenant.max_bytes)
  FOR NO KEY UPDATE OF e
), usage AS (
  UPDATE tenants AS t SET byte_count = t.byte_count + octet_length($4::text) - file.size_bytes
  FROM file WHERE t.id = $1
)${receipt}
UPDATE entries AS e SET content = $4, version = $5::uuid, updated_at = now()
FROM file WHERE e.tenant_id = $1 AND e.path = $2
`,
  writeFilesStatement,
);

/** Deletes a subtree; counts 1, or 0 when nothing is at the path. */
export const deleteStatement = withAndWithoutReceipt<{ tenant: string; path: string }>(
  'delete',
  ['tenant', 'path'],
  'freed WHERE freed.entries > 0',
  (receipt) => `
WITH tenant AS MATERIALIZED (${LOCK_TENANT}
), gone AS (
  DELETE FROM entries AS e USING tenant
  WHERE e.tenant_id = $1 AND (e.path = $2 OR (e.path >= $2::text || '/' AND e.path < $2::text || '0'))
  RETURNING e.kind, e.size_bytes
), freed AS (
  SELECT count(*) AS entries, count(*) FILTER (WHERE kind = 'file') AS files, coalesce(sum(size_bytes), 0) AS bytes
  FROM gone
)${receipt}
UPDATE tenants AS t SET file_count = t.file_count - freed.files, byte_count = t.byte_count - freed.bytes
FROM freed WHERE t.id = $1 AND freed.entries > 0
`,
);

/** Moves a subtree and makes the destination's missing directories; counts the moved entries. */
export const renameStatement = withAndWithoutReceipt<{
  tenant: string;
  from: string;
  to: string;
  ancestors: string[];
}>(
  'rename',
  ['tenant', 'from', 'to', 'ancestors'],
  'source',
  (receipt) => `
WITH tenant AS MATERIALIZED (${LOCK_TENANT}
), source AS MATERIALIZED (
  SELECT e.path FROM tenant, entries AS e WHERE e.tenant_id = $1 AND e.path = $2 FOR UPDATE OF e
), parents AS (${makeDirectories('$4', 'source')}
)${receipt}
UPDATE entries AS e SET
  path = $3::text || substr(e.path, length($2::text) + 1),
  parent_path = CASE WHEN e.path = $2 THEN ($4::text[])[cardinality($4::text[])]
    ELSE $3::text || substr(e.parent_path, length($2::text) + 1) END
FROM source
WHERE e.tenant_id = $1 AND (e.path = $2 OR (e.path >= $2::text || '/' AND e.path < $2::text || '0'))
`,
);

/** Holds off the tenant's other writers until the transaction ends. */
export const lockTenantStatement = statement<{ tenant: string }, { id: string }>(
  'lock_tenant',
  ['tenant'],
  LOCK_TENANT,
);

/** Notes that files were read, where the last such note is old enough. */
export const touchStatement = statement<{
  tenant: string;
  paths: string[];
  now: string;
  accessedBefore: string;
}>(
  'touch',
  ['tenant', 'paths', 'now', 'accessedBefore'],
  `
WITH tenant AS MATERIALIZED (${LOCK_TENANT}
)
UPDATE entries AS e SET accessed_at = $3::timestamptz FROM tenant
WHERE e.tenant_id = $1 AND e.path = ANY ($2::text[]) AND e.kind = 'file' AND e.accessed_at < $4::timestamptz
`,
);

export const writingStatements = [
  ...[
    createFileStatement,
    createFileAndTenantStatement,
    writeFileStatement,
    deleteStatement,
    renameStatement,
  ].flatMap(({ plain, keyed }) => [plain, keyed]),
  lockTenantStatement,
  touchStatement,
] as const;
