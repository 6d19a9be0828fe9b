import { createHash } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { type Origin, storedOrigin } from '../memory/origin.ts';
import { ancestorsOf, type MemoryPath } from '../memory/path.ts';
import type { TenantDefaults } from '../memory/store.ts';
import { findTenantQuery, lockTenantQuery } from '../tenants/queries.ts';
import { refuseArchived } from '../tenants/stores.ts';
import { quotaExceeded } from '../tenants/tenants.ts';
import { type ChangedFile, findExceededQuota, type WrittenFile, writeChange } from './change.ts';
import { type Changes, changesOf, type PlannedChanges } from './log.ts';
import { type DirectoryTargets, type Plan, planTree, type RestoreTarget } from './plan.ts';

/* Plans and makes the changes of `restore` and `revert`, once it is known what becomes of each file. */

/** A time as times are written here, and `from`: when the tenant was created, if that is later. */
const readTimesQuery = defineQuery<{ tenant: string; time: string }, { time: string; from: string }>(
  'read_times',
  `
SELECT ${time('$time::text::timestamptz')} AS "time", ${time('GREATEST(created_at, $time::text::timestamptz)')} AS "from"
FROM tenants WHERE id = $tenant
`,
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
 * Runs `work` in a transaction that has locked the tenant, so that nothing else changes it. A dry run locks nothing:
 * it reads one snapshot.
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
export function isChange({ from, to }: RestoreTarget): boolean {
  return from === null || to === null ? from !== to : from.path !== to.path || from.sha256 !== to.sha256;
}

/**
 * Reads what is around the files and directories of a change, and plans it. Of two that want the same path, the first
 * one gets it.
 */
export async function planChange(
  query: QueryExecutor,
  tenant: string,
  targets: readonly RestoreTarget[],
  directories: DirectoryTargets,
): Promise<Plan<RestoreTarget>> {
  const comes = targets.flatMap(({ from, to }) => (to && to.path !== from?.path ? [to.path] : []));
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
  { targets, made, removed }: Plan<RestoreTarget>,
  options: ChangeOptions,
  verb: 'restore' | 'revert',
): Promise<Changes> {
  const { origin, defaults, dryRun } = options;
  const planned = { files: await changesOf(targets), directoriesMade: made, directoriesRemoved: removed };
  const plan = await checkedPlan(planned, options);
  if (targets.length + made.length + removed.length === 0) return { ...planned, plan, changedAt: null };
  const exceeded = await findExceededQuota(query, tenant, { made, removed }, targets, defaults);
  if (exceeded !== null) throw quotaExceeded(tenant, exceeded, verb);
  if (dryRun) return { ...planned, plan, changedAt: null };
  const files: ChangedFile[] = [];
  const written: WrittenFile[] = [];
  const by = storedOrigin(origin);
  for await (const { memoryId, from, to } of timeSliced(targets)) {
    const isEdited = from?.sha256 !== to?.sha256;
    const file = { memoryId, from: from?.path ?? null, to: to?.path ?? null, isEdited, origin: by };
    files.push(file);
    if (to !== null)
      written.push({ ...file, to: to.path, text: null, version: isEdited ? to.versionId : null });
  }
  const changedAt = await writeChange(query, tenant, { made, removed, files }, [written], defaults);
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
