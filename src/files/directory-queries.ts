import { AFTER, COVERS } from '../history/version.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time-column.ts';

/*
 * What is in the directory $2, without what is below that: each statement walks from one path to the next along an index, and jumps over
 * what is below a child. So a page takes as long in a directory of a million files as in a small one.
 *
 * The walk begins at $3 and makes at most $4 steps. It may meet a path that is deeper, of a directory whose own row is gone or came
 * before; `isChild` (directory.ts) tells them apart.
 */

const REST = (path: string) => `substr(${path}, length($2::text) + 2)`;

/** The first path that a child after this one can have; the same as `pathAfter` (directory.ts). */
const PATH_AFTER = (path: string) => `
  CASE WHEN strpos(${REST(path)}, '/') = 0 THEN ${path} || E'\\x01' ELSE $2 || '/' || split_part(${REST(path)}, '/', 1) || '0' END`;

interface Params extends Record<string, string | number> {
  tenant: string;
  path: string;
  from: string;
  limit: number;
}
const PARAMETERS = ['tenant', 'path', 'from', 'limit'] as const;

export interface ChildRow {
  path: string;
  kind: 'file' | 'dir';
  /** Null for a directory. */
  bytes: number | null;
  /** ISO 8601. */
  modified: string;
  versionId: string | null;
  memoryId: string | null;
}

const nextDirectory = (from: string) => `
  SELECT e.dir_path FROM entries AS e WHERE e.tenant_id = $1 AND e.dir_path >= ${from} AND e.dir_path < $2 || '0'
  ORDER BY e.dir_path LIMIT 1`;

export const listChildDirectoriesQuery = defineQuery<Params, ChildRow>(
  'list_child_directories',
  PARAMETERS,
  `
WITH RECURSIVE walk (path, step) AS (
  SELECT (${nextDirectory('$3')}), 1
  UNION ALL
  SELECT (${nextDirectory(PATH_AFTER('walk.path'))}), walk.step + 1 FROM walk WHERE walk.path IS NOT NULL AND walk.step < $4::integer
)
SELECT e.path, e.kind, NULL::integer AS bytes, ${time('e.changed_at')} AS modified, NULL::uuid AS "versionId", NULL::uuid AS "memoryId"
FROM walk JOIN entries AS e ON e.tenant_id = $1 AND e.path = walk.path
ORDER BY e.path
`,
);

/** The entries in a directory; those that are directories count as steps only. */
export const listChildFilesQuery = defineQuery<Params, ChildRow>(
  'list_child_files',
  PARAMETERS,
  `
SELECT path, kind, size_bytes AS bytes, ${time('updated_at')} AS modified, NULL::uuid AS "versionId", NULL::uuid AS "memoryId"
FROM entries WHERE tenant_id = $1 AND parent_path = $2 AND path >= $3
ORDER BY path LIMIT $4
`,
);

interface ParamsAt extends Params {
  at: string;
}
const PARAMETERS_AT = [...PARAMETERS, 'at'] as const;

/** A path that the walk met; the rest is null when nothing was there at that time. */
export type ChildAtRow = Pick<ChildRow, 'path'> & {
  [Field in Exclude<keyof ChildRow, 'path'>]: ChildRow[Field] | null;
};

const nextPastDirectory = (from: string) => `
  LEAST((${nextDirectory(from)}), (
    SELECT p.path FROM past_directories AS p WHERE p.tenant_id = $1 AND p.path >= ${from} AND p.path < $2 || '0'
    ORDER BY p.path LIMIT 1
  ))`;

export const listChildDirectoriesAtQuery = defineQuery<ParamsAt, ChildAtRow>(
  'list_child_directories_at',
  PARAMETERS_AT,
  `
WITH RECURSIVE walk (path, step) AS (
  SELECT ${nextPastDirectory('$3')}, 1
  UNION ALL
  SELECT ${nextPastDirectory(PATH_AFTER('walk.path'))}, walk.step + 1 FROM walk WHERE walk.path IS NOT NULL AND walk.step < $4::integer
)
SELECT walk.path, d.kind, NULL::integer AS bytes, ${time('d.created_at')} AS modified, NULL::uuid AS "versionId", NULL::uuid AS "memoryId"
FROM walk LEFT JOIN LATERAL (
  SELECT 'dir' AS kind, d.created_at FROM memory_directories AS d
  WHERE d.tenant_id = $1 AND d.path = walk.path AND ${COVERS('d.created_at', 'd.removed_at', '$5')} LIMIT 1
) AS d ON true
WHERE walk.path IS NOT NULL ORDER BY walk.path
`,
);

const nextPastFile = (from: string) => `
  LEAST((
    SELECT e.path FROM entries AS e WHERE e.tenant_id = $1 AND e.parent_path = $2 AND e.path >= ${from} ORDER BY e.path LIMIT 1
  ), (
    SELECT v.path FROM versions AS v WHERE v.tenant_id = $1 AND v.path >= ${from} AND v.path < $2 || '0' ORDER BY v.path LIMIT 1
  ))`;

/** Of a path's versions, the last one up to the time counts, as in `findVersionAtQuery`. */
export const listChildFilesAtQuery = defineQuery<ParamsAt, ChildAtRow>(
  'list_child_files_at',
  PARAMETERS_AT,
  `
WITH RECURSIVE walk (path, step) AS (
  SELECT ${nextPastFile('$3')}, 1
  UNION ALL
  SELECT ${nextPastFile(PATH_AFTER('walk.path'))}, walk.step + 1 FROM walk WHERE walk.path IS NOT NULL AND walk.step < $4::integer
)
SELECT walk.path, f.kind, f.size_bytes AS bytes, ${time('f.created_at')} AS modified, f.id AS "versionId", f.memory_id AS "memoryId"
FROM walk LEFT JOIN LATERAL (
  SELECT 'file' AS kind, v.* FROM memory_versions AS v
  WHERE v.tenant_id = $1 AND v.path = walk.path AND v.operation <> 'deleted' AND v.id < ${AFTER('$5')}
  ORDER BY v.id DESC LIMIT 1
) AS f ON ${COVERS('f.created_at', 'f.superseded_at', '$5')}
WHERE walk.path IS NOT NULL ORDER BY walk.path
`,
);
