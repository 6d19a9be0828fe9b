import { defineQuery } from '../postgres/query.ts';

/*
 * Copy rows from one tenant to another inside the database, so contents do not pass through this process. Each query copies a page, so
 * that no statement takes long, and returns the copied keys in any order. The destination must not have rows with these keys.
 */

/**
 * Copies entries in path order: at most `limit`, stopping once they exceed `bytes`, but at least one if there is one. With `keepsHistory`,
 * files keep their versions; otherwise `origin` creates them at the time `at`.
 */
export const copyEntriesQuery = defineQuery<
  {
    tenant: string;
    to: string;
    after: string;
    limit: number;
    bytes: number;
    keepsHistory: boolean;
    at: string | null;
    origin: string | null;
  },
  { path: string }
>(
  'copy_entries',
  ['tenant', 'to', 'after', 'limit', 'bytes', 'keepsHistory', 'at', 'origin'],
  `
INSERT INTO entries AS e (
  tenant_id, path, parent_path, kind, content, created_at, updated_at, accessed_at, version, memory_id, operation, changed_at, origin
)
SELECT $2, path, parent_path, kind, content, created_at, updated_at, accessed_at,
  CASE WHEN $6::boolean THEN version WHEN kind = 'file' THEN id END, CASE WHEN $6 THEN memory_id WHEN kind = 'file' THEN id END,
  CASE WHEN $6 THEN operation WHEN kind = 'file' THEN 'created' END, CASE WHEN $6 THEN changed_at ELSE $7::timestamptz END,
  CASE WHEN $6 THEN origin WHEN kind = 'file' THEN $8::text::jsonb END
FROM (
  SELECT *, memory_version_id(memory_id_prefix($7::timestamptz), memory_id) AS id,
    sum(COALESCE(size_bytes, 0)) OVER (ORDER BY path) - COALESCE(size_bytes, 0) AS before
  FROM entries WHERE tenant_id = $1 AND path > $3 ORDER BY path LIMIT $4
) AS page
WHERE before < $5::bigint ORDER BY path
RETURNING e.path
`,
);

type HistoryPage = { tenant: string; to: string; after: string; limit: number };

/** Copies at most `limit` versions, stopping once they exceed `bytes`, but at least one if there is one. */
export const copyVersionsQuery = defineQuery<HistoryPage & { bytes: number }, { id: string }>(
  'copy_versions',
  ['tenant', 'to', 'after', 'limit', 'bytes'],
  `
INSERT INTO versions AS v (
  tenant_id, id, memory_id, operation, path, size_bytes, content_sha256, splice_start, splice_length, content,
  created_at, superseded_at, origin, redacted_at, redacted_by, bytes
)
SELECT $2, id, memory_id, operation, path, size_bytes, content_sha256, splice_start, splice_length, content,
  created_at, superseded_at, origin, redacted_at, redacted_by, memory_version_bytes($2, path, origin, content)
FROM (
  SELECT *, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM versions
  WHERE tenant_id = $1 AND id > $3::text::uuid ORDER BY id LIMIT $4
) AS page
WHERE before < $5::bigint
RETURNING v.id
`,
);

/** Copies all of them at once: the rows are small. */
export const copyPastDirectoriesQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_past_directories',
  ['tenant', 'to'],
  `
INSERT INTO past_directories (tenant_id, path, made_at, removed_at)
SELECT $2, path, made_at, removed_at FROM past_directories WHERE tenant_id = $1
`,
);

/** Assigns to the counters of a tenant's history what its rows are. */
export const COUNTED_HISTORY = `
  history_versions = (SELECT count(*) FROM versions AS v WHERE v.tenant_id = $1),
  history_bytes = (SELECT COALESCE(sum(v.bytes), 0) FROM versions AS v WHERE v.tenant_id = $1)
    + (SELECT COALESCE(sum(memory_directory_bytes(d.tenant_id, d.path)), 0) FROM past_directories AS d WHERE d.tenant_id = $1)`;

/** The columns of a tenant that describe its history; times as text. */
export type HistoryState = {
  since: string;
  lastChangeAt: string | null;
  /** Of the tenant: a revert goes back no further. */
  createdAt: string;
};

export const readHistoryStateQuery = defineQuery<{ tenant: string }, HistoryState>(
  'read_history_state',
  ['tenant'],
  `
SELECT history_since::text AS since, last_change_at::text AS "lastChangeAt", created_at::text AS "createdAt" FROM tenants WHERE id = $1
`,
);

/** Describes a history that has been copied, and counts it. */
export const setHistoryStateQuery = defineQuery<{ tenant: string } & HistoryState>(
  'set_history_state',
  ['tenant', 'since', 'lastChangeAt', 'createdAt'],
  `
UPDATE tenants SET ${COUNTED_HISTORY},
  history_since = $2::text::timestamptz, last_change_at = $3::text::timestamptz, created_at = $4::text::timestamptz WHERE id = $1
`,
);
