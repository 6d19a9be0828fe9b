import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import type { Manifest } from './history-format.ts';

/** What an archive says about a whole history. */
export const readManifestQuery = defineQuery<{ tenant: string }, Omit<Manifest, 'format'>>(
  'read_manifest',
  ['tenant'],
  `
SELECT ${time('created_at')} AS created_at, ${time('history_since')} AS complete_since,
  (SELECT count(*) FROM memory_versions AS v WHERE v.tenant_id = $1)::float8 AS versions,
  (SELECT count(*) FROM version_contents AS c WHERE c.tenant_id = $1)::float8 AS contents,
  (SELECT count(*) FROM memory_directories AS d WHERE d.tenant_id = $1)::float8 AS directories
FROM tenants WHERE id = $1
`,
);

/** A page of contents in the order of their ids: no more once they have `bytes` together, but at least one if there is one. */
export const exportContentsQuery = defineQuery<
  { tenant: string; after: string; limit: number; bytes: number },
  { id: string; content: string }
>(
  'export_contents',
  ['tenant', 'after', 'limit', 'bytes'],
  `
SELECT id, content FROM (
  SELECT id, content, sum(size_bytes) OVER (ORDER BY id) - size_bytes AS before FROM version_contents
  WHERE tenant_id = $1 AND id > $2::text::uuid ORDER BY id LIMIT $3
) AS page
WHERE before < $4::bigint ORDER BY id
`,
);

/** A page of directories, present and past, each with its time. The first page comes after ''. */
export const exportPastDirectoriesQuery = defineQuery<
  { tenant: string; after: string; afterTime: string; limit: number },
  { path: string; made_at: string; removed_at: string | null }
>(
  'export_past_directories',
  ['tenant', 'after', 'afterTime', 'limit'],
  `
SELECT d.path, ${time('d.made_at')} AS made_at, ${time('d.removed_at')} AS removed_at FROM memory_directories AS d
WHERE d.tenant_id = $1 AND (d.path, COALESCE(d.removed_at, 'infinity')) > ($2, $3::text::timestamptz)
ORDER BY d.path, COALESCE(d.removed_at, 'infinity') LIMIT $4
`,
);

/** Whether a tenant has neither files nor a history. */
export const isUntouchedQuery = defineQuery<{ tenant: string }, { isUntouched: boolean }>(
  'is_untouched',
  ['tenant'],
  `
SELECT NOT EXISTS (SELECT FROM entries WHERE tenant_id = $1 AND path > '/memories')
  AND NOT EXISTS (SELECT FROM versions WHERE tenant_id = $1)
  AND NOT EXISTS (SELECT FROM past_directories WHERE tenant_id = $1) AS "isUntouched"
`,
);

// The following are for a tenant that had neither and has been locked. Rows go as a JSON array.

/** Returns the ids of those that were not there. */
export const importContentsQuery = defineQuery<
  { tenant: string; ids: string[]; contents: string[] },
  { id: string }
>(
  'import_contents',
  ['tenant', 'ids', 'contents'],
  `
INSERT INTO version_contents AS made (tenant_id, id, content)
SELECT $1, c.id::uuid, c.content FROM unnest($2::text[], $3::text[]) AS c (id, content)
ON CONFLICT (tenant_id, id) DO NOTHING
RETURNING made.id
`,
);

const VERSIONS = `json_to_recordset($2::text::json) AS v (
  id uuid, memory_id uuid, operation text, path text, content_id uuid, sha256 text, created_at timestamptz,
  superseded_at timestamptz, origin jsonb, redacted_at timestamptz, redacted_by jsonb, head_path text
)`;
const HAS_HASH = (content: string) => `(v.sha256 IS NULL OR v.sha256 = memory_sha256(${content}))`;

/** Makes imported files the versions that they were. Returns the ids of those whose content is that of the version. */
export const importHeadsQuery = defineQuery<{ tenant: string; rows: string }, { id: string }>(
  'import_heads',
  ['tenant', 'rows'],
  `
UPDATE entries AS e SET
  version = v.id, memory_id = v.memory_id, content_id = v.content_id, operation = v.operation, changed_at = v.created_at, origin = v.origin
FROM ${VERSIONS}
WHERE e.tenant_id = $1 AND e.path = v.path AND e.kind = 'file' AND ${HAS_HASH('e.content')}
RETURNING v.id
`,
);

/** Makes superseded versions, whose content is there, or that of the live file at `head_path`. Returns the ids of those that fit it. */
export const importVersionsQuery = defineQuery<{ tenant: string; rows: string }, { id: string }>(
  'import_versions',
  ['tenant', 'rows'],
  `
INSERT INTO versions AS made (
  tenant_id, id, memory_id, operation, path, content_id, size_bytes, created_at, superseded_at, origin, redacted_at, redacted_by
)
SELECT $1, v.id, v.memory_id, v.operation, v.path, v.content_id, COALESCE(c.size_bytes, e.size_bytes), v.created_at, v.superseded_at,
  v.origin, v.redacted_at, v.redacted_by
FROM ${VERSIONS}
LEFT JOIN version_contents AS c ON c.tenant_id = $1 AND c.id = v.content_id
LEFT JOIN entries AS e ON e.tenant_id = $1 AND e.path = v.head_path
WHERE v.content_id IS NULL OR (COALESCE(c.content, e.content) IS NOT NULL AND ${HAS_HASH('COALESCE(c.content, e.content)')})
ON CONFLICT (tenant_id, id) DO NOTHING
RETURNING made.id
`,
);

