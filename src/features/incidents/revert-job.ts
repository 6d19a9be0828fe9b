import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery } from '../../core/database/query.ts';
import { hasReason, ServiceError } from '../../core/errors/errors.ts';
import { NO_CHANGES } from '../../core/history/apply.ts';
import type { Conflict, Side } from '../../core/history/conflicts.ts';
import { MergeThreads } from '../../core/history/line-merge.ts';
import { type Reverted, revertActor } from '../../core/history/revert.ts';
import { tenantDefaults } from '../../core/tenants/effective-settings.ts';
import { KeptOutLists } from '../../core/tenants/kept-out-lists.ts';
import type { JobKind, TenantResult } from './job-kind.ts';
import { findJob, findOutcome, type Job, type RunningJob } from './jobs.ts';

/** Name of this job kind. */
export const REVERT = 'revert';

/** Request for a revert in many tenants, or for its dry run. */
export interface StoredRevertRequest {
  /** Null for all actors. */
  by: string | null;
  since: string;
  until: string | null;
  /** Resolution for the conflicts. Missing in jobs from older versions. */
  takeAll?: Side | null;
  isDryRun: boolean;
  /** Job whose plans are applied; null for a dry run. */
  dryRunOf: string | null;
}

/** Outcome details: the plan, and the files that were not reverted. */
interface RevertDetails {
  plan: string;
  conflicts: { memoryId: string | null; reason: Conflict['reason'] }[];
}

/** A conflict as stored. The conflict has no path, so that a path that is redacted later is in no job. */
type StoredConflict = RevertDetails['conflicts'][number];

/** Limit on conflicts that are stored for a tenant. Further conflicts are only counted. */
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

/** Reads the current paths for files, or the last known paths for deleted files. */
const pathsQuery = defineQuery<
  { tenant: string; memoryIds: string[] },
  { memoryId: string; path: string | null }
>(
  'list_paths_of_files',
  `
SELECT f.memory_id::text AS "memoryId", COALESCE(head.path, named.path) AS path
FROM unnest($memoryIds::text[]::uuid[]) AS f (memory_id)
LEFT JOIN LATERAL (
  SELECT path FROM entries WHERE tenant_id = $tenant AND memory_id = f.memory_id OFFSET 0
) AS head ON true
LEFT JOIN LATERAL (
  SELECT path FROM versions WHERE tenant_id = $tenant AND memory_id = f.memory_id AND path IS NOT NULL
  ORDER BY memory_id DESC, id DESC LIMIT 1
) AS named ON head.path IS NULL
`,
);

/**
 * Reads a page of a revert's stored conflicts in a tenant, with the current paths. The first page is after 0.
 *
 * @returns the conflicts, and the number of stored conflicts
 * @throws ServiceError if the job has no outcome for the tenant
 */
export async function readConflicts(
  database: Database,
  job: string,
  tenant: string,
  { after, limit }: { after: number; limit: number },
): Promise<{ conflicts: (StoredConflict & { path: string | null })[]; stored: number }> {
  const outcome = await findOutcome(database, job, tenant);
  if (outcome === undefined) throw new ServiceError('no_such_outcome', job, tenant);
  const { conflicts = [] } = outcome.details as Partial<RevertDetails>;
  const page = conflicts.slice(after, after + limit);
  const memoryIds = page.flatMap(({ memoryId }) => memoryId ?? []);
  const { rows } = await database.query(pathsQuery, { tenant, memoryIds });
  const pathById = new Map(rows.map(({ memoryId, path }) => [memoryId, path]));
  return {
    conflicts: page.map((each) => ({ ...each, path: pathById.get(each.memoryId ?? '') ?? null })),
    stored: conflicts.length,
  };
}

/**
 * Returns a revert's ended dry run.
 *
 * @param scope tenants that the caller may see
 * @throws ServiceError if the job does not exist, or is not a revert's ended dry run
 */
