import { actorText } from '../memory/origin.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { time } from '../postgres/time-column.ts';
import { readPages } from '../util/pages.ts';
import { timeSliced, timeSlicedSort } from '../util/time-slice.ts';
import { apply, type ChangeOptions, changeTenant, isChange, planChange, readTimes } from './apply.ts';
import type { Changes } from './changes.ts';
import { checkComplete, NOW } from './past.ts';
import type { Target } from './plan.ts';
import {
  type ActorChanges,
  type Conflict,
  findTouched,
  isTheirs,
  planUndo,
  ROWS_A_PAGE,
  readTouched,
  type Touched,
  type Undo,
} from './revert-files.ts';
import { shownTime } from './time-text.ts';

export interface Reverted extends Changes {
  conflicts: Conflict[];
}

/**
 * Undoes what an actor did since a time, or between two times, and nothing else: a file goes back to what it was before the actor's
 * latest changes. One that somebody else changed since is left alone. Directories that the actor made and nothing is in any more go too, and those that it
 * removed come back. All at once; the tenant's writers wait meanwhile unless it is a dry run, readers do not.
 *
 * @param what.by as in the filter of versions (`VersionFilter`)
 * @param what.until by default now; what the actor did after that counts like what others did
 * @throws ServiceError for a time before the history is complete, and when the result would exceed the quota
 */
export function revert(
  database: Database,
  tenant: string,
  { by, since, until = NOW }: { by: string; since: string; until?: string | undefined },
  options: ChangeOptions,
): Promise<Reverted> {
  return changeTenant(database, tenant, options, async (query) => {
    const { from } = await readTimes(query, tenant, since);
    await checkComplete(query, tenant, from);
    const changes = { tenant, by, since: from, until };
    const touched = await findTouched(query, changes, options.onProgress ?? (() => {}));
    const conflicts: Conflict[] = [];
    const undone: Undo[] = [];
    for await (const file of timeSliced(readTouched(query, tenant, touched))) {
      const { conflict, undo } = planUndo(file);
      if (conflict !== undefined) conflicts.push(conflict);
      if (undo !== undefined) undone.push(undo);
    }
    // As if undone one after the other, the latest first: of two files that were at one path, the later one gets it.
    const targets = await timeSlicedSort(undone.filter(isChange), (a, b) =>
      a.startedAt > b.startedAt ? -1 : 1,
    );
    const directories = await touchedDirectories(query, changes, touched);
    const plan = await planChange(query, tenant, targets, directories);
    for (const { target, blockedBy } of plan.blockedTargets) {
      conflicts.push({ ...fileOf(target), reason: 'occupied', at: blockedBy });
    }
    for (const { path, blockedBy } of plan.blockedDirectories) {
      conflicts.push({ memoryId: null, path, reason: 'occupied', at: blockedBy });
    }
    const made = await apply(query, tenant, plan, options, 'revert');
    const byPath = (a: Conflict, b: Conflict) => ((a.path ?? '') < (b.path ?? '') ? -1 : 1);
    return { ...made, conflicts: await timeSlicedSort(conflicts, byPath) };
  });
}

function fileOf({ memoryId, now, past }: Target) {
  return { memoryId, path: now?.path ?? past?.path ?? null };
}

/** What stays of what an actor did, and why. */
export function conflictText(conflict: Conflict): string {
  const path = conflict.path ?? `the file ${conflict.memoryId}`;
  switch (conflict.reason) {
    case 'changed':
      return `${path}: ${actorText(conflict.changedBy)} changed it at ${shownTime(conflict.changedAt)}. Left unchanged.`;
    case 'mixed':
      return `${path}: ${actorText(conflict.changedBy)} changed it in between, at ${shownTime(conflict.changedAt)}. Only later changes are reverted.`;
    case 'occupied':
      return `${path}: ${conflict.at} is occupied. Left unchanged.`;
    case 'pruned':
    case 'redacted':
      return `${path}: its earlier state was ${conflict.reason}. Left unchanged.`;
  }
}

/** After every path of a memory. */
const LAST_PATH = '/memories0';

/** Whether a change of a directory is the actor's, by any version that the same change made; null when all of those are heads. */
const isTheirsAt = (at: string) => `(
    SELECT ${isTheirs('v.origin', 'v.created_at')} FROM versions AS v
    WHERE v.tenant_id = $1 AND ${at} >= $3::text::timestamptz
      AND v.id >= memory_first_id(${at}) AND v.id < memory_first_id(${at} + interval '1 microsecond') LIMIT 1
  )`;