const DIRECTORIES =
  'json_to_recordset($2::text::json) AS d (path text, made_at timestamptz, removed_at timestamptz)';

/** Dates directories that are there. */
export const importDirectoryTimesQuery = defineQuery<{ tenant: string; rows: string }>(
  'import_directory_times',
  ['tenant', 'rows'],
  `UPDATE entries AS e SET changed_at = d.made_at FROM ${DIRECTORIES} WHERE e.tenant_id = $1 AND e.dir_path = d.path`,
);

/** Returns the paths of those that were not there. */
export const importPastDirectoriesQuery = defineQuery<{ tenant: string; rows: string }, { path: string }>(
  'import_past_directories',
  ['tenant', 'rows'],
  `
INSERT INTO past_directories AS made (tenant_id, path, made_at, removed_at)
SELECT $1, d.path, d.made_at, d.removed_at FROM ${DIRECTORIES}
ON CONFLICT (tenant_id, path, removed_at) DO NOTHING
RETURNING made.path
`,
);

/** Counts an imported history, and lets later changes come after it. */
export const countHistoryQuery = defineQuery<{ tenant: string; createdAt: string; since: string }>(
  'count_history',
  ['tenant', 'createdAt', 'since'],
  `
UPDATE tenants SET
  history_versions = (SELECT count(*) FROM versions AS v WHERE v.tenant_id = $1),
  history_bytes = memory_history_row_bytes() * (
      (SELECT count(*) FROM versions AS v WHERE v.tenant_id = $1)
      + (SELECT count(*) FROM past_directories AS d WHERE d.tenant_id = $1)
    ) + (SELECT COALESCE(sum(c.size_bytes), 0) FROM version_contents AS c WHERE c.tenant_id = $1),
  created_at = LEAST(created_at, $2::timestamptz), history_since = $3::timestamptz,
  last_change_at = GREATEST(
    last_change_at, $3::timestamptz,
    (SELECT max(GREATEST(v.created_at, v.superseded_at)) FROM memory_versions AS v WHERE v.tenant_id = $1),
    (SELECT max(GREATEST(d.made_at, d.removed_at)) FROM memory_directories AS d WHERE d.tenant_id = $1)
  )
WHERE id = $1
`,
);

/** What is wrong with an imported history, as the end of a sentence, and where. Nothing when all is well. */
export const findDamageQuery = defineQuery<{ tenant: string }, { what: string; at: string }>(
  'find_damage',
  ['tenant'],
  `
SELECT * FROM (
  SELECT 'belongs to no version' AS what, 'the content ' || id AS at FROM (
    SELECT c.id FROM version_contents AS c WHERE c.tenant_id = $1
    EXCEPT SELECT v.content_id FROM versions AS v WHERE v.tenant_id = $1
  ) AS unused
  UNION ALL
  SELECT 'is there twice', 'the version ' || id FROM (
    SELECT v.id FROM versions AS v WHERE v.tenant_id = $1
    INTERSECT SELECT e.version FROM entries AS e WHERE e.tenant_id = $1
  ) AS twice
  UNION ALL
  SELECT 'belongs to several files', 'the content ' || v.content_id FROM memory_versions AS v
  WHERE v.tenant_id = $1 AND v.content_id IS NOT NULL
  GROUP BY v.content_id HAVING count(DISTINCT v.memory_id) > 1
  UNION ALL
  SELECT 'is not over when the next one of its file begins', 'the version ' || id FROM (
    SELECT v.id, v.superseded_at, lead(v.created_at) OVER (PARTITION BY v.memory_id ORDER BY v.created_at, v.superseded_at) AS next
    FROM memory_versions AS v WHERE v.tenant_id = $1
  ) AS chained WHERE next < COALESCE(superseded_at, 'infinity')
  UNION ALL
  SELECT 'was two things at a time', 'the path ' || path FROM (
    SELECT path, until, lead(since) OVER (PARTITION BY path ORDER BY since, until) AS next FROM (
      SELECT v.path, v.created_at AS since, COALESCE(v.superseded_at, 'infinity') AS until FROM memory_versions AS v
      WHERE v.tenant_id = $1 AND v.operation <> 'deleted' AND v.path IS NOT NULL
      UNION ALL
      SELECT d.path, d.made_at, COALESCE(d.removed_at, 'infinity') FROM memory_directories AS d WHERE d.tenant_id = $1
    ) AS things
  ) AS following WHERE next < until
  UNION ALL
  SELECT 'is in the future', 'the time ' || last_change_at FROM tenants WHERE id = $1 AND last_change_at > now() + interval '1 day'
) AS damage ORDER BY what LIMIT 1
`,
);

export const historyTransferQueries = [
  readManifestQuery,
  exportContentsQuery,
  exportPastDirectoriesQuery,
  isUntouchedQuery,
  importContentsQuery,
  importHeadsQuery,
  importVersionsQuery,
  importDirectoryTimesQuery,
  importPastDirectoriesQuery,
  countHistoryQuery,
  findDamageQuery,
] as const;
