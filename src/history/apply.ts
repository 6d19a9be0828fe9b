import { createHash, randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { type Origin, storedOrigin } from '../memory/origin.ts';
import { ancestorsOf, type MemoryPath } from '../memory/path.ts';
import type { OverQuota, TenantDefaults } from '../memory/store.ts';
import { findTenantQuery, lockTenantQuery } from '../tenants/queries.ts';
import { refuseArchived } from '../tenants/stores.ts';
import { quotaExceeded } from '../tenants/tenants.ts';
import { type Changes, changesOf, type PlannedChanges } from './log.ts';
import { type DirectoryTargets, type Plan, planTree, type Target } from './plan.ts';

/* How `restore` and `revert` change a memory, once it is known what they make of each file. */

/** A time as times are written here, and `from`: when the tenant was created, if that is later. */
const readTimesQuery = defineQuery<{ tenant: string; time: string }, { time: string; from: string }>(
  'read_times',
  `
SELECT ${time('$time::text::timestamptz')} AS "time", ${time('GREATEST(created_at, $time::text::timestamptz)')} AS "from"
FROM tenants WHERE id = $tenant
`,
);

/** When a tenant last changed. */
const lastChangeQuery = defineQuery<{ tenant: string }, { at: string | null }>(
  'last_change',
  `SELECT ${time('last_change_at')} AS at FROM tenants WHERE id = $tenant`,
);

/** What is at some paths and, of the directories `parents`, directly below them. */
const findAroundQuery = defineQuery<
  { tenant: string; paths: string[]; parents: string[] },
  { path: MemoryPath; kind: 'file' | 'dir' }
>(
  'find_around',
  `
SELECT e.path, e.kind FROM unnest($paths::text[]) AS p (path), LATERAL (
  SELECT path, kind FROM entries WHERE tenant_id = $tenant AND path = p.path OFFSET 0
) AS e
UNION
SELECT e.path, e.kind FROM unnest($parents::text[]) AS p (path), LATERAL (
  SELECT path, kind FROM entries WHERE tenant_id = $tenant AND parent_path = p.path OFFSET 0
) AS e
`,
);

/** The files of a planned change whose sizes count, and the limits. */
type Sized = {
  tenant: string;
  deleted: string[];
  removed: string[];
  made: string[];
  from: string[];
  sources: (string | null)[];
  added: string[];
  addedSources: string[];
} & TenantDefaults;

/** Makes a planned change: migrations/functions/memory_restore.sql. */
const restoreQuery = defineQuery<
  Sized & { to: string[]; memoryIds: string[]; change: string; origin: string },
  { data: Omit<OverQuota, 'kind'> | null }
>(
  'restore',
  `
SELECT data FROM memory_restore(
  $tenant, $deleted::text[], $removed::text[], $made::text[], $from::text[], $to::text[], $sources::text[]::uuid[],
  $memoryIds::text[]::uuid[], $added::text[], $addedSources::text[]::uuid[], $change::text::uuid, $origin::text::jsonb,
  $maxFiles::bigint, $maxBytes::bigint, $historyDays::bigint, $maxHistoryBytes::bigint
)
`,
);

/** The quota that a planned change would exceed, or null. */
const restoreExcessQuery = defineQuery<Sized, { data: Omit<OverQuota, 'kind'> | null }>(
  'restore_excess',
  `
SELECT memory_restore_excess(
  $tenant, $deleted::text[], $removed::text[], $made::text[], $from::text[], $sources::text[]::uuid[], $added::text[], $addedSources::text[]::uuid[], $maxFiles::bigint, $maxBytes::bigint
) AS data
`,
);

export interface ChangeOptions {
  /** Whom the history names. */
  origin: Origin;
  defaults: TenantDefaults;
  /** Makes all the checks, and changes nothing. */
  dryRun?: boolean;
  /** The `plan` of a dry run: nothing is changed unless that is still what would be done. */
  expectedPlan?: string | undefined;
  /** Is told how many versions have been read. */
  onProgress?: (versions: number) => void;
}

/**
 * Runs `work` in a transaction that has locked the tenant, so that nothing else changes it. A dry run locks nothing: it reads one snapshot.
 *
 * @throws ServiceError when there is no such tenant
 */
export function changeTenant<T>(
  database: Database,
  tenant: string,
  { dryRun = false }: ChangeOptions,
  work: (query: QueryExecutor) => Promise<T>,
): Promise<T> {
  return database.transaction(
    async (query) => {
      const { rows } = await query(dryRun ? findTenantQuery : lockTenantQuery, { tenant });
      if (rows.length === 0) throw new ServiceError('no_such_tenant', tenant);
      await refuseArchived(query, tenant);
      return work(query);
    },
    { snapshot: dryRun },
  );
}

/** Reads a time in the form that the history has, and `from`: when the tenant was created, if that is later. */
export async function readTimes(query: QueryExecutor, tenant: string, at: string) {
  const [times] = (await query(readTimesQuery, { tenant, time: at })).rows;
  if (times === undefined) throw new Error('A tenant that is locked is missing.');
  return times;
}

/** Whether the file is not already as it is to be. */
export function isChange({ now, past }: Target): boolean {
  return now === null || past === null ? now !== past : now.path !== past.path || now.sha256 !== past.sha256;
}

/** Reads what is around the files and directories of a change, and plans it. Of two that want the same path, the first one gets it. */
export async function planChange(
  query: QueryExecutor,
  tenant: string,
  targets: readonly Target[],
  directories: DirectoryTargets,
): Promise<Plan> {
  const comes = targets.flatMap(({ now, past }) => (past && past.path !== now?.path ? [past.path] : []));
  const paths = new Set<MemoryPath>();
  for await (const path of timeSliced([...comes, ...directories.wanted, ...directories.unwanted])) {
    for (const each of [path, ...ancestorsOf(path)]) paths.add(each);
  }
  const { rows } = await query(findAroundQuery, {
    tenant,
    paths: [...paths],
    parents: [...directories.unwanted],
  });
  return planTree(targets, { ...directories, kinds: new Map(rows.map(({ path, kind }) => [path, kind])) });
}

/**
 * Makes a planned change in the caller's transaction, or for a dry run only checks that there is room.
 *
 * @throws ServiceError when the result would exceed the tenant's quota, or the plan is not the expected one
 */
export async function apply(
  query: QueryExecutor,
  tenant: string,
  { targets, made, removed }: Plan,
  options: ChangeOptions,
  verb: 'restore' | 'revert',
): Promise<Changes> {
  const { origin, defaults, dryRun } = options;
  const files = await changesOf(targets);
  const planned = { files, directoriesMade: made, directoriesRemoved: removed };
  const plan = await checkedPlan(planned, options);
  const live = targets.flatMap(({ now, past }) => (now && past ? [{ now, past }] : []));
  const added = targets.flatMap(({ memoryId, now, past }) => (now || !past ? [] : [{ memoryId, past }]));
  if (targets.length + made.length + removed.length > 0) {
    const changes = {
      tenant,
      removed,
      made,
      deleted: targets.flatMap(({ now, past }) => (now && !past ? [now.path] : [])),
      from: live.map(({ now }) => now.path),
      sources: live.map(({ now, past }) => (now.sha256 === past.sha256 ? null : past.versionId)),
      added: added.map(({ past }) => past.path),
      addedSources: added.map(({ past }) => past.versionId),
      ...defaults,
    };
    const exceeded = dryRun
      ? (await query(restoreExcessQuery, changes)).rows[0]?.data
      : (
          await query(restoreQuery, {
            ...changes,
            to: live.map(({ past }) => past.path),
            memoryIds: added.map(({ memoryId }) => memoryId),
            change: randomUUID(),
            origin: storedOrigin(origin),
          })
        ).rows[0]?.data;
    if (exceeded) throw quotaExceeded(tenant, { kind: 'over_quota', ...exceeded }, verb);
  }
  const isMade = !dryRun && targets.length + made.length + removed.length > 0;
  const changedAt = isMade ? ((await query(lastChangeQuery, { tenant })).rows[0]?.at ?? null) : null;
  return { ...planned, plan, changedAt };
}

/**
 * What stands for changes that are about to be made.
 *
 * @throws ServiceError when it is not what is expected
 */
async function checkedPlan(
  { files, directoriesMade, directoriesRemoved }: PlannedChanges,
  { expectedPlan }: ChangeOptions,
): Promise<string> {
  const sha256 = createHash('sha256');
  // Without the ids of files: each dry run makes a new one for a copy. No path contains a NUL.
  for await (const { path, oldVersion, version } of timeSliced(files))
    sha256.update(`${path}\0${oldVersion ?? ''}\0${version ?? ''}\0`);
  sha256.update(['made', ...directoriesMade, 'removed', ...directoriesRemoved].join('\0'));
  const plan = sha256.digest('hex');
  if (expectedPlan !== undefined && plan !== expectedPlan) throw new ServiceError('plan_overtaken');
  return plan;
}
