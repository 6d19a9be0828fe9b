import { defineQuery, time } from '../../core/database/query.ts';
import { isBy } from '../../core/history/version.ts';
import type { Actor } from '../../core/memory/origin.ts';

/**
 * Finds the files at paths: the file that is there, or else the last one that was. Paths without a file in the memory
 * and its history are missing.
 */
export const findFileIdsQuery = defineQuery<
  { tenant: string; paths: string[] },
  { path: string; memoryId: string }
>(
  'find_file_ids',
  `
SELECT given.path, COALESCE(e.memory_id, v.memory_id)::text AS "memoryId"
FROM unnest($paths::text[]) AS given (path)
LEFT JOIN LATERAL (
  SELECT memory_id FROM entries WHERE tenant_id = $tenant AND path = given.path OFFSET 0
) AS e ON true
LEFT JOIN LATERAL (
  SELECT memory_id FROM versions
  WHERE e.memory_id IS NULL AND tenant_id = $tenant AND path = given.path ORDER BY id DESC LIMIT 1
) AS v ON true
WHERE COALESCE(e.memory_id, v.memory_id) IS NOT NULL
`,
);

/** Times are in milliseconds since 1970. */
export type NewReads = {
  tenant: string;
  /** The tenant's creation time; null accepts any tenant with the ID. A missing tenant is ignored. */
  createdAt: string | null;
  ids: string[];
  memoryIds: string[];
  /** Actors as JSON. */
  actors: string[];
  viaTenants: (string | null)[];
  toolUseIds: (string | null)[];
  counts: number[];
  firstTimes: number[];
  lastTimes: number[];
};

/** Adds records of reads, or adds to the records with the same IDs. */
export const recordReadsQuery = defineQuery<NewReads>(
  'record_reads',
  `
INSERT INTO reads AS r (tenant_id, id, memory_id, actor, via_tenant, tool_use_id, count, first_at, last_at)
SELECT t.id, n.id::uuid, n.memory_id::uuid, n.actor::jsonb, n.via_tenant, n.tool_use_id, n.count,
  to_timestamp(n.first_ms / 1000.0), to_timestamp(n.last_ms / 1000.0)
FROM tenants AS t, unnest(
  $ids::text[], $memoryIds::text[], $actors::text[], $viaTenants::text[], $toolUseIds::text[], $counts::integer[],
  $firstTimes::bigint[], $lastTimes::bigint[]
) AS n (id, memory_id, actor, via_tenant, tool_use_id, count, first_ms, last_ms)
WHERE t.id = $tenant AND ($createdAt::text::timestamptz IS NULL OR t.created_at = $createdAt::text::timestamptz)
ON CONFLICT (tenant_id, id) DO UPDATE SET
  count = r.count + excluded.count, first_at = LEAST(r.first_at, excluded.first_at),
  last_at = GREATEST(r.last_at, excluded.last_at), tool_use_id = COALESCE(excluded.tool_use_id, r.tool_use_id)
`,
);

/** Reads of a file by an actor: one read, or the reads on one day. Times are ISO 8601 in UTC. */
export interface ReadRow {
  id: string;
  memoryId: string;
  /** The file's path now, or its last path; null if it is neither in the memory nor in the history. */
  path: string | null;
  actor: Actor;
  viaTenant: string | null;
  toolUseId: string | null;
  count: number;
  firstAt: string;
  lastAt: string;
}

/** Filter for a list of reads. Null fields do not filter. */
export type ReadFilter = {
  memoryId: string | null;
  toolUseId: string | null;
  /** An actor or a source, as in `VersionFilter`. */
  by: string | null;
};

/** Reads a page of at most `limit` records, ordered by the last read, newest first. */
export const listReadsQuery = defineQuery<
  { tenant: string; afterAt: string | null; afterId: string | null; limit: number } & ReadFilter,
  ReadRow
>(
  'list_reads',
  `
SELECT r.id::text, r.memory_id::text AS "memoryId", COALESCE(e.path, v.path) AS path, r.actor,
  r.via_tenant AS "viaTenant", r.tool_use_id AS "toolUseId", r.count, ${time('r.first_at')} AS "firstAt",
  ${time('r.last_at')} AS "lastAt"
FROM (
  SELECT * FROM reads
  WHERE tenant_id = $tenant AND ($memoryId::text IS NULL OR memory_id = $memoryId::text::uuid)
    AND ($toolUseId::text IS NULL OR tool_use_id = $toolUseId)
    AND ($by::text IS NULL OR ${isBy("jsonb_build_object('actor', actor)", '$by')})
    AND (last_at, id) < (
      COALESCE($afterAt::text::timestamptz, 'infinity'),
      COALESCE($afterId::text::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    )
  ORDER BY last_at DESC, id DESC LIMIT $limit::bigint
) AS r
LEFT JOIN LATERAL (
  SELECT path FROM entries WHERE tenant_id = $tenant AND memory_id = r.memory_id OFFSET 0
) AS e ON true
LEFT JOIN LATERAL (
  SELECT path FROM versions
  WHERE e.path IS NULL AND tenant_id = $tenant AND memory_id = r.memory_id ORDER BY id DESC LIMIT 1
) AS v ON true
ORDER BY r.last_at DESC, r.id DESC
`,
);

/** Sums up a file's recorded reads since a time. `lastAt` is the last recorded read at any time. */
export const sumReadsQuery = defineQuery<
  { tenant: string; memoryId: string; since: string },
  { count: number; actors: number; lastAt: string | null }
>(
  'sum_reads',
  `
SELECT COALESCE(sum(count) FILTER (WHERE is_recent), 0)::float8 AS count,
  (count(DISTINCT actor - 'label' - 'source') FILTER (WHERE is_recent))::integer AS actors,
  ${time('max(last_at)')} AS "lastAt"
FROM (
  SELECT count, actor, last_at, last_at >= $since::text::timestamptz AS is_recent FROM reads
  WHERE tenant_id = $tenant AND memory_id = $memoryId::text::uuid
) AS r
`,
);

/** Reads a page of the tenants with recorded reads, ordered by ID. */
export const tenantsWithReadsQuery = defineQuery<
  { after: string; readLogDays: number; limit: number },
  { id: string; readLogDays: number }
>(
  'tenants_with_reads',
  `
SELECT t.id, COALESCE(t.read_log_days, $readLogDays::bigint)::float8 AS "readLogDays" FROM tenants AS t
WHERE t.id > $after AND EXISTS (SELECT FROM reads AS r WHERE r.tenant_id = t.id) ORDER BY t.id LIMIT $limit
`,
);

/** Deletes a batch of records whose last read was before a time. */
export const pruneReadsQuery = defineQuery<{ tenant: string; before: string; limit: number }>(
  'prune_reads',
  `
DELETE FROM reads WHERE tenant_id = $tenant AND id = ANY (ARRAY(
  SELECT id FROM reads WHERE tenant_id = $tenant AND last_at < $before::text::timestamptz
  ORDER BY last_at LIMIT $limit::bigint
))
`,
);
