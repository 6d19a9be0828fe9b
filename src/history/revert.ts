import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { changeOrTry } from '../postgres/dry-run.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { apply, type ChangeOptions, type Changes, isChange, plan } from './apply.ts';
import { checkComplete } from './history.ts';
import type { Target } from './plan.ts';
import { findHeadsQuery, lockForRestoreQuery } from './restore-queries.ts';
import { listDirectoriesSinceQuery, listSinceQuery, listTouchedQuery } from './revert-queries.ts';
import { type Conflict, judge, type TouchedFile, touchedDirectories } from './undo.ts';

export interface Reverted extends Changes {
  conflicts: Conflict[];
}

/**
 * Undoes what an actor did since a time, and nothing else: a file goes back to what it was before the actor's latest changes. One that
 * somebody else changed since is left alone. Directories that the actor made and nothing is in any more go too, and those that it
 * removed come back. All at once; the tenant's writers wait meanwhile, readers do not.
 *
 * @param change.by as in the filter of versions (`VersionFilter`)
 * @throws HistoryIncomplete for a time before the history is complete
 * @throws OperatorError when the result would exceed the quota. `DatabaseError` otherwise.
 */
export function revert(
  database: Database,
  tenant: string,
  { by, since }: { by: string; since: string },
  options: ChangeOptions,
): Promise<Reverted> {
  return changeOrTry(database, options.dryRun ?? false, async (query) => {
    const [locked] = (await query(lockForRestoreQuery, { tenant, time: since })).rows;
    if (locked === undefined) throw new ServiceError('unknown_tenant', tenant);
    await checkComplete(query, tenant, locked.from);

    const files = await touchedFiles(query, tenant, by, locked.from);
    const judged = files.map(judge);
    const conflicts = judged.flatMap(({ conflict }) => conflict ?? []);
    // As if undone one after the other, the latest first: of two files that were at one path, the later one gets it.
    const targets = judged.flatMap(({ undo }) => undo ?? []).sort((a, b) => (a.at > b.at ? -1 : 1));
    const { rows } = await query(listDirectoriesSinceQuery, { tenant, since: locked.from });
    const directories = touchedDirectories(rows, changeTimes(files));
    const planned = await plan(query, tenant, targets.filter(isChange), directories);
    for (const { target, at } of planned.blockedTargets) {
      conflicts.push({ ...fileOf(target), reason: 'occupied', at });
    }
    for (const { path, at } of planned.blockedDirectories) {
      conflicts.push({ memoryId: null, path, reason: 'occupied', at });
    }
    const changes = await apply(query, tenant, planned, options, 'revert');
    return { ...changes, conflicts: conflicts.sort((a, b) => ((a.path ?? '') < (b.path ?? '') ? -1 : 1)) };
  });
}

/** The files that the actor has changed since then, each with its versions. */
async function touchedFiles(
  query: QueryExecutor,
  tenant: string,
  by: string,
  since: string,
): Promise<TouchedFile[]> {
  const memoryIds = (await query(listTouchedQuery, { tenant, by, since })).rows.map((row) => row.memoryId);
  const past = (await query(listSinceQuery, { tenant, memoryIds, by, since })).rows;
  const heads = (await query(findHeadsQuery, { tenant, memoryIds, by })).rows;
  const files = new Map<string, TouchedFile>(
    memoryIds.map((memoryId) => [memoryId, { memoryId, versions: [], isLive: false }]),
  );
  for (const version of [...past.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)), ...heads]) {
    const isTheirs = version.isTheirs && version.createdAt >= since;
    files.get(version.memoryId)?.versions.push({ ...version, isTheirs });
  }
  for (const { memoryId } of heads) {
    const file = files.get(memoryId);
    if (file !== undefined) file.isLive = true;
  }
  return [...files.values()];
}

/** The changes of a tenant have different times, so these say which changes are the actor's. */
function changeTimes(files: readonly TouchedFile[]): Set<string> {
  const theirs = files.flatMap(({ versions }) => versions.filter(({ isTheirs }) => isTheirs));
  return new Set(theirs.map(({ createdAt }) => createdAt));
}

function fileOf({ memoryId, now, past }: Target) {
  return { memoryId, path: now?.path ?? past?.path ?? null };
}
