import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { readPages } from '../lib/pages.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { type ActorChanges, isByActorSql, ROWS_A_PAGE, type Touched } from './touched.ts';

/** Sorts after every path in a memory. */
const LAST_PATH = '/memories0';

/**
 * SQL value: whether a change to a directory was made by the actor, according to any superseded version from the same
 * change. Null if the change has no superseded version.
 */
const isByActorAtSql = (at: string) => `(
    SELECT ${isByActorSql('v.origin', 'v.created_at')} FROM versions AS v
    WHERE v.tenant_id = $tenant AND ${at} >= $since::text::timestamptz
      AND v.id >= memory_first_id(${at}) AND v.id < memory_first_id(${at} + interval '1 microsecond') LIMIT 1
  )`;

/** A period in which a directory existed. `removedAt` is null if the directory still exists. */
export interface Period {
  path: MemoryPath;
  createdAt: string;
  removedAt: string | null;
  /** Whether the actor created the directory; null if the creation has no superseded version. */
  isMadeByThem: boolean | null;
  isRemovedByThem: boolean | null;
}

/** Lists a page of directories that were removed since a time, by path and removal time, both descending. */
const listPeriodsQuery = defineQuery<
  ActorChanges & { before: string; beforeTime: string; limit: number },
  Period
>(
  'list_periods',
  `
SELECT d.path, ${time('d.created_at')} AS "createdAt", ${time('d.removed_at')} AS "removedAt",
  ${isByActorAtSql('d.created_at')} AS "isMadeByThem", ${isByActorAtSql('d.removed_at')} AS "isRemovedByThem"
FROM (
  SELECT path, created_at, removed_at FROM past_directories
  WHERE tenant_id = $tenant AND removed_at >= $since::text::timestamptz
    AND (path, removed_at) < ($before, $beforeTime::text::timestamptz)
  ORDER BY path DESC, removed_at DESC LIMIT $limit::integer
) AS d
ORDER BY d.path DESC, d.removed_at DESC
`,
);

/**
 * Lists a page of existing directories that were created since a time, ordered by path. The first page starts after the
 * root.
 */
const listDirectoriesSinceQuery = defineQuery<ActorChanges & { after: string; limit: number }, Period>(
  'list_directories_since',
  `
SELECT d.path, ${time('d.changed_at')} AS "createdAt", NULL AS "removedAt",
  ${isByActorAtSql('d.changed_at')} AS "isMadeByThem",
  NULL::boolean AS "isRemovedByThem"
FROM (
  SELECT path, changed_at FROM entries
  WHERE tenant_id = $tenant AND dir_path > $after AND dir_path > '/memories' AND changed_at >= $since::text::timestamptz
  ORDER BY dir_path LIMIT $limit::integer
) AS d
ORDER BY d.path
`,
);

/**
 * Selects the directories to create and to remove in order to revert the actor's changes. Changes before the last
 * change by others are ignored.
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

/** A directory whose periods are reverted one by one, latest first. */
class TouchedDirectory {
  readonly isThere: boolean;
  wasThere: boolean;
  /** Whether a change by others has been reached. */
  #isDone = false;

  constructor({ removedAt }: Period) {
    this.isThere = removedAt === null;
    this.wasThere = this.isThere;
  }

  /** @param isRemovedByThem null for the current period */
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
