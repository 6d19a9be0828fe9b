import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { readPages } from '../lib/pages.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { History } from './history.ts';
import { shownTime } from './time-text.ts';
import { AFTER, COLUMNS, COVERS, type Version, type VersionRow, versionOf } from './version.ts';

/* A memory as it was at a time. What was changed at that very time counts. */

/** Later than every change. */
export const NOW = 'infinity';

const PAGE = 500;

/**
 * Since when a tenant's history is complete, if that is later than `at`. Before the tenant existed, there was nothing
 * to miss.
 */
const findGapQuery = defineQuery<{ tenant: string; at: string }, { since: string }>(
  'find_gap',
  `
SELECT ${time('history_since')} AS since FROM tenants
WHERE id = $tenant AND history_since > $at::text::timestamptz AND created_at <= $at::text::timestamptz
`,
);

/** What was asked for may have been at that time, but the history does not reach back that far. */
export function historyIncomplete(tenant: string, since: string): ServiceError {
  return new ServiceError('history_incomplete', tenant, shownTime(since));
}

/** @throws ServiceError when a file that there was at `at` may be missing in the history. */
export async function checkComplete(query: QueryExecutor, tenant: string, at: string): Promise<void> {
  const [gap] = (await query(findGapQuery, { tenant, at })).rows;
  if (gap !== undefined) throw historyIncomplete(tenant, gap.since);
}

const findStartQuery = defineQuery<{ tenant: string }, { since: string }>(
  'find_start',
  `SELECT ${time('history_since')} AS since FROM tenants WHERE id = $tenant`,
);

/**
 * The earliest moment that can be read.
 *
 * @throws ServiceError when there is no such tenant
 */
export async function historyStart(query: QueryExecutor, tenant: string): Promise<string> {
  const [row] = (await query(findStartQuery, { tenant })).rows;
  if (row === undefined) throw new ServiceError('unknown_tenant', tenant);
  return row.since;
}

/**
 * The version of the file that was at a path at a time: the last one there. Deletions do not count: one change may
 * delete a file and put another in its place.
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

/** Whether there was a directory at a path at a time. The root is none: it is always there. */
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
 * What was at a path at a time.
 *
 * @throws ServiceError when nothing is known to have been there, at a time before the history is complete
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
    const version = versionOf(row);
    const content = await history.content(tenant, version);
    if (content !== null) return { kind: 'file', version, content };
  } else if (path === ROOT || (await history.query(findDirectoryAtQuery, params)).rows.length > 0) {
    return { kind: 'dir' };
  }
  await checkComplete(history.query, tenant, at);
  return { kind: 'missing' };
}

/** An entry of a past tree: a file's version, or a directory, of which only the path and the time are told. */
export interface TreeRow {
  path: string;
  /** Null for a directory. */
  versionId: string | null;
  memoryId: string | null;
  sizeBytes: number | null;
  /** Since when the entry was as it is told here. */
  createdAt: string;
}

/** A page of what was at a path and below it at a time, in the order of the paths. The first page comes after ''. */
const listTreeAtQuery = defineQuery<
  { tenant: string; path: string; at: string; after: string; limit: number },
  TreeRow
>(
  'list_tree_at',
  `
SELECT t.path, t.version_id AS "versionId", t.memory_id AS "memoryId",
  t.size_bytes AS "sizeBytes", ${time('t.created_at')} AS "createdAt"
FROM (
  SELECT v.path, v.id AS version_id, v.memory_id, v.size_bytes, v.created_at FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.path > $after AND memory_in_subtree(v.path, $path)
    AND ${COVERS('v.created_at', 'v.superseded_at', '$at')}
  UNION ALL
  SELECT d.path, NULL, NULL, NULL, d.created_at FROM memory_directories AS d
  WHERE d.tenant_id = $tenant AND d.path > $after AND memory_in_subtree(d.path, $path)
    AND ${COVERS('d.created_at', 'd.removed_at', '$at')}
) AS t
ORDER BY t.path LIMIT $limit::integer
`,
);

/**
 * What was at a path and below it at a time, files and directories, without the root, in the order of the paths, read
 * page by page. Redacted files have no path, so they are left out: see `redactedAt`.
 *
 * @throws ServiceError for a time before the history is complete
 */
export async function* treeAt(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): AsyncGenerator<TreeRow> {
  yield* readPages<TreeRow>(
    (last) => treePageAt(history, tenant, path, at, { after: last?.path ?? '', limit: PAGE }),
    PAGE,
  );
}

/** A page of `treeAt`: at most `limit` entries after a path. */
export async function treePageAt(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
  page: { after: string; limit: number },
): Promise<TreeRow[]> {
  const { rows } = await history.query(listTreeAtQuery, { tenant, path, at, ...page });
  // Checked afterwards, because versions that were pruned while the page was read may be missing in it.
  await checkComplete(history.query, tenant, at);
  return rows;
}

/**
 * The versions that a past tree lacks because they were redacted: their paths are gone. Only superseded versions are
 * redacted, and only these are in `versions_redacted`, the index that this reads.
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

/** The ids of the versions that were live at a time, and are redacted now. */
export async function redactedAt(history: History, tenant: string, at: string): Promise<string[]> {
  return (await history.query(listRedactedAtQuery, { tenant, at })).rows.map(({ id }) => id);
}
