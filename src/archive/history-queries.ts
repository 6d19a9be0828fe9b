import { COLUMNS, type VersionRow } from '../history/version.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import { COUNTED_HISTORY } from './copy-queries.ts';
import type { KeptContent, Manifest } from './history-format.ts';

/** What an archive says about a whole history. */
export const readManifestQuery = defineQuery<{ tenant: string }, Omit<Manifest, 'format'>>(
  'read_manifest',
  ['tenant'],
  `
SELECT ${time('created_at')} AS created_at, ${time('history_since')} AS complete_since,
  (SELECT count(*) FROM memory_versions AS v WHERE v.tenant_id = $1)::float8 AS versions,
  (SELECT count(*) FROM memory_directories AS d WHERE d.tenant_id = $1)::float8 AS directories
FROM tenants WHERE id = $1
`,
);

/** A page of the versions of live files, in the order of their paths. Their contents are the files of the archive. */
export const exportHeadsQuery = defineQuery<{ tenant: string; after: string; limit: number }, VersionRow>(
  'export_heads',
  ['tenant', 'after', 'limit'],
  `
SELECT ${COLUMNS} FROM (
  SELECT * FROM memory_heads WHERE tenant_id = $1 AND path > $2 ORDER BY path LIMIT $3
) AS v
ORDER BY v.path
`,
);

/**
 * A page of superseded versions, the newest first: no more once they have `bytes` together, but at least one if there is one. `needsWhole`:
 * the content is to be made from the live file, which an archive may hold in another form.
 */
export const exportVersionsQuery = defineQuery<
  { tenant: string; before: string; limit: number; bytes: number },
  VersionRow & KeptContent & { needsWhole: boolean }
>(
  'export_versions',
  ['tenant', 'before', 'limit', 'bytes'],
  `
SELECT ${COLUMNS}, v.splice_start AS "spliceStart", v.splice_length AS "spliceLength", v.content AS "keptContent",
  v.splice_start IS NOT NULL AND NOT EXISTS (
    SELECT FROM versions AS newer WHERE newer.tenant_id = $1 AND newer.memory_id = v.memory_id AND newer.id > v.id
  ) AS "needsWhole"
FROM (
  SELECT page.*, NULL::text AS live_content,
    sum(COALESCE(octet_length(content), 0)) OVER (ORDER BY id DESC) - COALESCE(octet_length(content), 0) AS before
  FROM (SELECT * FROM versions WHERE tenant_id = $1 AND id < $2::text::uuid ORDER BY id DESC LIMIT $3) AS page
) AS v
WHERE v.before < $4::bigint ORDER BY v.id DESC
`,
);

export interface DirectoryRow {
  path: string;
  made_at: string;
  /** Null for one that is there. */
  removed_at: string | null;
}

/** A page of the directories that are there, without the root, in the order of their paths. */
export const exportPresentDirectoriesQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  DirectoryRow
>(
  'export_present_directories',
  ['tenant', 'after', 'limit'],
  `
SELECT dir_path AS path, ${time('changed_at')} AS made_at, NULL AS removed_at FROM entries
WHERE tenant_id = $1 AND dir_path > $2 ORDER BY dir_path LIMIT $3
`,
);

/** A page of past directories, in the order of their paths and times. The first page comes after ''. */
export const exportPastDirectoriesQuery = defineQuery<
  { tenant: string; after: string; afterTime: string; limit: number },
  DirectoryRow
>(
  'export_past_directories',
  ['tenant', 'after', 'afterTime', 'limit'],
  `
SELECT path, ${time('made_at')} AS made_at, ${time('removed_at')} AS removed_at FROM past_directories
WHERE tenant_id = $1 AND (path, removed_at) > ($2, $3::text::timestamptz) ORDER BY past_directories.path, past_directories.removed_at LIMIT $4
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

const VERSIONS = `json_to_recordset($2::text::json) AS v (
  id uuid, memory_id uuid, operation text, path text, sha256 text, size_bytes integer, created_at timestamptz,
  superseded_at timestamptz, origin jsonb, redacted_at timestamptz, redacted_by jsonb,
  splice_start integer, splice_length integer, content text
)`;
/** The first half of an id is the time. */
const HAS_ITS_TIME = 'left(v.id::text, 18) = left(memory_first_id(v.created_at)::text, 18)';

/** Makes imported files the versions that they were. Returns the ids of those whose content is that of the version. */
export const importHeadsQuery = defineQuery<{ tenant: string; rows: string }, { id: string }>(
  'import_heads',
  ['tenant', 'rows'],
  `
UPDATE entries AS e SET
  version = v.id, memory_id = v.memory_id, operation = v.operation, changed_at = v.created_at, origin = v.origin
FROM ${VERSIONS}
WHERE e.tenant_id = $1 AND e.path = v.path AND e.kind = 'file' AND ${HAS_ITS_TIME}
  AND (v.sha256 IS NULL OR v.sha256 = encode(memory_sha256(e.content), 'hex'))
RETURNING v.id
`,
);

/** Makes superseded versions. Returns the ids of those that were not there. */
export const importVersionsQuery = defineQuery<{ tenant: string; rows: string }, { id: string }>(
  'import_versions',
  ['tenant', 'rows'],
  `
INSERT INTO versions AS made (
  tenant_id, id, memory_id, operation, path, size_bytes, content_sha256, splice_start, splice_length, content,
  created_at, superseded_at, origin, redacted_at, redacted_by, bytes
)
SELECT $1, v.id, v.memory_id, v.operation, v.path, v.size_bytes, decode(v.sha256, 'hex'), v.splice_start, v.splice_length, v.content,
  v.created_at, v.superseded_at, v.origin, v.redacted_at, v.redacted_by, memory_version_bytes($1, v.path, v.origin, v.content)
FROM ${VERSIONS}
WHERE ${HAS_ITS_TIME}
ON CONFLICT (tenant_id, id) DO NOTHING
RETURNING made.id
`,
);

/** A page of the files that have superseded versions, by their ids. */
export const listPastFilesQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  { memoryId: string }
>(
  'list_past_files',
  ['tenant', 'after', 'limit'],
  `
SELECT DISTINCT memory_id AS "memoryId" FROM versions WHERE tenant_id = $1 AND memory_id > $2::text::uuid
ORDER BY memory_id LIMIT $3
`,
);

/** The superseded versions of a file that have a content, the newest first, until they have `bytes` together. */
export const readPastContentsQuery = defineQuery<
  { tenant: string; memoryId: string; before: string; bytes: number; withContents: boolean },
  { id: string; isRight: boolean; content: string | null }
>(
  'read_past_contents',
  ['tenant', 'memoryId', 'before', 'bytes', 'withContents'],
  `
SELECT id, is_right AS "isRight", content
FROM memory_past_contents($1, $2::text::uuid, $3::text::uuid, $4::bigint, $5::boolean)
`,
);

/** Gives a superseded version another content. */
export const replaceContentQuery = defineQuery<{
  tenant: string;
  memoryId: string;
  version: string;
  content: string;
}>(
  'replace_content',
  ['tenant', 'memoryId', 'version', 'content'],
  'SELECT memory_replace_content($1, $2::text::uuid, $3::text::uuid, $4)',
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
UPDATE tenants SET ${COUNTED_HISTORY},
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
  SELECT 'is there twice' AS what, 'the version ' || id AS at FROM (
    SELECT v.id FROM versions AS v WHERE v.tenant_id = $1
    INTERSECT SELECT e.version FROM entries AS e WHERE e.tenant_id = $1
  ) AS twice
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
