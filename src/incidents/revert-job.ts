import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { hasReason, ServiceError } from '../errors/errors.ts';
import { NO_CHANGES } from '../history/apply.ts';
import { MergeThreads } from '../history/line-merge.ts';
import { type Reverted, revertActor } from '../history/revert.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import type { JobKind, TenantResult } from './job-kind.ts';
import { findJob, findOutcome, type Job, type RunningJob } from './jobs.ts';

/** Name of the kind of job. */
export const REVERT = 'revert';

/** Request of a revert of many tenants, or of its dry run. */
export interface StoredRevertRequest {
  /** Null for all actors. */
  by: string | null;
  since: string;
  until: string | null;
  isDryRun: boolean;
  /** Job whose plans are applied; null for a dry run. */
  dryRunOf: string | null;
}

/** Details of an outcome: the plan, and the files that were not reverted. */
interface RevertDetails {
  plan: string;
  conflicts: { memoryId: string | null; reason: string }[];
}

/** Maximum number of conflicts that are stored for a tenant. Further conflicts are only counted. */
const MAX_CONFLICTS = 1000;
const MAX_PAUSE_MS = 5000;

/** Counts the versions that a job has created in a tenant. */
const countWrittenQuery = defineQuery<{ tenant: string; job: string; since: string }, { count: number }>(
  'count_written_by_job',
  `
SELECT count(*)::integer AS count FROM memory_versions AS v
WHERE v.tenant_id = $tenant AND v.id >= memory_first_id($since::text::timestamptz) AND v.origin ->> 'requestId' = $job
`,
);

/**
 * Returns the ended dry run of a revert.
 *
 * @param scope tenants that the caller may see
 * @throws ServiceError if the job does not exist, or is not an ended dry run of a revert
 */
export async function findDryRun(database: Database, id: string, scope: string[] | null): Promise<Job> {
  const job = await findJob(database, id, scope);
  const { isDryRun } = job.request as StoredRevertRequest;
  if (job.kind !== REVERT || !isDryRun || job.state !== 'done') throw new ServiceError('not_a_dry_run', id);
  return job;
}

/**
 * Returns the kind of job that reverts an actor in each tenant. A tenant is reverted completely or not at all, and
 * exactly as its dry run showed. Open drafts are not reverted.
 */
export function revertJobs(database: Database, config: Config): JobKind {
  const threads = new MergeThreads();
  return {
    kind: REVERT,
    work: (job, tenant, { signal, turn }) =>
      turn(async () => {
        const startedAt = performance.now();
        const result = await revertInTenant(database, config, threads, job, tenant);
        // The pause leaves at least half of the time of the database to requests.
        await delay(Math.min(MAX_PAUSE_MS, performance.now() - startedAt), undefined, { signal });
        return result;
      }),
    close: () => threads.close(),
  };
}

async function revertInTenant(
  database: Database,
  config: Config,
  threads: MergeThreads,
  job: RunningJob,
  tenant: string,
): Promise<TenantResult | null> {
  const { by, since, until, isDryRun, dryRunOf } = job.request as StoredRevertRequest;
  const selection = { by: by ?? undefined, since, until: until ?? undefined };
  const origin = { actor: job.createdBy, requestId: job.id };
  const options = { origin, defaults: tenantDefaults(config), threads };
  const dryRun = () => revertActor(database, tenant, selection, { ...options, dryRun: true });
  if (isDryRun || dryRunOf === null) return resultOf(await dryRun());
  const done = await findOutcome(database, job.id, tenant);
  // The revert is complete. Later changes by the actor are not part of its plan.
  if (done?.error === null)
    return { counts: done.counts, isComplete: done.isComplete, details: done.details as object };
  const expectedPlan = await plannedFor(database, dryRunOf, tenant);
  try {
    return resultOf(await revertActor(database, tenant, selection, { ...options, expectedPlan }));
  } catch (error) {
    if (!hasReason(error, 'plan_overtaken')) throw error;
    // An interrupted attempt, or another job, has reverted the tenant already.
    const now = await dryRun();
    if (now.plan !== NO_CHANGES) throw error;
    const written = { tenant, job: job.id, since: job.createdAt };
    const [row] = (await database.query(countWrittenQuery, written)).rows;
    return resultOf(now, row?.count ?? 0);
  }
}

/** Returns the plan of a tenant in a dry run. A tenant without an outcome has no changes. */
async function plannedFor(database: Database, dryRun: string, tenant: string): Promise<string> {
  const details = (await findOutcome(database, dryRun, tenant))?.details as
    | Partial<RevertDetails>
    | undefined;
  return details?.plan ?? NO_CHANGES;
}

function resultOf(reverted: Reverted, files = reverted.files.length): TenantResult | null {
  const { plan, conflicts, directoriesMade, directoriesRemoved } = reverted;
  const counts = {
    files,
    directories: directoriesMade.length + directoriesRemoved.length,
    conflicts: conflicts.length,
  };
  if (Object.values(counts).every((count) => count === 0)) return null;
  const details: RevertDetails = {
    plan,
    conflicts: conflicts.slice(0, MAX_CONFLICTS).map(({ memoryId, reason }) => ({ memoryId, reason })),
  };
  return { counts, isComplete: true, details };
}
