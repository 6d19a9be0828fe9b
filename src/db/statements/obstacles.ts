import { statement } from '../statement.ts';
import type { FileRow } from './reading.ts';

/* The statements that say why a write could not be done. */

/** What a tenant uses and may use, as columns of a row; a limit of 0 is none. Parameters: the service's defaults. */
const usage = (maxFiles: string, maxBytes: string) => `
  t.file_count::float8 AS files, COALESCE(t.max_files, ${maxFiles})::float8 AS "maxFiles",
  t.byte_count::float8 AS bytes, COALESCE(t.max_bytes, ${maxBytes})::float8 AS "maxBytes"`;

export interface UsageRow {
  files: number;
  maxFiles: number;
  bytes: number;
  maxBytes: number;
}

/** Why a file could not be created: which of `paths` exist, and (as kind `tenant`) what the tenant uses. */
export const explainCreateStatement = statement<
  { tenant: string; paths: string[]; maxFiles: number; maxBytes: number },
  | ({ path: string; kind: 'file' | 'dir' } & { [column in keyof UsageRow]: null })
  | ({ path: string; kind: 'tenant' } & UsageRow)
>(
  'explain_create',
  ['tenant', 'paths', 'maxFiles', 'maxBytes'],
  `
SELECT t.id AS path, 'tenant' AS kind, ${usage('$3::bigint', '$4::bigint')} FROM tenants AS t WHERE t.id = $1
UNION ALL
SELECT path, kind, NULL, NULL, NULL, NULL FROM entries WHERE tenant_id = $1 AND path = ANY ($2::text[])
`,
);

/** Why a file could not be written: what it holds now, and what its tenant uses. */
export const explainWriteStatement = statement<
  { tenant: string; path: string; maxFiles: number; maxBytes: number },
  FileRow & UsageRow
>(
  'explain_write',
  ['tenant', 'path', 'maxFiles', 'maxBytes'],
  `
SELECT e.content, e.version, ${usage('$3::bigint', '$4::bigint')}
FROM tenants AS t JOIN entries AS e ON e.tenant_id = t.id
WHERE t.id = $1 AND e.tenant_id = $1 AND e.path = $2 AND e.kind = 'file'
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

export const obstacleStatements = [
  explainCreateStatement,
  explainWriteStatement,
  explainRenameStatement,
] as const;