/** A time at which a directory was at its path; `removedAt` is null for one that is there. */
export interface Period {
  path: MemoryPath;
  createdAt: string;
  removedAt: string | null;
  /** Whether the actor did it; null when no superseded version says so. */
  isMadeByThem: boolean | null;
  isRemovedByThem: boolean | null;
}

/** A page of the directories that were removed since a time, the last path and its latest period first. */
const listPeriodsQuery = defineQuery<
  ActorChanges & { before: string; beforeTime: string; limit: number },
  Period
>(
  'list_periods',
  ['tenant', 'by', 'since', 'until', 'before', 'beforeTime', 'limit'],
  `
SELECT d.path, ${time('d.created_at')} AS "createdAt", ${time('d.removed_at')} AS "removedAt",
  ${isTheirsAt('d.created_at')} AS "isMadeByThem", ${isTheirsAt('d.removed_at')} AS "isRemovedByThem"
FROM (
  SELECT path, created_at, removed_at FROM past_directories
  WHERE tenant_id = $1 AND removed_at >= $3::text::timestamptz AND (path, removed_at) < ($5, $6::text::timestamptz)
  ORDER BY path DESC, removed_at DESC LIMIT $7::integer
) AS d
ORDER BY d.path DESC, d.removed_at DESC
`,
);

/** A page of the directories that are there and were made since a time, in the order of their paths. The first page comes after the root. */
const listDirectoriesSinceQuery = defineQuery<ActorChanges & { after: string; limit: number }, Period>(
  'list_directories_since',
  ['tenant', 'by', 'since', 'until', 'after', 'limit'],
  `
SELECT d.path, ${time('d.changed_at')} AS "createdAt", NULL AS "removedAt", ${isTheirsAt('d.changed_at')} AS "isMadeByThem",
  NULL::boolean AS "isRemovedByThem"
FROM (
  SELECT path, changed_at FROM entries
  WHERE tenant_id = $1 AND dir_path > $5 AND dir_path > '/memories' AND changed_at >= $3::text::timestamptz ORDER BY dir_path LIMIT $6::integer
) AS d
ORDER BY d.path
`,
);

/**
 * Which directories to bring back and which to remove, to undo the actor's changes of them, as far as nobody else made or removed them after.
 */
export async function touchedDirectories(
  query: QueryExecutor,
  changes: ActorChanges,
  { headTimes }: Touched,
): Promise<{ wanted: Set<MemoryPath>; unwanted: Set<MemoryPath> }> {
  const directories = new Map<MemoryPath, TouchedDirectory>();
  const add = (period: Period) => {
    const directory = directories.get(period.path) ?? new TouchedDirectory(period);
    directories.set(period.path, directory);
    const { createdAt, removedAt, isMadeByThem, isRemovedByThem } = period;
    directory.undo(
      isMadeByThem ?? headTimes.has(createdAt),
      removedAt === null ? null : (isRemovedByThem ?? headTimes.has(removedAt)),
    );
  };
  const present = readPages<Period>(
    async (last) =>
      (await query(listDirectoriesSinceQuery, { ...changes, after: last?.path ?? ROOT, limit: ROWS_A_PAGE }))
        .rows,
    ROWS_A_PAGE,
  );
  for await (const period of timeSliced(present)) add(period);
  const past = readPages<Period>(async (last) => {
    const position = { before: last?.path ?? LAST_PATH, beforeTime: last?.removedAt ?? 'infinity' };
    return (await query(listPeriodsQuery, { ...changes, ...position, limit: ROWS_A_PAGE })).rows;
  }, ROWS_A_PAGE);
  for await (const period of timeSliced(past)) add(period);

  const wanted = new Set<MemoryPath>();
  const unwanted = new Set<MemoryPath>();
  for (const [path, { isThere, wasThere }] of directories) {
    if (wasThere && !isThere) wanted.add(path);
    if (isThere && !wasThere) unwanted.add(path);
  }
  return { wanted, unwanted };
}

/** A directory, whose periods are undone one by one, the latest first. */
class TouchedDirectory {
  readonly isThere: boolean;
  wasThere: boolean;
  /** Somebody else's change has been reached. */
  #isDone = false;

  constructor({ removedAt }: Period) {
    this.isThere = removedAt === null;
    this.wasThere = this.isThere;
  }

  /** @param isRemovedByThem null for the period that lasts */
  undo(isMadeByThem: boolean, isRemovedByThem: boolean | null): void {
    if (this.#isDone) return;
    if (isRemovedByThem !== null && !this.wasThere) {
      this.#isDone = !isRemovedByThem;
      if (this.#isDone) return;
      this.wasThere = true;
    }
    this.#isDone = !isMadeByThem;
    if (!this.#isDone) this.wasThere = false;
  }
}