export async function findDryRun(database: Database, id: string, scope: string[] | null): Promise<Job> {
  const job = await findJob(database, id, scope);
  const { isDryRun } = job.request as StoredRevertRequest;
  if (job.kind !== REVERT || !isDryRun || job.state !== 'done') throw new ServiceError('not_a_dry_run', id);
  return job;
}

/**
 * Returns the job kind that reverts an actor in each tenant. A tenant is reverted completely or not at all, and exactly
 * as its dry run showed. Open drafts are not reverted.
 */
export function revertJobs(database: Database, config: Config): JobKind {
  const threads = new MergeThreads();
  const keptOut = new KeptOutLists(database, config);
  return {
    kind: REVERT,
    work: (job, tenant, { signal, turn }) =>
      turn(async () => {
        const startedAt = performance.now();
        const result = await revertInTenant({ database, config, threads, keptOut }, job, tenant);
        // The pause leaves at least half the database's time to requests.
        await delay(Math.min(MAX_PAUSE_MS, performance.now() - startedAt), undefined, { signal });
        return result;
      }),
    close: () => threads.close(),
  };
}

interface RevertServices {
  database: Database;
  config: Config;
  threads: MergeThreads;
  keptOut: KeptOutLists;
}

async function revertInTenant(
  { database, config, threads, keptOut }: RevertServices,
  job: RunningJob,
  tenant: string,
): Promise<TenantResult | null> {
  const { by, since, until, takeAll, isDryRun, dryRunOf } = job.request as StoredRevertRequest;
  const selection = { by: by ?? undefined, since, until: until ?? undefined };
  const origin = { actor: job.createdBy, requestId: job.id };
  const options = {
    origin,
    defaults: tenantDefaults(config),
    keptOut: await keptOut.textsFor({ id: tenant, draftOf: null }),
    threads,
    takeAll: takeAll ?? undefined,
  };
  const dryRun = () => revertActor(database, tenant, selection, { ...options, dryRun: true });
  if (isDryRun || dryRunOf === null) return tenantResult(await dryRun());
  const done = await findOutcome(database, job.id, tenant);
  // The revert is complete. Its plan does not include later changes by the actor.
  if (done?.error === null)
    return { counts: done.counts, isComplete: done.isComplete, details: done.details as object };
  const expectedPlan = await readPlan(database, dryRunOf, tenant);
  try {
    return tenantResult(await revertActor(database, tenant, selection, { ...options, expectedPlan }));
  } catch (error) {
    if (!hasReason(error, 'stale_plan')) throw error;
    // An interrupted attempt, or another job, has reverted the tenant already.
    const now = await dryRun();
    if (now.plan !== NO_CHANGES) throw error;
    const written = { tenant, job: job.id, since: job.createdAt };
    const [row] = (await database.query(countWrittenQuery, written)).rows;
    return tenantResult(now, row?.count ?? 0);
  }
}

/** Returns a tenant's plan in a dry run. A tenant without an outcome has no changes. */
async function readPlan(database: Database, dryRun: string, tenant: string): Promise<string> {
  const details = (await findOutcome(database, dryRun, tenant))?.details as
    | Partial<RevertDetails>
    | undefined;
  return details?.plan ?? NO_CHANGES;
}

function tenantResult(reverted: Reverted, files = reverted.files.length): TenantResult | null {
  const { plan, drafts, directoriesMade, directoriesRemoved } = reverted;
  const conflicts = reverted.conflicts.filter(({ resolution }) => resolution === null);
  const counts = {
    files,
    directories: directoriesMade.length + directoriesRemoved.length,
    conflicts: conflicts.length,
    resolved: reverted.conflicts.length - conflicts.length,
    drafts: drafts.length,
    kept_out: reverted.keptOut.length,
  };
  if (Object.values(counts).every((count) => count === 0)) return null;
  const details: RevertDetails = {
    plan,
    conflicts: conflicts.slice(0, MAX_CONFLICTS).map(({ memoryId, reason }) => ({ memoryId, reason })),
  };
  return { counts, isComplete: true, details };
}
