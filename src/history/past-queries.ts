import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import { AFTER, COLUMNS, type Operation, type VersionRow } from './queries.ts';

/* What a memory was at a time. */

export const COVERS = (from: string, to: string, at: string) =>
  `${from} <= ${at}::text::timestamptz AND (${to} IS NULL OR ${to} > ${at}::text::timestamptz)`;

/**
 * The version of the file that was at a path at a time: the last one there. Deletions do not count: one change may delete a file and put
 * another in its place.
 */
export const findVersionAtQuery = defineQuery<{ tenant: string; path: string; at: string }, VersionRow>(
  'find_version_at',
  ['tenant', 'path', 'at'],
  `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $1 AND v.path = $2 AND v.operation <> 'deleted' AND v.id < ${AFTER('$3')}
  ORDER BY v.id DESC LIMIT 1
) AS v
WHERE ${COVERS('v.created_at', 'v.superseded_at', '$3')}
`,
);

export const findDirectoryAtQuery = defineQuery<
  { tenant: string; path: string; at: string },
  { path: string }
>(
  'find_directory_at',
  ['tenant', 'path', 'at'],
  `
SELECT d.path FROM memory_directories AS d
WHERE d.tenant_id = $1 AND d.path = $2 AND ${COVERS('d.made_at', 'd.removed_at', '$3')}
`,
);

/** An entry of a past tree: a file's version, or a directory, of which only the path and the time are told. */
export interface TreeRow {
  path: string;
  /** Null for a directory. */
  versionId: string | null;
  memoryId: string | null;
  sizeBytes: number | null;
  /** Since when the entry was as it is told here. */
  createdAt: string;
}

/** A page of what was at a path and below it at a time, in the order of the paths. The first page comes after ''. */
export const listTreeAtQuery = defineQuery<
  { tenant: string; path: string; at: string; after: string; limit: number },
  TreeRow
>(
  'list_tree_at',
  ['tenant', 'path', 'at', 'after', 'limit'],
  `
SELECT t.path, t.version_id AS "versionId", t.memory_id AS "memoryId",
  t.size_bytes AS "sizeBytes", ${time('t.created_at')} AS "createdAt"
FROM (
  SELECT v.path, v.id AS version_id, v.memory_id, v.size_bytes, v.created_at FROM memory_versions AS v
  WHERE v.tenant_id = $1 AND v.path > $4 AND memory_in_subtree(v.path, $2)
    AND ${COVERS('v.created_at', 'v.superseded_at', '$3')}
  UNION ALL
  SELECT d.path, NULL, NULL, NULL, d.made_at FROM memory_directories AS d
  WHERE d.tenant_id = $1 AND d.path > $4 AND memory_in_subtree(d.path, $2)
    AND ${COVERS('d.made_at', 'd.removed_at', '$3')}
) AS t
ORDER BY t.path LIMIT $5::integer
`,
);

/** Later than every change. */
export const NOW = 'infinity';

/** A file on one side of a comparison; redacted without a path. */
interface ComparedFile {
  id: string;
  memoryId: string;
  operation: Exclude<Operation, 'deleted'>;
  path: string | null;
  sizeBytes: number | null;
}

/** A file that differs between two times; null where there was none. */
export interface ChangedRow {
  old: ComparedFile | null;
  new: ComparedFile | null;
}

const FILES_AT = (at: string) => `
SELECT v.id, v.memory_id, v.path, v.content_sha256, v.live_content, jsonb_build_object(
  'id', v.id, 'memoryId', v.memory_id, 'operation', v.operation, 'path', v.path, 'sizeBytes', v.size_bytes
) AS file
FROM memory_versions AS v WHERE v.tenant_id = $1 AND ${COVERS('v.created_at', 'v.superseded_at', at)}`;

/**
 * The files that differ between two times and were at a path or below it at one of them, in the order of their paths. Of two at one path,
 * the one that went comes first.
 */
export const listChangedQuery = defineQuery<
  { tenant: string; path: string; from: string; to: string },
  ChangedRow
>(
  'list_changed',
  ['tenant', 'path', 'from', 'to'],
  `
SELECT o.file AS "old", n.file AS "new"
FROM (${FILES_AT('$3')}) AS o FULL JOIN (${FILES_AT('$4')}) AS n ON n.memory_id = o.memory_id
WHERE (memory_in_subtree(o.path, $2) OR memory_in_subtree(n.path, $2))
  AND CASE
    WHEN o.id = n.id THEN false
    WHEN o.path = n.path THEN COALESCE(o.content_sha256, memory_sha256(o.live_content))
      IS DISTINCT FROM COALESCE(n.content_sha256, memory_sha256(n.live_content))
    ELSE true
  END
ORDER BY COALESCE(n.path, o.path), n.id IS NOT NULL
`,
);

/** The versions that a past tree lacks because they were redacted: their paths are gone. */
export const listRedactedAtQuery = defineQuery<{ tenant: string; at: string }, { id: string }>(
  'list_redacted_at',
  ['tenant', 'at'],
  `
SELECT v.id FROM versions AS v
WHERE v.tenant_id = $1 AND v.redacted_at IS NOT NULL AND ${COVERS('v.created_at', 'v.superseded_at', '$2')}
ORDER BY v.created_at, v.id
`,
);
