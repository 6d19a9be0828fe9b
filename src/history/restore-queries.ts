import type { Origin } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import { COVERS } from './past-queries.ts';
import { isBy, type Operation } from './queries.ts';

/*
 * What `restore` reads. Each statement is for all the files of a change, and runs while the tenant is locked. Ids go
 * as text.
 */

/** Locks a tenant. `time` comes back as times are written here, and `from`: when the tenant was created, if that is later. */
export const lockForRestoreQuery = defineQuery<
  { tenant: string; time: string },
  { time: string; from: string }
>(
  'lock_for_restore',
  ['tenant', 'time'],
  `
SELECT ${time('$2::text::timestamptz')} AS "time", ${time('GREATEST(created_at, $2::text::timestamptz)')} AS "from"
FROM tenants WHERE id = $1 FOR NO KEY UPDATE
`,
);

/** A version as far as a restore needs it. */
export interface VersionState {
  memoryId: string;
  versionId: string;
  operation: Operation;
  /** Null once redacted. */
  path: MemoryPath | null;
  /** Of the content, in hexadecimal. Null for a deleted or redacted one. */
  sha256: string | null;
  createdAt: string;
  isRedacted: boolean;
  origin: Origin | null;
}

/** Whether a version is by the actor that is asked for. */
export type ByActor = { isTheirs: boolean };

const HEAD = `
  e.memory_id AS "memoryId", e.version AS "versionId", e.operation, e.path, encode(memory_sha256(e.content), 'hex') AS sha256,
  ${time('e.changed_at')} AS "createdAt", false AS "isRedacted", e.origin`;
export const PAST = `
  v.memory_id AS "memoryId", v.id AS "versionId", v.operation, v.path, encode(v.content_sha256, 'hex') AS sha256,
  ${time('v.created_at')} AS "createdAt", v.redacted_at IS NOT NULL AS "isRedacted", v.origin`;

/** The live files at a path and below it. */
export const listHeadsQuery = defineQuery<{ tenant: string; path: string }, VersionState>(
  'list_heads',
  ['tenant', 'path'],
  `SELECT ${HEAD} FROM entries AS e WHERE e.tenant_id = $1 AND e.kind = 'file' AND memory_in_subtree(e.path, $2)`,
);

/** The live files among those with the given ids, and whether the actor `by` made their versions. */
export const findHeadsQuery = defineQuery<
  { tenant: string; memoryIds: string[]; by: string | null },
  VersionState & ByActor
>(
  'find_heads',
  ['tenant', 'memoryIds', 'by'],
  `
SELECT ${HEAD}, COALESCE(${isBy('e.origin', '$3')}, false) AS "isTheirs"
FROM unnest($2::text[]::uuid[]) AS f (id) JOIN entries AS e ON e.tenant_id = $1 AND e.memory_id = f.id
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
SELECT ${PAST} FROM unnest($2::text[]::uuid[]) AS f (id) JOIN versions AS v ON v.tenant_id = $1 AND v.memory_id = f.id
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

export const restoreQueries = [
  lockForRestoreQuery,
  listHeadsQuery,
  findHeadsQuery,
  listPastQuery,
  findPastQuery,
  listDirectoriesQuery,
] as const;
