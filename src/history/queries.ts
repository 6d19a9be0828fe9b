import type { Origin } from '../memory/origin.ts';
import { defineQuery } from '../postgres/query.ts';

/** A time as text: UTC, to the microsecond, always as long, so that texts compare as times do. */
export const time = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** A version as the view `memory_versions` has it (migrations/functions/memory_history.sql). */
export interface VersionRow {
  id: string;
  memoryId: string;
  operation: 'created' | 'modified' | 'deleted';
  path: string | null;
  contentId: string | null;
  sizeBytes: number | null;
  createdAt: string;
  supersededAt: string | null;
  origin: Origin | null;
  redactedAt: string | null;
  redactedBy: Origin['actor'] | null;
}

const COLUMNS = `
  v.id, v.memory_id AS "memoryId", v.operation, v.path, v.content_id AS "contentId", v.size_bytes AS "sizeBytes",
  ${time('v.created_at')} AS "createdAt", ${time('v.superseded_at')} AS "supersededAt", v.origin,
  ${time('v.redacted_at')} AS "redactedAt", v.redacted_by AS "redactedBy"`;

/** Locks a tenant for a change of several statements, which are all made at the time `at`; null when there is no such tenant. */
export const beginChangeQuery = defineQuery<{ tenant: string }, { at: string | null }>(
  'begin_change',
  ['tenant'],
  `SELECT ${time('memory_begin_change($1)')} AS at`,
);

/** Since when a tenant's history is complete, if that is later than `at`. */
export const findGapQuery = defineQuery<{ tenant: string; at: string }, { since: string }>(
  'find_gap',
  ['tenant', 'at'],
  `SELECT ${time('history_since')} AS since FROM tenants WHERE id = $1 AND history_since > $2::text::timestamptz`,
);

/** Whether an origin is of the actor that an operator names (`by` of `VersionFilter`). */
export const isBy = (origin: string, by: string) => `COALESCE(
    ${by}::text IN (
      ${origin} #>> '{actor,id}', ${origin} #>> '{actor,label}', ${origin} #>> '{actor,subject}',
      ${origin} #>> '{actor,name}', ${origin} #>> '{actor,job}'
    ), false)
    OR (${by}::text IN ('operator', 'anonymous') AND COALESCE(${origin} #>> '{actor,type}', 'anonymous') = ${by}::text)`;

/** What a list of versions is narrowed to; null: not by that. */
export type VersionFilter = {
  /** Those at the path or below it, and all of a file that was ever at the path. */
  path: string | null;
  memoryId: string | null;
  since: string | null;
  until: string | null;
  /** A key's id or label, a JWT's subject, an operator's or a job's name, or `operator` or `anonymous`. */
  by: string | null;
  operation: string | null;
};

/** A page of versions, the newest first: those before `beforeTime` and, of one time, `beforeId`. */
export const listVersionsQuery = defineQuery<
  { tenant: string } & VersionFilter & { beforeTime: string | null; beforeId: string | null; limit: number },
  VersionRow
>(
  'list_versions',
  [
    ...(['tenant', 'path', 'memoryId', 'since', 'until', 'by', 'operation'] as const),
    ...(['beforeTime', 'beforeId', 'limit'] as const),
  ],
  `
SELECT ${COLUMNS} FROM memory_versions AS v
WHERE v.tenant_id = $1
  AND ($2::text IS NULL OR memory_in_subtree(v.path, $2::text) OR v.memory_id IN (
    SELECT named.memory_id FROM memory_versions AS named WHERE named.tenant_id = $1 AND named.path = $2::text
  ))
  AND ($3::text IS NULL OR v.memory_id = $3::text::uuid)
  AND ($4::text IS NULL OR v.created_at >= $4::text::timestamptz)
  AND ($5::text IS NULL OR v.created_at <= $5::text::timestamptz)
  AND ($6::text IS NULL OR ${isBy('v.origin', '$6')})
  AND ($7::text IS NULL OR v.operation = $7::text)
  AND ($8::text IS NULL OR (v.created_at, v.id) < ($8::text::timestamptz, $9::text::uuid))
ORDER BY v.created_at DESC, v.id DESC LIMIT $10::integer
`,
);

export const findVersionQuery = defineQuery<{ tenant: string; id: string }, VersionRow>(
  'find_version',
  ['tenant', 'id'],
  `SELECT ${COLUMNS} FROM memory_versions AS v WHERE v.tenant_id = $1 AND v.id = $2::text::uuid`,
);

