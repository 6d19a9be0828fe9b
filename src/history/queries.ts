import type { Origin } from '../memory/origin.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';

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

/** Of a version `v`. */
export const COLUMNS = `
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

/** The ids, parsed once per call. A plain cast of the parameter would be parsed again for each row. */
const IDS = 'ARRAY(SELECT unnest($2::text[])::uuid)';

/** Where contents are: kept apart once superseded, else in the live files. */
const contents = (columns: string) => `
SELECT c.id, ${columns} FROM version_contents AS c WHERE c.tenant_id = $1 AND c.id = ANY (${IDS})
UNION ALL
SELECT c.content_id, ${columns} FROM memory_heads AS c WHERE c.tenant_id = $1 AND c.content_id = ANY (${IDS})
`;

export const readContentsQuery = defineQuery<
  { tenant: string; ids: string[] },
  { id: string; content: string }
>('read_contents', ['tenant', 'ids'], contents('c.content'));

/** The SHA-256 of contents, in hexadecimal. */
export const hashContentsQuery = defineQuery<
  { tenant: string; ids: string[] },
  { id: string; sha256: string }
>('hash_contents', ['tenant', 'ids'], contents('memory_sha256(c.content) AS sha256'));

export const historyQueries = [
  beginChangeQuery,
  findGapQuery,
  listVersionsQuery,
  findVersionQuery,
  listReplacedQuery,
  readContentsQuery,
  hashContentsQuery,
] as const;
