import { defineQuery } from '../../core/database/query.ts';
import type { MemoryPath } from '../../core/memory/path.ts';

/* Statements for an erasure in one tenant or draft. The functions are in migrations/functions/memory_erase_text.sql. */

type Files = { tenant: string; memoryIds: string[] };
type FileVersions = Files & { versions: string[] };

/** Reads the files' current state. */
export const currentFilesQuery = defineQuery<
  Files,
  { memoryId: string; versionId: string; path: MemoryPath; bytes: number; origin: string | null }
>(
  'erased_files',
  `
SELECT e.memory_id::text AS "memoryId", e.version::text AS "versionId", e.path, e.size_bytes AS bytes,
  e.origin::text AS origin
FROM unnest($memoryIds::text[]::uuid[]) AS f (id), LATERAL (
  SELECT memory_id, version, path, size_bytes, origin FROM entries WHERE tenant_id = $tenant
    AND memory_id = f.id OFFSET 0
) AS e
`,
);

/** Reads the base versions for files in a draft. */
export const baseVersionsQuery = defineQuery<Files, { memoryId: string; versionId: string }>(
  'erased_base_versions',
  `
SELECT memory_id::text AS "memoryId", version::text AS "versionId" FROM draft_base
WHERE tenant_id = $tenant AND memory_id = ANY ($memoryIds::text[]::uuid[])
`,
);

export const redactVersionsQuery = defineQuery<FileVersions & { by: string }, { redacted: number | string }>(
  'redact_versions',
  'SELECT memory_redact_versions($tenant, $memoryIds::text[]::uuid[], $versions::text[]::uuid[], $by::jsonb) AS redacted',
);

export const redactBelowQuery = defineQuery<
  { tenant: string; path: string; limit: number; by: string },
  { redacted: number | string }
>('redact_below', 'SELECT memory_redact_below($tenant, $path, $limit::integer, $by::jsonb) AS redacted');

export const forgetPathsQuery = defineQuery<
  { tenant: string; paths: string[]; below: boolean },
  { forgotten: number | string }
>('forget_paths', 'SELECT memory_forget_paths($tenant, $paths::text[], $below::boolean) AS forgotten');

export const erasePathQuery = defineQuery<
  {
    tenant: string;
    from: string;
    to: string;
    change: string;
    /** Null keeps the origins. */
    origin: string | null;
    historyDays: number;
    maxHistoryBytes: number;
  },
  { moved: number | string }
>(
  'erase_path',
  `
SELECT memory_erase_path(
  $tenant, $from, $to, $change::uuid, $origin::jsonb, $historyDays::bigint, $maxHistoryBytes::bigint
) AS moved
`,
);

export const eraseBasePathQuery = defineQuery<
  { tenant: string; from: string; to: string },
  { renamed: number | string }
>('erase_base_path', 'SELECT memory_erase_base_path($tenant, $from, $to) AS renamed');

export const eraseBaseVersionsQuery = defineQuery<FileVersions>(
  'erase_base_versions',
  'SELECT memory_erase_base_versions($tenant, $memoryIds::text[]::uuid[], $versions::text[]::uuid[]) AS done',
);

export const rewriteVersionQuery = defineQuery<{
  tenant: string;
  memoryId: string;
  version: string;
  path: string;
  content: string;
}>(
  'rewrite_version',
  'SELECT memory_rewrite_version($tenant, $memoryId::uuid, $version::uuid, $path, $content) AS done',
);

/** Finds an entry's kind, and the size of the longest path at or below the entry. */
export const subtreeQuery = defineQuery<
  { tenant: string; path: string },
  { kind: 'file' | 'dir' | null; longest: number | null }
>(
  'erased_subtree',
  `
SELECT
  (SELECT kind FROM entries WHERE tenant_id = $tenant AND path = $path) AS kind,
  max(longest)::integer AS longest
FROM (
  SELECT max(octet_length(path)) AS longest FROM entries WHERE tenant_id = $tenant AND memory_in_subtree(path, $path)
  UNION ALL
  SELECT max(octet_length(path)) FROM draft_base WHERE tenant_id = $tenant AND memory_in_subtree(path, $path)
) AS paths
`,
);

/** Whether a path exists in a memory or, for a draft, in its base. */
export const isTakenQuery = defineQuery<{ tenant: string; path: string }, { taken: boolean }>(
  'is_taken',
  `
SELECT EXISTS (SELECT FROM entries WHERE tenant_id = $tenant AND path = $path)
  OR EXISTS (SELECT FROM draft_base WHERE tenant_id = $tenant AND path = $path) AS taken
`,
);

export const basePathsQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  { path: MemoryPath }
>(
  'list_draft_base_paths',
  'SELECT path FROM draft_base WHERE tenant_id = $tenant AND path > $after ORDER BY path LIMIT $limit::integer',
);

export const titlesQuery = defineQuery<{ tenant: string }, { id: string; title: string; comments: string }>(
  'list_draft_titles',
  'SELECT id, title, comments::text AS comments FROM drafts WHERE tenant_id = $tenant',
);

/** Replaces a draft's title, and deletes its comments that have an ID in `comments`. */
export const setTitleQuery = defineQuery<{ tenant: string; id: string; title: string; comments: string[] }>(
  'set_draft_title',
  `
UPDATE drafts SET title = $title, comments = (
  SELECT coalesce(jsonb_agg(c.comment ORDER BY c.i), '[]'::jsonb)
  FROM jsonb_array_elements(comments) WITH ORDINALITY AS c (comment, i)
  WHERE NOT c.comment ->> 'id' = ANY ($comments::text[])
)
WHERE tenant_id = $tenant AND id = $id
`,
);

/** Counts the stored results that are not redacted. */
export const countResultsQuery = defineQuery<{ tenant: string; redacted: string }, { all: number }>(
  'count_results',
  `
SELECT count(*)::float8 AS "all" FROM idempotency_keys
WHERE tenant_id = $tenant AND (content <> $redacted OR request_hash <> '')
`,
);

export const listResultsQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  { key: string; content: string }
>(
  'list_results',
  `
SELECT key_hash AS key, content FROM idempotency_keys
WHERE tenant_id = $tenant AND key_hash > $after ORDER BY key_hash LIMIT $limit::bigint
`,
);

/*
 * List fields with names that an operator or a client chose, as JSON. The service compares the names, because `lower`
 * in SQL depends on the database's locale. The tables are distributed in three ways on Citus, so each has its own
 * statement.
 */

export const listNamesQuery = defineQuery<{ tenant: string }, { json: string }>(
  'list_names',
  `
SELECT jsonb_build_array(t.id, t.name, t.description, t.metadata, t.mounts)::text AS json
FROM tenants AS t WHERE t.id = $tenant
UNION ALL
SELECT jsonb_build_array(d.author, d.closed_by, jsonb_path_query_array(d.comments, '$[*].author'),
  jsonb_path_query_array(d.comments, '$[*].resolved.by'))::text
FROM drafts AS d WHERE d.tenant_id = $tenant
`,
);

export const listKeyNamesQuery = defineQuery<{ tenant: string }, { json: string }>(
  'list_key_names',
  `SELECT jsonb_build_array(k.label, k.source, k.rights)::text AS json FROM api_keys AS k WHERE k.tenant_id = $tenant`,
);

export const listEventTextsQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  { id: string; json: string }
>(
  'list_event_texts',
  `
SELECT a.id::text, jsonb_build_array(a.actor, a.details, a.request_id)::text AS json FROM audit_events AS a
WHERE a.tenant_id = $tenant AND a.id > $after::text::uuid ORDER BY a.id LIMIT $limit::bigint
`,
);
