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
  tenant_id, path, parent_path, kind, content, version, created_at, updated_at, accessed_at,
  memory_id, content_id, operation, changed_at, origin
)
SELECT $2, path, parent_path, kind, content, version, created_at, updated_at, accessed_at,
  CASE WHEN $6::boolean THEN memory_id END, CASE WHEN $6 THEN content_id END, CASE WHEN $6 THEN operation END,
  CASE WHEN $6 THEN changed_at ELSE $7::timestamptz END,
  CASE WHEN $6 THEN origin WHEN kind = 'file' THEN $8::text::jsonb END
FROM (
  SELECT *, sum(COALESCE(size_bytes, 0)) OVER (ORDER BY path) - COALESCE(size_bytes, 0) AS before FROM entries
  WHERE tenant_id = $1 AND path > $3 ORDER BY path LIMIT $4
) AS page
WHERE before < $5::bigint ORDER BY path
RETURNING e.path
`,
);

type HistoryPage = { tenant: string; to: string; after: string; limit: number };

export const copyVersionsQuery = defineQuery<HistoryPage, { id: string }>(
  'copy_versions',
  ['tenant', 'to', 'after', 'limit'],
  `
INSERT INTO versions AS v (
  tenant_id, id, memory_id, operation, path, content_id, size_bytes, created_at, superseded_at, origin, redacted_at, redacted_by
)
SELECT $2, id, memory_id, operation, path, content_id, size_bytes, created_at, superseded_at, origin, redacted_at, redacted_by
FROM versions WHERE tenant_id = $1 AND id > $3::text::uuid ORDER BY id LIMIT $4
RETURNING v.id
`,
);

/** Copies at most `limit` contents, stopping once they exceed `bytes`, but at least one if there is one. */
export const copyContentsQuery = defineQuery<HistoryPage & { bytes: number }, { id: string }>(
  'copy_contents',
  ['tenant', 'to', 'after', 'limit', 'bytes'],
  `
INSERT INTO version_contents AS c (tenant_id, id, content)
SELECT $2, id, content FROM (
  SELECT id, content, sum(size_bytes) OVER (ORDER BY id) - size_bytes AS before FROM version_contents
  WHERE tenant_id = $1 AND id > $3::text::uuid ORDER BY id LIMIT $4
) AS page
WHERE before < $5::bigint
RETURNING c.id
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

/** The columns of a tenant that describe its history; times as text. */
export type HistoryState = {
  versions: number;
  bytes: number;
  since: string;
  lastChangeAt: string | null;
  /** Of the tenant: a revert goes back no further. */
  createdAt: string;
};

export const readHistoryStateQuery = defineQuery<{ tenant: string }, HistoryState>(
  'read_history_state',
  ['tenant'],
  `
SELECT history_versions::float8 AS versions, history_bytes::float8 AS bytes, history_since::text AS since,
  last_change_at::text AS "lastChangeAt", created_at::text AS "createdAt" FROM tenants WHERE id = $1
`,
);

export const setHistoryStateQuery = defineQuery<{ tenant: string } & HistoryState>(
  'set_history_state',
  ['tenant', 'versions', 'bytes', 'since', 'lastChangeAt', 'createdAt'],
  `
UPDATE tenants SET history_versions = $2::bigint, history_bytes = $3::bigint, history_since = $4::text::timestamptz,
  last_change_at = $5::text::timestamptz, created_at = $6::text::timestamptz WHERE id = $1
`,
);

export const copyQueries = [
  copyEntriesQuery,
  copyVersionsQuery,
  copyContentsQuery,
  copyPastDirectoriesQuery,
  readHistoryStateQuery,
  setHistoryStateQuery,
] as const;
