import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import type { History } from '../history/history.ts';
import { findAt, redactedAt, type TreeRow, treePageAt } from '../history/past.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { lookupFileQuery } from './read-queries.ts';

/** A page of the entries at a path and below it, in path order. The first page follows ''. */
const listTreeQuery = defineQuery<{ tenant: string; path: string; after: string; limit: number }, ListedRow>(
  'list_tree',
  `
SELECT path, kind, size_bytes AS bytes,
  extract(epoch FROM CASE kind WHEN 'dir' THEN changed_at ELSE updated_at END)::float8 AS modified
FROM entries WHERE tenant_id = $tenant AND path > $after AND memory_in_subtree(path, $path)
ORDER BY path LIMIT $limit
`,
);

/**
 * An entry of a listing; `modified` in seconds since 1970. That of a directory is when it came to its path, as in a
 * past tree.
 */
export interface ListedRow {
  path: string;
  kind: 'file' | 'dir';
  /** Null for a directory. */
  bytes: number | null;
  modified: number;
}

/** An entry of a listing. Files of the past tell which version they were. */
export interface ListedEntry extends ListedRow {
  versionId: string | null;
  memoryId: string | null;
}

/** Which part of a listing is asked for: at most `limit` entries after a path. */
export interface PageOfPaths {
  after: string;
  limit: number;
}

/**
 * Lists a page of what is at a path and below it, or was there at a time, without the root, which always exists. The
 * time of a past entry is that of the change that made it as it was.
 *
 * @throws ServiceError when there is nothing
 */
export async function listPage(
  { database, history }: { database: Database; history: History },
  tenant: string,
  { path, at }: { path: MemoryPath; at: string | undefined },
  { after, limit }: PageOfPaths,
): Promise<ListedEntry[]> {
  // Paths start with that of the root, so it is the first.
  const page = { after: path === ROOT && after === '' ? ROOT : after, limit };
  const entries =
    at === undefined
      ? (await readPage(database, tenant, path, page)).map((row) => ({
          ...row,
          versionId: null,
          memoryId: null,
        }))
      : (await treePageAt(history, tenant, path, at, page)).map(entryOf);
  if (entries.length === 0 && path !== ROOT && after === '') {
    throw at === undefined
      ? new ServiceError('nothing_at', tenant, path)
      : await nothingThen(history, tenant, path, at);
  }
  return entries;
}

async function readPage(database: Database, tenant: string, path: MemoryPath, page: PageOfPaths) {
  return (await database.query(listTreeQuery, { tenant, path, ...page })).rows;
}

function entryOf(row: TreeRow): ListedEntry {
  return {
    path: row.path,
    kind: row.versionId === null ? 'dir' : 'file',
    bytes: row.sizeBytes,
    modified: Date.parse(row.createdAt) / 1000,
    versionId: row.versionId,
    memoryId: row.memoryId,
  };
}

/** @throws ServiceError when there is no tenant, or no file */
export async function contentOf(database: Database, tenant: string, path: MemoryPath): Promise<string> {
  const [found] = (await database.query(lookupFileQuery, { tenant, path })).rows;
  if (!found?.tenantCreatedAt) throw new ServiceError('no_such_tenant', tenant);
  if (found.kind === 'file') return found.content ?? '';
  const isDirectory = found.kind === 'dir' || path === ROOT;
  throw new ServiceError(isDirectory ? 'is_directory' : 'nothing_at', tenant, path);
}

/** @throws ServiceError when there was no file */
export async function contentAt(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<string> {
  const found = await findAt(history, tenant, path, at);
  if (found.kind === 'file') return found.content;
  if (found.kind === 'dir') throw new ServiceError('was_directory', tenant, path, at);
  throw await nothingThen(history, tenant, path, at);
}

/**
 * The error for a path at which nothing is known to have been. A redacted file has no path, so it may have been
 * there.
 */
export async function nothingThen(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<ServiceError> {
  const redacted = (await redactedAt(history, tenant, at)).length;
  return new ServiceError('nothing_at_time', tenant, path, at, redacted);
}
