import type { Database } from '../postgres/database.ts';
import { apply, type ChangeOptions, type Changes, change, isChange, plan } from './apply.ts';
import { checkComplete } from './history.ts';
import type { Target } from './plan.ts';
import { findTouched, readTouched, touchedDirectories } from './touched.ts';
import { type Conflict, judge, type Undo } from './undo.ts';

export interface Reverted extends Changes {
  conflicts: Conflict[];
}

/**
 * Undoes what an actor did since a time, and nothing else: a file goes back to what it was before the actor's latest changes. One that
 * somebody else changed since is left alone. Directories that the actor made and nothing is in any more go too, and those that it
 * removed come back. All at once; the tenant's writers wait meanwhile unless it is a dry run, readers do not.
 *
 * @param what.by as in the filter of versions (`VersionFilter`)
 * @throws HistoryIncomplete for a time before the history is complete
 * @throws OperatorError when the result would exceed the quota. `DatabaseError` otherwise.
 */
export function revert(
  database: Database,
  tenant: string,
  { by, since }: { by: string; since: string },
  options: ChangeOptions,
): Promise<Reverted> {
  return change(database, tenant, since, options, async (query, { from }) => {
    await checkComplete(query, tenant, from);
    const changes = { tenant, by, since: from };
    const touched = await findTouched(query, changes, options.onProgress ?? (() => {}));
    const conflicts: Conflict[] = [];
    const undone: Undo[] = [];
    for await (const file of readTouched(query, tenant, touched)) {
      const { conflict, undo } = judge(file);
      if (conflict !== undefined) conflicts.push(conflict);
      if (undo !== undefined) undone.push(undo);
    }
    // As if undone one after the other, the latest first: of two files that were at one path, the later one gets it.
    const targets = undone.filter(isChange).sort((a, b) => (a.at > b.at ? -1 : 1));
    const planned = await plan(query, tenant, targets, await touchedDirectories(query, changes, touched));
    for (const { target, at } of planned.blockedTargets) {
      conflicts.push({ ...fileOf(target), reason: 'occupied', at });
    }
    for (const { path, at } of planned.blockedDirectories) {
      conflicts.push({ memoryId: null, path, reason: 'occupied', at });
    }
    const made = await apply(query, tenant, planned, options, 'revert');
    return { ...made, conflicts: conflicts.sort((a, b) => ((a.path ?? '') < (b.path ?? '') ? -1 : 1)) };
  });
}

function fileOf({ memoryId, now, past }: Target) {
  return { memoryId, path: now?.path ?? past?.path ?? null };
}
