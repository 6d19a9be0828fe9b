import type { Origin } from '../memory/origin.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';

/** `renamed`: only the path changed. */
export type Operation = 'created' | 'modified' | 'renamed' | 'deleted';

/** A version as the view `memory_versions` has it (migrations/functions/memory_history.sql). */
export interface VersionRow {
  id: string;
  memoryId: string;
  operation: Operation;
  path: string | null;
  contentSha256: string | null;
  sizeBytes: number | null;
  createdAt: string;
  supersededAt: string | null;
  origin: Origin | null;
  redactedAt: string | null;
  redactedBy: Origin['actor'] | null;
}

/** The SHA-256 of a version `v` of `memory_versions`, in hexadecimal; that of a head is made from its content. */
export const SHA256 = "encode(COALESCE(v.content_sha256, memory_sha256(v.live_content)), 'hex')";

/** Of a version `v` of `memory_versions`. */
export const COLUMNS = `
  v.id, v.memory_id AS "memoryId", v.operation, v.path, ${SHA256} AS "contentSha256", v.size_bytes AS "sizeBytes",
  ${time('v.created_at')} AS "createdAt", ${time('v.superseded_at')} AS "supersededAt", v.origin,
  ${time('v.redacted_at')} AS "redactedAt", v.redacted_by AS "redactedBy"`;

/** Bounds of all ids. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Locks a tenant for a change of several statements, which are all made at the time `at`; null when there is no such tenant. */
export const beginChangeQuery = defineQuery<{ tenant: string }, { at: string | null }>(
  'begin_change',
  ['tenant'],
  `SELECT ${time('memory_begin_change($1)')} AS at`,
);

/** Since when a tenant's history is complete, if that is later than `at`. Before the tenant existed, there was nothing to miss. */
export const findGapQuery = defineQuery<{ tenant: string; at: string }, { since: string }>(
  'find_gap',
  ['tenant', 'at'],
  `
SELECT ${time('history_since')} AS since FROM tenants
WHERE id = $1 AND history_since > $2::text::timestamptz AND created_at <= $2::text::timestamptz
`,
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

/** The least id of a version after a time. */
export const AFTER = (at: string) => `memory_first_id(${at}::text::timestamptz + interval '1 microsecond')`;

/**
 * A page of versions, the newest first: those before `beforeId`. Ids begin with the time. A directory's versions include those that moved
 * a file out of it. Only files that were ever there can have such versions, which rules out most rows at little cost.
 */
export const listVersionsQuery = defineQuery<
  { tenant: string } & VersionFilter & { beforeId: string | null; limit: number },
  VersionRow
>(
  'list_versions',
  ['tenant', 'path', 'memoryId', 'since', 'until', 'by', 'operation', 'beforeId', 'limit'],
  `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $1
    AND v.id >= COALESCE(memory_first_id($4::text::timestamptz), '${FIRST_ID}')
    AND v.id < COALESCE($8::text::uuid, '${LAST_ID}') AND v.id < COALESCE(${AFTER('$5')}, '${LAST_ID}')
    AND ($2::text IS NULL OR v.memory_id IN (
      SELECT there.memory_id FROM memory_versions AS there WHERE there.tenant_id = $1 AND memory_in_subtree(there.path, $2::text)
    ))
    AND ($2::text IS NULL OR memory_in_subtree(v.path, $2::text) OR v.memory_id IN (
      SELECT named.memory_id FROM memory_versions AS named WHERE named.tenant_id = $1 AND named.path = $2::text
    ) OR (v.operation IN ('renamed', 'modified') AND (
      SELECT before.superseded_at = v.created_at AND memory_in_subtree(before.path, $2::text) FROM versions AS before
      WHERE before.tenant_id = $1 AND before.memory_id = v.memory_id AND before.id < v.id
      ORDER BY before.memory_id DESC, before.id DESC LIMIT 1
    )))
    AND ($3::text IS NULL OR v.memory_id = $3::text::uuid)
    AND ($6::text IS NULL OR ${isBy('v.origin', '$6')})
    AND ($7::text IS NULL OR v.operation = $7::text)
  ORDER BY v.id DESC LIMIT $9::integer
) AS v
ORDER BY v.id DESC
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
  memoryId: string;
  operation: Exclude<Operation, 'deleted'>;
  path: string | null;
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
SELECT n.id AS "by", v.id, v.memory_id AS "memoryId", v.operation, v.path, v.size_bytes AS "sizeBytes"
FROM unnest($2::text[], $3::text[], $4::text[]) AS n (id, memory_id, created_at), LATERAL (
  SELECT * FROM versions
  WHERE tenant_id = $1 AND memory_id = n.memory_id::uuid AND id < n.id::uuid ORDER BY id DESC LIMIT 1
) AS v
WHERE v.superseded_at = n.created_at::timestamptz AND v.operation <> 'deleted'
`,
);

/** Contents of versions, by their numbers in the arrays, from 1; null where there is none. */
export const readContentsQuery = defineQuery<
  { tenant: string; memoryIds: string[]; ids: string[] },
  { item: number; content: string | null }
>(
  'read_contents',
  ['tenant', 'memoryIds', 'ids'],
  'SELECT item, content FROM memory_contents($1, $2::text[]::uuid[], $3::text[]::uuid[])',
);
