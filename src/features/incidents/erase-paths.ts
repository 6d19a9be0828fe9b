import { randomUUID } from 'node:crypto';
import type { Database } from '../../core/database/database.ts';
import type { QueryExecutor } from '../../core/database/query.ts';
import { readPages } from '../../core/lib/pages.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import { storedActor, storedOrigin } from '../../core/memory/origin.ts';
import { type MemoryPath, parentPath, ROOT } from '../../core/memory/path.ts';
import { lockTenantQuery } from '../../core/tenants/queries.ts';
import type { Erasure, Store } from './erase-files.ts';
import { listErasedPaths, pathContains, pathsToRename } from './erase-path.ts';
import {
  basePathsQuery,
  eraseBasePathQuery,
  erasePathQuery,
  forgetPathsQuery,
  isTakenQuery,
  redactBelowQuery,
  subtreeQuery,
} from './erase-queries.ts';
import type { Counts } from './jobs.ts';

/* Renames the files and directories in one tenant or draft whose paths contain an erased text. */

const VERSIONS_A_CALL = 500;
const BASE_PAGE = 2000;

/**
 * Renames current files and directories, and redacts their versions at the old paths. Each rename is one
 * transaction.
 *
 * @param hits paths that contain the text
 * @returns the number of paths that could not be renamed
 */
export async function renamePaths(
  database: Database,
  store: Store,
  hits: readonly MemoryPath[],
  erasure: Erasure,
): Promise<number> {
  const counted = store.isDraft ? 'drafts' : 'paths';
  const renamed = new RenamedPaths();
  let left = 0;
  let clean = 0;
  for await (const hit of timeSliced(pathsToRename(hits, erasure.erased))) {
    const path = renamed.currentPath(hit);
    if (!pathContains(`${path}/`, erasure.erased)) {
      // A directory above the path was renamed.
      clean++;
      continue;
    }
    const to = await renamePath(database, store, path, erasure, { [counted]: clean + 1 });
    if (to === 'missing') continue;
    if (to === null) {
      left++;
      continue;
    }
    clean = 0;
    renamed.add(hit, to);
  }
  if (clean > 0) await erasure.count(database.query, { [counted]: clean });
  return left;
}

/** @returns the new path, or null if every name is too long or contains the text */
function renamePath(
  database: Database,
  store: Store,
  path: MemoryPath,
  erasure: Erasure,
  more: Counts,
): Promise<MemoryPath | 'missing' | null> {
  const tenant = store.id;
  const by = storedActor(erasure.origin.actor);
  return database.transaction(async (query) => {
    if ((await query(lockTenantQuery, { tenant })).rows.length === 0) return 'missing';
    const [found] = (await query(subtreeQuery, { tenant, path })).rows;
    if (found === undefined || found.kind === null || found.longest === null) return 'missing';
    if (found.kind === 'file' && !pathContains(path, erasure.erased)) return 'missing';
    const to = await freePath(query, tenant, path, erasure, found.longest);
    if (to === undefined) return null;
    const { historyDays, maxHistoryBytes } = erasure.defaults;
    const change = randomUUID();
    const origin = store.isDraft ? null : storedOrigin(erasure.origin);
    await query(erasePathQuery, { tenant, from: path, to, change, origin, historyDays, maxHistoryBytes });
    for (let redacted = VERSIONS_A_CALL; redacted === VERSIONS_A_CALL; ) {
      const [done] = (await query(redactBelowQuery, { tenant, path, limit: VERSIONS_A_CALL, by })).rows;
      redacted = Number(done?.redacted ?? 0);
    }
    await query(forgetPathsQuery, { tenant, paths: [path], below: true });
    await erasure.count(query, more);
    return to;
  });
}

/** Returns the first new path that no other entry has. */
async function freePath(
  query: QueryExecutor,
  tenant: string,
  path: MemoryPath,
  { erased }: Erasure,
  longest: number,
): Promise<MemoryPath | undefined> {
  for (const to of listErasedPaths(path, erased, longest)) {
    if (!(await query(isTakenQuery, { tenant, path: to })).rows[0]?.taken) return to;
  }
  return undefined;
}

/**
 * Renames the paths in a draft's base that the draft no longer has.
 *
 * @returns the number of paths that could not be renamed
 */
export async function renameBasePaths(
  database: Database,
  { id: tenant }: Store,
  erasure: Erasure,
): Promise<number> {
  const hits: MemoryPath[] = [];
  const paths = readPages<{ path: MemoryPath }>(async (last) => {
    const page = { tenant, after: last?.path ?? '', limit: BASE_PAGE };
    return (await database.query(basePathsQuery, page)).rows;
  }, BASE_PAGE);
  for await (const { path } of timeSliced(paths)) if (pathContains(path, erasure.erased)) hits.push(path);
  const renamed = new RenamedPaths();
  let left = 0;
  for (const hit of pathsToRename(hits, erasure.erased)) {
    const from = renamed.currentPath(hit);
    if (!pathContains(`${from}/`, erasure.erased)) continue;
    await database.transaction(async (query) => {
      if ((await query(lockTenantQuery, { tenant })).rows.length === 0) return;
      const longest = (await query(subtreeQuery, { tenant, path: from })).rows[0]?.longest ?? 0;
      const to = await freePath(query, tenant, from, erasure, longest);
      if (to === undefined) {
        left++;
        return;
      }
      await query(eraseBasePathQuery, { tenant, from, to });
      renamed.add(hit, to);
    });
  }
  return left;
}

/** Renames so far, to find an entry's current path. Directories are renamed before their contents. */
class RenamedPaths {
  readonly #paths = new Map<MemoryPath, MemoryPath>([[ROOT, ROOT]]);

  add(path: MemoryPath, to: MemoryPath): void {
    this.#paths.set(path, to);
  }

  currentPath(path: MemoryPath): MemoryPath {
    const known = this.#paths.get(path);
    if (known !== undefined) return known;
    const parent = parentPath(path);
    if (parent === undefined) return path;
    return `${this.currentPath(parent)}/${path.slice(parent.length + 1)}` as MemoryPath;
  }
}
