import { createHash } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { batches } from '../lib/pages.ts';
import { timeSliced } from '../lib/time-slice.ts';
import type { TenantDefaults } from '../memory/memory-store.ts';
import { type Origin, storedOrigin } from '../memory/origin.ts';
import { ancestorPaths, type MemoryPath } from '../memory/path.ts';
import type { KeptOutTexts } from '../memory/secrets/kept-out.ts';
import { findTenantQuery, lockTenantQuery } from '../tenants/queries.ts';
import { rejectArchived } from '../tenants/stores.ts';
import { quotaExceeded } from '../tenants/tenants.ts';
import { type ChangedFile, findExceededQuota, type WrittenFile, writeChange } from './change.ts';
import { keptOutPaths } from './kept-out-paths.ts';
import { type Changes, type PlannedChanges, toFileChanges } from './log.ts';
import { type DirectoryTargets, type Plan, planTree, type RestoreTarget } from './restore-plan.ts';

/*
 * Plans and applies the changes by `restore` and `revert`, after the caller has computed each file's target state.
 */

/** `time`: a time in the service's canonical format. `from`: the later of `time` and the tenant's creation. */
const readTimesQuery = defineQuery<
  { tenant: string; time: string },
  { time: string; from: string; lastChangeAt: string | null }
>(
  'read_times',
  `
SELECT ${time('$time::text::timestamptz')} AS "time",
  ${time('GREATEST(created_at, $time::text::timestamptz)')} AS "from",
  ${time('last_change_at')} AS "lastChangeAt"
FROM tenants WHERE id = $tenant
`,
);

/** Finds entries at the given paths, and the direct children of the directories in `parents`. */
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
  /** Metadata stored with the new versions (actor, request, source, draft). */
  origin: Origin;
  defaults: TenantDefaults;
  /** Whether to run all checks without changing the memory. */
  dryRun?: boolean;
  /** Fingerprint from a dry run. The change is rejected if its fingerprint differs. */
  expectedPlan?: string | undefined;
  /** Texts that are kept out of the tenant. The result reports the files that will contain them. Undefined for none. */
  keptOut: KeptOutTexts | undefined;
  /** Receives the number of versions read so far. */
  onProgress?: (versions: number) => void;
}

/**
 * Runs `work` in a transaction that has locked the tenant against other changes. A dry run reads one snapshot without a
 * lock.
 *
 * @throws ServiceError if the tenant does not exist
 */
export function changeTenant<T>(
  database: Database,
  tenant: string,
  { dryRun = false }: Pick<ChangeOptions, 'dryRun'>,
  work: (query: QueryExecutor) => Promise<T>,
): Promise<T> {
  return database.transaction(
    async (query) => {
      const { rows } = await query(dryRun ? findTenantQuery : lockTenantQuery, { tenant });
      if (rows.length === 0) throw new ServiceError('no_such_tenant', tenant);
      await rejectArchived(query, tenant);
      return work(query);
    },
    { snapshot: dryRun },
  );
}

/**
 * Converts a time to the history's canonical format. `from` is the later of this time and the tenant's creation.
 */
export async function readTimes(query: QueryExecutor, tenant: string, at: string) {
  const [times] = (await query(readTimesQuery, { tenant, time: at })).rows;
  if (times === undefined) throw new Error('A tenant that is locked is missing.');
  return times;
}

/** Whether a file's target state differs from its current state. */
export function isChange({ from, to }: RestoreTarget): boolean {
  return from === null || to === null ? from !== to : from.path !== to.path || from.sha256 !== to.sha256;
}

/**
 * Reads the entries around the files and directories in a change, and plans the change. If two files need the same
 * path, the first one gets it.
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
    for (const each of [path, ...ancestorPaths(path)]) paths.add(each);
  }
  const { rows } = await query(findAroundQuery, {
    tenant,
    paths: [...paths],
    parents: [...directories.unwanted],
  });
  return planTree(targets, { ...directories, kinds: new Map(rows.map(({ path, kind }) => [path, kind])) });
}

/**
 * Applies a planned change in the caller's transaction. A dry run only checks the plan and the quota.
 *
 * @param readTargetText reads the text for a file that gets a text without a version
 * @param targetOrigin returns the origin for a file's change; the default is the origin in the options
 * @throws ServiceError if the result would exceed the tenant's quota, or the plan differs from the expected plan
 */
