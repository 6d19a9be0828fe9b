import type { MemoryPath } from '../memory/path.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import { COVERS } from './past-queries.ts';
import { AFTER } from './queries.ts';

/*
 * What `restore` reads. Each statement is for all the files of a change, in one snapshot or while the tenant is locked. Ids go as text.
 *
 * `OFFSET 0` and `LIMIT 1` make Postgres look up each item by its key. It would read the tenant's rows once for each otherwise, where its
 * statistics say that tenants are small.
 */

/** A version as far as a restore needs it. */
export interface VersionState {
  memoryId: string;
  versionId: string;
  /** Null once redacted. */
  path: MemoryPath | null;
  /** Of the content, in hexadecimal. Null for a deleted or redacted one. */
  sha256: string | null;
  createdAt: string;
}

const HEAD = `
  e.memory_id AS "memoryId", e.version AS "versionId", e.path, encode(memory_sha256(e.content), 'hex') AS sha256,
  ${time('e.changed_at')} AS "createdAt"`;
const PAST = `
  v.memory_id AS "memoryId", v.id AS "versionId", v.path, encode(v.content_sha256, 'hex') AS sha256,
  ${time('v.created_at')} AS "createdAt"`;

/** The live files at a path and below it. */
export const listHeadsQuery = defineQuery<{ tenant: string; path: string }, VersionState>(
  'list_heads',
  ['tenant', 'path'],
  `SELECT ${HEAD} FROM entries AS e WHERE e.tenant_id = $1 AND e.kind = 'file' AND memory_in_subtree(e.path, $2)`,
);

/** The live files among those with the given ids. */
export const findHeadsQuery = defineQuery<{ tenant: string; memoryIds: string[] }, VersionState>(
  'find_heads',
  ['tenant', 'memoryIds'],
  `
SELECT ${HEAD}
FROM unnest($2::text[]::uuid[]) AS f (id), LATERAL (
  SELECT * FROM entries WHERE tenant_id = $1 AND memory_id = f.id OFFSET 0
) AS e
`,
);

/**
 * The superseded versions of what was at a path and below it at a time. A redacted one has no path: it counts when the path is the root
 * or another version of the file was there.
 */
export const listPastQuery = defineQuery<{ tenant: string; path: string; at: string }, VersionState>(
  'list_past',
  ['tenant', 'path', 'at'],
  `
SELECT ${PAST} FROM versions AS v
WHERE v.tenant_id = $1 AND ${COVERS('v.created_at', 'v.superseded_at', '$3')} AND (
  memory_in_subtree(v.path, $2) OR (v.redacted_at IS NOT NULL AND ($2 = '/memories' OR EXISTS (
    SELECT FROM versions AS other
    WHERE other.tenant_id = $1 AND other.memory_id = v.memory_id AND memory_in_subtree(other.path, $2)
  )))
)
`,
);

/** The superseded versions of files at a time. */
export const findPastQuery = defineQuery<{ tenant: string; memoryIds: string[]; at: string }, VersionState>(
  'find_past',
  ['tenant', 'memoryIds', 'at'],
  `
SELECT ${PAST} FROM unnest($2::text[]::uuid[]) AS f (id), LATERAL (
  SELECT * FROM versions WHERE tenant_id = $1 AND memory_id = f.id AND id < ${AFTER('$3')} ORDER BY memory_id DESC, id DESC LIMIT 1
) AS v
WHERE ${COVERS('v.created_at', 'v.superseded_at', '$3')}
`,
);

/** Directories at a path and below it, without the root, that are there or were there at a time. */
export const listDirectoriesQuery = defineQuery<
  { tenant: string; path: string; at: string },
  { path: MemoryPath; isThere: boolean; wasThere: boolean }
>(
  'list_directories',
  ['tenant', 'path', 'at'],
  `
SELECT d.path, bool_or(d.removed_at IS NULL) AS "isThere",
  bool_or(${COVERS('d.made_at', 'd.removed_at', '$3')}) AS "wasThere"
FROM memory_directories AS d WHERE d.tenant_id = $1 AND memory_in_subtree(d.path, $2) GROUP BY d.path
`,
);
