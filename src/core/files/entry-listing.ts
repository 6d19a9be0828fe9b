import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import type { History } from '../history/history.ts';
import { type EntryRow, findAt, redactedAt, treePageAt } from '../history/past.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { lookupFileQuery } from './read-queries.ts';

/** Reads the entries at a path and below it, one page at a time, ordered by path. The first page is after ''. */
const listTreeQuery = defineQuery<{ tenant: string; path: string; after: string; limit: number }, EntryRow>(
  'list_tree',
  `
SELECT path, kind, size_bytes AS bytes,
  ${time("CASE kind WHEN 'dir' THEN changed_at ELSE updated_at END")} AS modified,
  NULL::uuid AS "versionId", NULL::uuid AS "memoryId"
FROM entries WHERE tenant_id = $tenant AND path > $after AND memory_in_subtree(path, $path)
ORDER BY path LIMIT $limit
`,
);

/** A page from a listing: at most `limit` entries after the path `after`. */
export interface PageOfPaths {
  after: string;
  limit: number;
}

/**
 * Lists the entries at a path and below it, now or at a time, one page per call. The root is omitted, because it always
 * exists. A past entry's time is the time of its last change before `at`.
 *
 * @throws ServiceError when the path does not exist
 */
export async function listPage(
  { database, history }: { database: Database; history: History },
  tenant: string,
  { path, at }: { path: MemoryPath; at: string | undefined },
  { after, limit }: PageOfPaths,
): Promise<EntryRow[]> {
  // All other paths start with the root, so the root sorts first.
  const page = { after: path === ROOT && after === '' ? ROOT : after, limit };
  const entries =
    at === undefined
      ? (await database.query(listTreeQuery, { tenant, path, ...page })).rows
      : await treePageAt(history, tenant, path, at, page);
  if (entries.length === 0 && path !== ROOT && after === '') {
    throw at === undefined
      ? new ServiceError('nothing_at', tenant, path)
      : await explainAbsence(history, tenant, path, at);
  }
  return entries;
}

/** @throws ServiceError when the tenant or the file does not exist */
export async function readContent(database: Database, tenant: string, path: MemoryPath): Promise<string> {
  const [found] = (await database.query(lookupFileQuery, { tenant, path })).rows;
  if (found?.kind === 'file') return found.content ?? '';
  if (!found?.tenantCreatedAt) await requireTenant(database, tenant);
  const isDirectory = found?.kind === 'dir' || path === ROOT;
  throw new ServiceError(isDirectory ? 'is_directory' : 'nothing_at', tenant, path);
}

/** @throws ServiceError when the file did not exist */
export async function contentAt(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<string> {
  const found = await findAt(history, tenant, path, at);
  if (found.kind === 'file') return found.content;
  if (found.kind === 'dir') throw new ServiceError('was_directory', tenant, path, at);
  throw await explainAbsence(history, tenant, path, at);
}

/**
 * Returns the error for a path that is not known to have existed at a time. The error counts redacted files, because a
 * redacted file has no path and may have been there.
 */
export async function explainAbsence(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<ServiceError> {
  const redacted = (await redactedAt(history, tenant, at)).length;
  return new ServiceError('nothing_at_time', tenant, path, at, redacted);
}
