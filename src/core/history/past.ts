import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { History } from './history.ts';
import { displayTime } from './time-text.ts';
import { AFTER, COLUMNS, COVERS, toVersion, type Version, type VersionRow } from './version.ts';

/* Reads a memory as it was at a time. Changes made at exactly that time are included. */

/** A time later than every change. */
export const NOW = 'infinity';

/**
 * Finds when a tenant's complete history starts, if the start is later than `at`. Times before the tenant's creation
 * have no gap, because no file existed then.
 */
const findGapQuery = defineQuery<{ tenant: string; at: string }, { since: string }>(
  'find_gap',
  `
SELECT ${time('history_since')} AS since FROM tenants
WHERE id = $tenant AND history_since > $at::text::timestamptz AND created_at <= $at::text::timestamptz
`,
);

/** Creates the error for a time at which files may be missing from the history. */
export function historyIncomplete(tenant: string, since: string): ServiceError {
  return new ServiceError('history_incomplete', tenant, displayTime(since));
}

/** @throws ServiceError if files that existed at `at` may be missing from the history */
export async function checkComplete(query: QueryExecutor, tenant: string, at: string): Promise<void> {
  const [gap] = (await query(findGapQuery, { tenant, at })).rows;
  if (gap !== undefined) throw historyIncomplete(tenant, gap.since);
}

const findStartQuery = defineQuery<{ tenant: string }, { since: string }>(
  'find_start',
  `SELECT ${time('history_since')} AS since FROM tenants WHERE id = $tenant`,
);

/**
 * Returns the earliest time that can be read.
 *
 * @throws ServiceError if the tenant does not exist
 */
export async function historyStart(query: QueryExecutor, tenant: string): Promise<string> {
  const [row] = (await query(findStartQuery, { tenant })).rows;
  if (row === undefined) throw new ServiceError('unknown_tenant', tenant);
  return row.since;
}

/**
 * Finds the version that was current at a path and time. Deletions are ignored, because one change may delete a file
 * and put another file at its path.
 */
const findVersionAtQuery = defineQuery<{ tenant: string; path: string; at: string }, VersionRow>(
  'find_version_at',
  `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.path = $path AND v.operation <> 'deleted' AND v.id < ${AFTER('$at')}
  ORDER BY v.id DESC LIMIT 1
) AS v
WHERE ${COVERS('v.created_at', 'v.superseded_at', '$at')}
`,
);

const findDirectoryAtQuery = defineQuery<{ tenant: string; path: string; at: string }, { path: string }>(
  'find_directory_at',
  `
SELECT d.path FROM memory_directories AS d
WHERE d.tenant_id = $tenant AND d.path = $path AND ${COVERS('d.created_at', 'd.removed_at', '$at')}
`,
);

/**
 * Whether a directory existed at a path and time. The root always exists but is not recorded, so the result for it is
 * false.
 */
export async function hadDirectory(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<boolean> {
  return (await history.query(findDirectoryAtQuery, { tenant, path, at })).rows.length > 0;
}

export type FoundAt =
  | { kind: 'file'; version: Version; content: string }
  | { kind: 'dir' }
  | { kind: 'missing' };

/**
 * Finds the entry at a path and time.
 *
 * @throws ServiceError if no entry is found and the history is incomplete at that time
 */
export async function findAt(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<FoundAt> {
  const params = { tenant, path, at };
  const [row] = (await history.query(findVersionAtQuery, params)).rows;
  if (row !== undefined) {
    const version = toVersion(row);
    const content = await history.content(tenant, version);
    if (content !== null) return { kind: 'file', version, content };
  } else if (path === ROOT || (await history.query(findDirectoryAtQuery, params)).rows.length > 0) {
    return { kind: 'dir' };
  }
  await checkComplete(history.query, tenant, at);
  return { kind: 'missing' };
}

/** An entry in a listing, now or at a past time. */
export interface EntryRow {
  path: string;
  kind: 'file' | 'dir';
  /** Null for a directory. */
  bytes: number | null;
  /**
   * ISO 8601. For a past file, the version's time; for a directory, when it was created at or moved to the path.
   */
  modified: string;
  /** Only for a past file. */
  versionId: string | null;
  /** Only for a past file. */
  memoryId: string | null;
}

const listTreeAtQuery = defineQuery<
  { tenant: string; path: string; at: string; after: string; limit: number },
  EntryRow
>(
  'list_tree_at',
  `
SELECT t.path, t.kind, t.size_bytes AS bytes, ${time('t.created_at')} AS modified, t.version_id AS "versionId",
  t.memory_id AS "memoryId"
FROM (
  SELECT v.path, 'file' AS kind, v.id AS version_id, v.memory_id, v.size_bytes, v.created_at FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.path > $after AND memory_in_subtree(v.path, $path)
    AND ${COVERS('v.created_at', 'v.superseded_at', '$at')}
  UNION ALL
  SELECT d.path, 'dir', NULL, NULL, NULL, d.created_at FROM memory_directories AS d
  WHERE d.tenant_id = $tenant AND d.path > $after AND memory_in_subtree(d.path, $path)
    AND ${COVERS('d.created_at', 'd.removed_at', '$at')}
) AS t
ORDER BY t.path LIMIT $limit::integer
`,
);

/**
 * Reads a page of the files and directories at or below a path at a time, without the root, ordered by path. The first
 * page is after ''. Redacted versions have no path and are omitted: see `redactedAt`.
 *
 * @throws ServiceError if the history is incomplete at that time
 */
export async function treePageAt(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
  page: { after: string; limit: number },
): Promise<EntryRow[]> {
  const { rows } = await history.query(listTreeAtQuery, { tenant, path, at, ...page });
  // Checked after the read, because versions pruned during the read may be missing from the page.
  await checkComplete(history.query, tenant, at);
  return rows;
}

/**
 * Lists the versions that a past tree omits because they were redacted and have no path. Reads the index
 * `versions_redacted`. Only superseded versions can be redacted.
 */
const listRedactedAtQuery = defineQuery<{ tenant: string; at: string }, { id: string }>(
  'list_redacted_at',
  `
SELECT v.id FROM versions AS v
WHERE v.tenant_id = $tenant AND v.redacted_at IS NOT NULL
  AND v.created_at <= $at::text::timestamptz AND v.superseded_at > $at::text::timestamptz
ORDER BY v.created_at, v.id
`,
);

/** Lists the IDs of versions that were current at a time and have been redacted since. */
export async function redactedAt(history: History, tenant: string, at: string): Promise<string[]> {
  return (await history.query(listRedactedAtQuery, { tenant, at })).rows.map(({ id }) => id);
}
