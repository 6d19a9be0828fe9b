import { ServiceError } from '../errors.ts';
import { History } from '../history/history.ts';
import { checkComplete, hadDirectory } from '../history/past.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import {
  type ChildAtRow,
  type ChildRow,
  listChildDirectoriesAtQuery,
  listChildDirectoriesQuery,
  listChildFilesAtQuery,
  listChildFilesQuery,
} from './directory-queries.ts';
import { nothingThen } from './listing.ts';

/** Later than every change. */
const NOW = 'infinity';

/** A directory, now or at a time. */
export interface Place {
  tenant: string;
  path: MemoryPath;
  /** ISO 8601; undefined is now. */
  at: string | undefined;
}

/** Where a page begins: the directories of a directory come first, then its files, each in the order of the paths. */
export interface Position {
  section: 'directories' | 'files';
  /** The first path to look at. */
  from: string;
}

/**
 * Lists a page of what is in a directory, or was at a past time, examining up to `limit` paths. A page may have fewer entries, even
 * none, where many were deleted.
 *
 * @param position `next` of the page before; null for the first page
 * @throws ServiceError when there is no such directory
 * @throws ServiceError for a time before the history is complete
 */
export async function listDirectory(
  database: Database,
  place: Place,
  position: Position | null,
  limit: number,
): Promise<{ entries: ChildRow[]; next: Position | null }> {
  if (position === null) await checkDirectory(database, place);
  const first = `${place.path}/`;
  let { section, from } = position ?? { section: 'directories' as const, from: first };
  from = within(place.path, from);
  const entries: ChildRow[] = [];
  let left = limit;
  let next: Position | null = null;
  if (section === 'directories') {
    const rows = await childrenOf(database, place, { section, from }, left);
    entries.push(...rows.filter((row) => isEntry(row, place.path, 'dir')));
    left -= rows.length;
    if (left === 0) next = { section, from: pathAfter(place.path, rows.at(-1)?.path ?? from) };
    section = 'files';
    from = first;
  }
  if (next === null) {
    const rows = await childrenOf(database, place, { section, from }, left);
    entries.push(...rows.filter((row) => isEntry(row, place.path, 'file')));
    if (rows.length === left) next = { section, from: pathAfter(place.path, rows.at(-1)?.path ?? from) };
  }
  // Checked afterwards, because versions that were pruned while the page was read may be missing in it.
  if (place.at !== undefined) await checkComplete(database.query, place.tenant, place.at);
  return { entries, next };
}

async function childrenOf(
  database: Database,
  { tenant, path, at }: Place,
  { section, from }: Position,
  limit: number,
): Promise<ChildAtRow[]> {
  const params = { tenant, path, from, limit };
  const areFiles = section === 'files';
  if (at === undefined) {
    return (await database.query(areFiles ? listChildFilesQuery : listChildDirectoriesQuery, params)).rows;
  }
  const query = areFiles ? listChildFilesAtQuery : listChildDirectoriesAtQuery;
  return (await database.query(query, { ...params, at })).rows;
}

const isChild = (directory: string, path: string) => !path.includes('/', directory.length + 1);

function isEntry(row: ChildAtRow, directory: string, kind: ChildRow['kind']): row is ChildRow {
  return row.kind === kind && isChild(directory, row.path);
}

/** The first path that a child after this one can have: `PATH_AFTER` (directory-queries.ts). */
function pathAfter(directory: string, path: string): string {
  if (isChild(directory, path)) return `${path}\u0001`;
  return `${path.slice(0, path.indexOf('/', directory.length + 1))}0`;
}

/** The path itself if it is below the directory, else the first one that could be. */
export function within(directory: string, path: string): string {
  return path.startsWith(`${directory}/`) ? path : `${directory}/`;
}

/** @throws ServiceError when there is, or was, no such directory */
export async function checkDirectory(database: Database, { tenant, path, at }: Place): Promise<void> {
  if (path === ROOT) return;
  const history = new History(database);
  if (await hadDirectory(history, tenant, path, at ?? NOW)) return;
  if (at === undefined) throw new ServiceError('nothing_at', tenant, path);
  await checkComplete(database.query, tenant, at);
  throw await nothingThen(history, tenant, path, at);
}