export async function apply(
  query: QueryExecutor,
  tenant: string,
  { targets, made, removed }: Plan<RestoreTarget>,
  options: ChangeOptions,
  verb: 'restore' | 'revert',
  readTargetText: (target: RestoreTarget) => Promise<string> = withoutText,
  targetOrigin: (target: RestoreTarget) => Origin = () => options.origin,
): Promise<Changes> {
  const { defaults, dryRun } = options;
  const planned = { files: await toFileChanges(targets), directoriesMade: made, directoriesRemoved: removed };
  const plan = await checkedPlan(planned, options);
  if (targets.length + made.length + removed.length === 0)
    return { ...planned, plan, changedAt: null, keptOut: [] };
  const exceeded = await findExceededQuota(query, tenant, { made, removed }, targets, defaults);
  if (exceeded !== null) throw quotaExceeded(tenant, exceeded, verb);
  const keptOut = await keptOutPaths(query, tenant, targets, options.keptOut, readTargetText);
  if (dryRun) return { ...planned, plan, changedAt: null, keptOut };
  const files: ChangedFile[] = [];
  const versions: WrittenFile[] = [];
  const texts: { target: RestoreTarget; file: WrittenFile }[] = [];
  for await (const target of timeSliced(targets)) {
    const { memoryId, from, to } = target;
    const isEdited = from?.sha256 !== to?.sha256;
    const file = {
      memoryId,
      from: from?.path ?? null,
      to: to?.path ?? null,
      isEdited,
      origin: storedOrigin(targetOrigin(target)),
    };
    files.push(file);
    if (to === null) continue;
    const written = { ...file, to: to.path, text: null, version: isEdited ? to.versionId : null };
    if (isEdited && to.versionId === null) texts.push({ target, file: written });
    else versions.push(written);
  }
  const writeBatches = async function* (): AsyncGenerator<WrittenFile[]> {
    yield versions;
    const weigh = ({ target }: (typeof texts)[number]) => target.to?.sizeBytes ?? 0;
    for await (const batch of batches(timeSliced(texts), { ...TEXTS, weigh })) {
      const filled: WrittenFile[] = [];
      for (const { target, file } of batch) filled.push({ ...file, text: await readTargetText(target) });
      yield filled;
    }
  };
  const { actor } = options.origin;
  const changedAt = await writeChange(
    query,
    tenant,
    { made, removed, files },
    writeBatches(),
    defaults,
    actor,
  );
  return { ...planned, plan, changedAt, keptOut };
}

const TEXTS = { items: 500, weight: 4 * 1024 * 1024 };

async function withoutText({ memoryId }: RestoreTarget): Promise<never> {
  throw new Error(`The plan gives ${memoryId} a text that no version has.`);
}

/** Fingerprint for a plan without changes. */
export const NO_CHANGES = createHash('sha256').update('made\0removed').digest('hex');

/**
 * Computes a plan's fingerprint.
 *
 * @throws ServiceError `stale_plan` if the fingerprint differs from `expectedPlan`
 */
async function checkedPlan(
  { files, directoriesMade, directoriesRemoved }: PlannedChanges,
  { expectedPlan }: ChangeOptions,
): Promise<string> {
  const sha256 = createHash('sha256');
  // File IDs are excluded, because each dry run generates a new ID for a copy. NUL is a safe separator: no path
  // contains it.
  for await (const { path, oldVersion, version, mergedSha256 } of timeSliced(files))
    sha256.update(`${path}\0${oldVersion ?? ''}\0${version ?? mergedSha256 ?? ''}\0`);
  sha256.update(['made', ...directoriesMade, 'removed', ...directoriesRemoved].join('\0'));
  const plan = sha256.digest('hex');
  if (expectedPlan !== undefined && plan !== expectedPlan) throw new ServiceError('stale_plan');
  return plan;
}