/** What a version replaced. */
export interface ReplacedRow {
  /** The version that replaced it. */
  by: string;
  id: string;
  operation: 'created' | 'modified';
  path: string | null;
  contentId: string | null;
  sizeBytes: number | null;
}

/** The versions that others replaced, each given by its id, its file, and its time. */
export const listReplacedQuery = defineQuery<
  { tenant: string; ids: string[]; memoryIds: string[]; times: string[] },
  ReplacedRow
>(
  'list_replaced',
  ['tenant', 'ids', 'memoryIds', 'times'],
  `
SELECT n.id AS "by", v.id, v.operation, v.path, v.content_id AS "contentId", v.size_bytes AS "sizeBytes"
FROM unnest($2::text[], $3::text[], $4::text[]) AS n (id, memory_id, created_at)
JOIN versions AS v ON v.tenant_id = $1 AND v.memory_id = n.memory_id::uuid AND v.superseded_at = n.created_at::timestamptz
  AND v.operation <> 'deleted'
`,
);

export const COVERS = (from: string, to: string, at: string) =>
  `${from} <= ${at}::text::timestamptz AND (${to} IS NULL OR ${to} > ${at}::text::timestamptz)`;

/** The version of the file that was at a path at a time. */
export const findVersionAtQuery = defineQuery<{ tenant: string; path: string; at: string }, VersionRow>(
  'find_version_at',
  ['tenant', 'path', 'at'],
  `
SELECT ${COLUMNS} FROM memory_versions AS v
WHERE v.tenant_id = $1 AND v.path = $2 AND ${COVERS('v.created_at', 'v.superseded_at', '$3')}
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
  contentId: string | null;
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
SELECT t.path, t.version_id AS "versionId", t.memory_id AS "memoryId", t.content_id AS "contentId",
  t.size_bytes AS "sizeBytes", ${time('t.created_at')} AS "createdAt"
FROM (
  SELECT v.path, v.id AS version_id, v.memory_id, v.content_id, v.size_bytes, v.created_at FROM memory_versions AS v
  WHERE v.tenant_id = $1 AND v.path > $4 AND memory_in_subtree(v.path, $2)
    AND ${COVERS('v.created_at', 'v.superseded_at', '$3')}
  UNION ALL
  SELECT d.path, NULL, NULL, NULL, NULL, d.made_at FROM memory_directories AS d
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
  operation: 'created' | 'modified';
  path: string | null;
  contentId: string | null;
  sizeBytes: number | null;
}

/** A file that differs between two times; null where there was none. */
export interface ChangedRow {
  old: ComparedFile | null;
  new: ComparedFile | null;
}

const FILES_AT = (at: string) => `
SELECT v.id, v.memory_id, v.path, v.content_id, jsonb_build_object(
  'id', v.id, 'operation', v.operation, 'path', v.path, 'contentId', v.content_id, 'sizeBytes', v.size_bytes
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
  AND (o.path IS DISTINCT FROM n.path OR o.content_id IS DISTINCT FROM n.content_id)
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

/** Where contents are: kept apart once superseded, else in the live files. */
const contents = (columns: string) => `
SELECT c.id, ${columns} FROM version_contents AS c WHERE c.tenant_id = $1 AND c.id = ANY ($2::text[]::uuid[])
UNION ALL
SELECT c.content_id, ${columns} FROM memory_heads AS c WHERE c.tenant_id = $1 AND c.content_id = ANY ($2::text[]::uuid[])
`;

export const readContentsQuery = defineQuery<
  { tenant: string; ids: string[] },
  { id: string; content: string }
>('read_contents', ['tenant', 'ids'], contents('c.content'));

/** The SHA-256 of contents, in hexadecimal. */
export const hashContentsQuery = defineQuery<
  { tenant: string; ids: string[] },
  { id: string; sha256: string }
>(
  'hash_contents',
  ['tenant', 'ids'],
  contents(`encode(sha256(convert_to(c.content, 'UTF8')), 'hex') AS sha256`),
);

export const historyQueries = [
  beginChangeQuery,
  findGapQuery,
  listVersionsQuery,
  findVersionQuery,
  listReplacedQuery,
  findVersionAtQuery,
  findDirectoryAtQuery,
  listTreeAtQuery,
  listChangedQuery,
  listRedactedAtQuery,
  readContentsQuery,
  hashContentsQuery,
] as const;
