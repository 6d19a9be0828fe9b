import type { OverQuota, Quotas } from '../memory/store.ts';
import { defineQuery } from '../postgres/query.ts';

/** Maximum size of a batch or page. A single file may have more bytes. */
export const BATCH = { rows: 500, bytes: 4 * 1024 * 1024 } as const;

// As a number, because the drivers parse timestamps differently.
const SECONDS = 'extract(epoch FROM updated_at)::float8 AS modified';

/** An entry of a listing; `modified` in seconds since 1970. That of a directory is when it came to its path, as in a past tree. */
export interface ListedRow {
  path: string;
  kind: 'file' | 'dir';
  /** Null for a directory. */
  bytes: number | null;
  modified: number;
}

/** A page of the entries at a path and below it, in path order. The first page follows ''. */
export const listTreeQuery = defineQuery<
  { tenant: string; path: string; after: string; limit: number },
  ListedRow
>(
  'list_tree',
  ['tenant', 'path', 'after', 'limit'],
  `
SELECT path, kind, size_bytes AS bytes,
  extract(epoch FROM CASE kind WHEN 'dir' THEN changed_at ELSE updated_at END)::float8 AS modified
FROM entries WHERE tenant_id = $1 AND path > $3 AND memory_in_subtree(path, $2)
ORDER BY path LIMIT $4
`,
);

/** The entry at a path, with its content if it is a file. */
export const findEntryQuery = defineQuery<
  { tenant: string; path: string },
  { kind: 'file'; content: string } | { kind: 'dir'; content: null }
>('find_entry', ['tenant', 'path'], 'SELECT kind, content FROM entries WHERE tenant_id = $1 AND path = $2');

export interface ExportedFileRow {
  path: string;
  content: string;
  modified: number;
}

/**
 * A page of files in path order: at most `limit`, stopping once they exceed `bytes`, but at least one if there is one.
 */
export const exportFilesQuery = defineQuery<
  { tenant: string; after: string; limit: number; bytes: number },
  ExportedFileRow
>(
  'export_files',
  ['tenant', 'after', 'limit', 'bytes'],
  `
SELECT path, content, modified FROM (
  SELECT path, content, ${SECONDS}, sum(size_bytes) OVER (ORDER BY path) - size_bytes AS before FROM entries
  WHERE tenant_id = $1 AND kind = 'file' AND path > $2 ORDER BY path LIMIT $3
) AS page
WHERE before < $4::bigint ORDER BY path
`,
);

export interface ExportedDirectoryRow {
  path: string;
  modified: number;
}

/** A page of directories in reverse path order, so that a directory comes after its subdirectories. */
export const exportDirectoriesQuery = defineQuery<
  { tenant: string; before: string; limit: number },
  ExportedDirectoryRow
>(
  'export_directories',
  ['tenant', 'before', 'limit'],
  `
SELECT dir_path AS path, ${SECONDS} FROM entries
WHERE tenant_id = $1 AND dir_path < $2 ORDER BY dir_path DESC LIMIT $3
`,
);

/**
 * Disables the timeout of an idle transaction, for a transaction whose rows go to a reader that may be slow.
 */
export const waitForReaderQuery = defineQuery<Record<string, never>>(
  'wait_for_reader',
  [],
  "SELECT set_config('idle_in_transaction_session_timeout', '0', true)",
);

/** Which of `paths` exist. */
export const findPathsQuery = defineQuery<
  { tenant: string; paths: string[] },
  { path: string; kind: 'file' | 'dir' }
>(
  'find_paths',
  ['tenant', 'paths'],
  'SELECT path, kind FROM entries WHERE tenant_id = $1 AND path = ANY ($2::text[])',
);

// The following belong to one change (`beginChangeQuery`) at the time `at`, which has checked that nothing conflicts.

/** Creates the missing directories and returns their paths. The parent of each exists or is among them. */
export const importDirectoriesQuery = defineQuery<
  { tenant: string; paths: string[]; modified: string[]; at: string },
  { path: string }
>(
  'import_directories',
  ['tenant', 'paths', 'modified', 'at'],
  `
INSERT INTO entries AS e (tenant_id, path, parent_path, kind, updated_at, changed_at)
SELECT $1, d.path, memory_parent(d.path), 'dir', d.modified::timestamptz, $4::timestamptz
FROM unnest($2::text[], $3::text[]) AS d (path, modified)
ON CONFLICT (tenant_id, path) DO NOTHING
RETURNING e.path
`,
);

/** Creates files in existing directories. */
export const importFilesQuery = defineQuery<{
  tenant: string;
  paths: string[];
  contents: string[];
  versions: string[];
  modified: string[];
  at: string;
  origin: string;
}>(
  'import_files',
  ['tenant', 'paths', 'contents', 'versions', 'modified', 'at', 'origin'],
  `
INSERT INTO entries AS e (
  tenant_id, path, parent_path, kind, content, version, memory_id, operation, updated_at, changed_at, origin
)
SELECT $1, f.path, memory_parent(f.path), 'file', f.content, f.id, f.id, 'created', f.modified::timestamptz, $6::timestamptz,
  $7::text::jsonb
FROM (
  SELECT *, memory_version_id(memory_id_prefix($6::timestamptz), version::uuid) AS id
  FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS given (path, content, version, modified)
) AS f
`,
);

/** Adds to the usage of a tenant, or returns the quota that this would exceed. */
export const reserveQuery = defineQuery<
  { tenant: string; files: number; directories: number; bytes: number } & Quotas,
  { exceeded: Omit<OverQuota, 'kind'> | null }
>(
  'reserve',
  ['tenant', 'files', 'directories', 'bytes', 'maxFiles', 'maxBytes'],
  'SELECT memory_reserve($1, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint) AS exceeded',
);
