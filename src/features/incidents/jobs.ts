import { randomUUID } from 'node:crypto';
import { databaseInstant } from '../../core/database/clock.ts';
import { containsText, type SoughtPart } from '../../core/database/contains-text.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { lockUntilEndQuery } from '../../core/database/tenant-job.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { cutPage, type Page, readPages, type TimePosition } from '../../core/lib/pages.ts';
import { DAY_MS } from '../../core/lib/units.ts';
import { LAST_ID } from '../../core/lib/uuids.ts';
import { type Actor, storedActor } from '../../core/memory/origin.ts';
import { recordEvent } from '../../core/tenants/events.ts';
import { countSelected, type TenantSelection } from './tenant-selection.ts';

/* Stored jobs over many tenants. `JobRunner` runs them. */

export type JobState = 'queued' | 'running' | 'done' | 'cancelled';

/** Counts for a tenant or a job by name, such as `{ current: 2 }`. */
export type Counts = Record<string, number>;

/** A job. Times are ISO 8601. */
export interface Job {
  id: string;
  kind: string;
  state: JobState;
  /** The request without its texts. */
  request: unknown;
  selection: TenantSelection;
  /** Tenants to which the job is limited; null for all tenants that match the selection. */
  onlyTenants: string[] | null;
  createdBy: Actor;
  createdAt: string;
  endedAt: string | null;
  /** Number of selected tenants when the job was created. */
  tenants: number;
  tenantsDone: number;
  tenantsFailed: number;
  /** Whether every completed tenant was processed completely. */
  isComplete: boolean;
  counts: Counts;
  /** Counts for the tenants that are being processed; null for none. */
  progress: Counts | null;
}

type EndedJob = Pick<Job, 'id' | 'kind' | 'tenantsFailed'>;

/** Whether the job's counts are exact: the job has processed every selected tenant completely. */
export function isExact({ state, isComplete, selection }: Job): boolean {
  return state === 'done' && isComplete && (selection.foundByState ?? 'done') === 'done';
}

/** A job that a replica runs. */
export interface RunningJob extends Job {
  /** Texts in the request, which are deleted at the job's end. */
  texts: unknown;
}

/** A job's outcome for one tenant. */
export interface JobOutcome {
  tenant: string;
  at: string;
  /** Error code; null for a success. */
  error: string | null;
  /** Whether the tenant was processed completely, so that the counts are exact. */
  isComplete: boolean;
  counts: Counts;
}

/** Filter for outcomes. Null fields do not filter. */
export type OutcomeFilter = {
  /** Part of the tenant ID, case-insensitive. */
  search: SoughtPart;
  /** True: only tenants that failed, were not processed completely, or have conflicts. False: only other tenants. */
  isLeft: boolean | null;
};

const NO_FILTER: OutcomeFilter = { search: null, isLeft: null };

export interface NewJob {
  kind: string;
  request: object;
  /** Texts that no response, log, or audit event may contain. */
  texts: object;
  selection: TenantSelection;
  onlyTenants: string[] | null;
  createdBy: Actor;
  /** Whether the admin who creates the job is limited to certain tenants. */
  isScoped: boolean;
}

/**
 * Limits on jobs that have not ended: for one admin, for all admins who are limited to certain tenants, and for all
 * admins. So one admin's jobs, or the jobs for a few tenants, leave room for other jobs.
 */
export const MAX_ACTIVE_JOBS = { admin: 5, scoped: 10, all: 30 };
/** Days for which ended jobs are kept. */
export const JOB_DAYS = 30;

export const JOB_COLUMNS = `id::text, kind, state, request, selection, only_tenants AS "onlyTenants", created_by AS "createdBy",
  ${time('created_at')} AS "createdAt", ${time('ended_at')} AS "endedAt", tenants::float8,
  tenants_done::float8 AS "tenantsDone",
  tenants_failed::float8 AS "tenantsFailed", is_complete AS "isComplete", counts, progress`;

const insertJobQuery = defineQuery<{
  id: string;
  kind: string;
  request: string;
  texts: string;
  selection: string;
  onlyTenants: string[] | null;
  createdBy: string;
  now: string;
  tenants: number;
}>(
  'insert_job',
  `
INSERT INTO jobs (id, kind, state, request, texts, selection, only_tenants, created_by, created_at, tenants, slice_at)
VALUES ($id::text::uuid, $kind, 'queued', $request::text::jsonb, $texts::text::jsonb, $selection::text::jsonb,
  $onlyTenants::text[],
  $createdBy::text::jsonb, $now::text::timestamptz, $tenants::bigint, $now::text::timestamptz)
`,
);

/** Advisory lock key. Arbitrary, but every replica must use the same value. */
const CREATION_LOCK = 7_236_105_560;

/** Counts the active jobs by an admin, the active jobs limited to certain tenants, and all active jobs. */
const countActiveQuery = defineQuery<{ createdBy: string }, Record<keyof typeof MAX_ACTIVE_JOBS, number>>(
  'count_active_jobs',
  `
SELECT count(*) FILTER (WHERE created_by = $createdBy::text::jsonb)::float8 AS admin,
  count(*) FILTER (WHERE only_tenants IS NOT NULL)::float8 AS scoped, count(*)::float8 AS "all"
FROM jobs WHERE ended_at IS NULL
`,
);

const findJobQuery = defineQuery<{ id: string; scope: string[] | null }, Job>(
  'find_job',
  `SELECT ${JOB_COLUMNS} FROM jobs WHERE id = $id::text::uuid AND ($scope::text[] IS NULL OR only_tenants <@ $scope::text[])`,
);

const listJobsQuery = defineQuery<
  {
    kind: string | null;
    isActive: boolean | null;
    incident: string | null;
    scope: string[] | null;
    beforeTime: string | null;
    beforeId: string | null;
    limit: number;
  },
  Job
>(
  'list_jobs',
  `
SELECT ${JOB_COLUMNS} FROM jobs
WHERE ($kind::text IS NULL OR kind = $kind) AND ($isActive::boolean IS NULL OR (ended_at IS NULL) = $isActive::boolean)
  AND ($incident::text IS NULL OR request ->> 'incident' = $incident)
  AND ($scope::text[] IS NULL OR only_tenants <@ $scope::text[])
  AND (created_at, id) < (COALESCE($beforeTime::text::timestamptz, 'infinity'),
    COALESCE($beforeId::text::uuid, '${LAST_ID}'))
ORDER BY jobs.created_at DESC, jobs.id DESC LIMIT $limit::bigint
`,
);

const cancelJobQuery = defineQuery<{ id: string; now: string }, EndedJob>(
  'cancel_job',
  `
UPDATE jobs SET state = 'cancelled', ended_at = $now::text::timestamptz, texts = NULL, position = '', progress = NULL,
  holder = NULL, lease_until = NULL
WHERE id = $id::text::uuid AND ended_at IS NULL
RETURNING id::text, kind, tenants_failed::float8 AS "tenantsFailed"
`,
);

const OUTCOMES_WHERE = `job_id = $job::text::uuid AND ($scope::text[] IS NULL OR tenant_id = ANY ($scope::text[]))
  AND ($search::text[] IS NULL OR ${containsText('tenant_id', 'search')})
  AND ($isLeft::boolean IS NULL OR (error IS NOT NULL OR NOT is_complete OR COALESCE((counts ->> 'conflicts')::float8, 0) > 0) = $isLeft::boolean)`;

type OutcomeSelection = OutcomeFilter & { job: string; scope: string[] | null };

const listOutcomesQuery = defineQuery<OutcomeSelection & { after: string; limit: number }, JobOutcome>(
  'list_job_outcomes',
  `
SELECT tenant_id AS tenant, ${time('at')} AS at, error, is_complete AS "isComplete", counts FROM job_outcomes
WHERE tenant_id > $after AND ${OUTCOMES_WHERE}
ORDER BY tenant_id LIMIT $limit::bigint
`,
);

const countOutcomesQuery = defineQuery<OutcomeSelection, { total: number }>(
  'count_job_outcomes',
  `SELECT count(*)::float8 AS total FROM job_outcomes WHERE ${OUTCOMES_WHERE}`,
);

const findOutcomeQuery = defineQuery<{ tenant: string; job: string }, JobOutcome & { details: unknown }>(
  'find_job_outcome',
  `
SELECT tenant_id AS tenant, ${time('at')} AS at, error, is_complete AS "isComplete", counts, details FROM job_outcomes
WHERE tenant_id = $tenant AND job_id = $job::text::uuid
`,
);

/** Records the outcome for a tenant, or replaces an interrupted attempt's outcome. */
const recordOutcomeQuery = defineQuery<{
  tenant: string;
  job: string;
  at: string;
  error: string | null;
  isComplete: boolean;
  counts: string;
  details: string;
}>(
  'record_job_outcome',
  `
INSERT INTO job_outcomes AS o (tenant_id, job_id, at, error, is_complete, counts, details)
SELECT t.id, $job::text::uuid, $at::text::timestamptz, $error, $isComplete::boolean, $counts::text::jsonb,
  $details::text::jsonb
FROM tenants AS t WHERE t.id = $tenant
ON CONFLICT (tenant_id, job_id) DO UPDATE SET
  at = excluded.at, error = excluded.error, is_complete = excluded.is_complete, counts = excluded.counts, details = excluded.details
`,
);

/** Records a job's outcome for a tenant. Records no outcome if the tenant was deleted in the meantime. */
export async function recordOutcome(
  query: QueryExecutor,
  { counts, details, ...outcome }: JobOutcome & { job: string; details: object | null },
): Promise<void> {
  const json = { counts: JSON.stringify(counts), details: JSON.stringify(details) };
  await query(recordOutcomeQuery, { ...outcome, ...json });
}

const listExpiredQuery = defineQuery<{ before: string; limit: number }, { id: string }>(
  'list_expired_jobs',
  'SELECT id::text FROM jobs WHERE ended_at < $before::text::timestamptz ORDER BY created_at, id LIMIT $limit::bigint',
);

const deleteOutcomeQuery = defineQuery<{ tenant: string; job: string }>(
  'delete_job_outcome',
  'DELETE FROM job_outcomes WHERE tenant_id = $tenant AND job_id = $job::text::uuid',
);

const deleteJobQuery = defineQuery<{ id: string }>(
  'delete_job',
  'DELETE FROM jobs WHERE id = $id::text::uuid',
);

/**
 * Creates a job. A replica starts it within seconds.
 *
 * @throws ServiceError if too many jobs are active
 */
export async function createJob(database: Database, job: NewJob): Promise<Job> {
  const id = randomUUID();
  const { kind, selection, onlyTenants } = job;
  const createdBy = storedActor(job.createdBy);
  const row = {
    id,
    kind,
    request: JSON.stringify(job.request),
    texts: JSON.stringify(job.texts),
    selection: JSON.stringify(selection),
    onlyTenants,
    createdBy,
    now: await databaseInstant(database),
    tenants: await countSelected(database, selection, onlyTenants),
  };
  await database.transaction(async (query) => {
    // Serializes creations, so that none exceeds a maximum.
    await query(lockUntilEndQuery, { lock: CREATION_LOCK });
    const [active] = (await query(countActiveQuery, { createdBy })).rows;
    const limits = job.isScoped ? (['admin', 'scoped', 'all'] as const) : (['admin', 'all'] as const);
    for (const whose of limits) {
      const max = MAX_ACTIVE_JOBS[whose];
      if ((active?.[whose] ?? 0) >= max) throw new ServiceError('too_many_jobs', whose, max);
    }
    await query(insertJobQuery, row);
  });
  return findJob(database, id, null);
}

/**
 * @param scope tenants that the caller may see; the caller sees only jobs that are limited to these tenants
 * @throws ServiceError if the job does not exist
 */
export async function findJob(database: Database, id: string, scope: string[] | null): Promise<Job> {
  const [job] = (await database.query(findJobQuery, { id, scope })).rows;
  if (job === undefined) throw new ServiceError('no_such_job', id);
  return job;
}

/** Reads a page of jobs, newest first. */
export async function readJobPage(
  database: Database,
  filter: { kind: string | null; isActive: boolean | null; incident: string | null; scope: string[] | null },
  before: TimePosition | null,
  limit: number,
): Promise<Page<Job, TimePosition>> {
  const position = { beforeTime: before?.time ?? null, beforeId: before?.id ?? null };
  const { rows } = await database.query(listJobsQuery, { ...filter, ...position, limit: limit + 1 });
  return cutPage(rows, limit, ({ createdAt: time, id }) => ({ time, id }));
}

/** Records a job's end for the change feed, in the transaction that ends the job. */
export async function recordJobEnd(
  query: QueryExecutor,
  { id, kind, tenantsFailed }: EndedJob,
  state: 'done' | 'cancelled',
  by: Actor,
): Promise<void> {
  const job = { id, kind, state, tenants_failed: tenantsFailed };
  await recordEvent(query, null, { type: 'job_ended', job }, by);
}

/** Cancels a job. The replica that runs the job stops within seconds. A job that has ended is returned unchanged. */
export async function cancelJob(
  database: Database,
  id: string,
  scope: string[] | null,
  by: Actor,
): Promise<Job> {
  await findJob(database, id, scope);
  const now = await databaseInstant(database);
  await database.transaction(async (query) => {
    const [job] = (await query(cancelJobQuery, { id, now })).rows;
    if (job !== undefined) await recordJobEnd(query, job, 'cancelled', by);
  });
  return findJob(database, id, scope);
}

/** Reads a page of a job's outcomes, sorted by tenant. The first page is after ''. */
export async function readOutcomePage(
  database: Pick<Database, 'query'>,
  page: { job: string; after: string; scope: string[] | null; limit: number },
  filter: OutcomeFilter = NO_FILTER,
): Promise<JobOutcome[]> {
  return (await database.query(listOutcomesQuery, { ...page, ...filter })).rows;
}

/** Counts the outcomes on all pages. */
export async function countOutcomes(database: Database, selection: OutcomeSelection): Promise<number> {
  return (await database.query(countOutcomesQuery, selection)).rows[0]?.total ?? 0;
}

/** Returns a job's outcome for a tenant, or undefined if the job has recorded none. */
export async function findOutcome(
  database: Database,
  job: string,
  tenant: string,
): Promise<(JobOutcome & { details: unknown }) | undefined> {
  return (await database.query(findOutcomeQuery, { tenant, job })).rows[0];
}

/** Removes a job's outcome for a tenant. */
export async function removeOutcome(query: QueryExecutor, job: string, tenant: string): Promise<void> {
  await query(deleteOutcomeQuery, { tenant, job });
}

/** Adds counts by name. */
export function addCounts(...all: Counts[]): Counts {
  const sum: Counts = {};
  for (const counts of all)
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

const JOBS_A_BATCH = 100;
const OUTCOMES_A_PAGE = 500;

/**
 * Adds up a job's outcomes, after some were replaced. On Citus, the outcomes for a job over certain tenants come only
 * from these tenants' nodes.
 *
 * @param readCount name of the count that tenants without an outcome have too, so that it remains as in the job
 */
export async function sumOutcomes(
  database: Database,
  { id, counts, onlyTenants: scope }: Pick<Job, 'id' | 'counts' | 'onlyTenants'>,
  readCount: string | undefined,
): Promise<Pick<Job, 'counts' | 'tenantsFailed' | 'isComplete'>> {
  const zeros = Object.fromEntries(Object.keys(counts).map((name) => [name, 0]));
  const sum = { counts: zeros as Counts, tenantsFailed: 0, isComplete: true };
  const outcomes = readPages<JobOutcome>(
    (last) =>
      readOutcomePage(database, { job: id, after: last?.tenant ?? '', scope, limit: OUTCOMES_A_PAGE }),
    OUTCOMES_A_PAGE,
  );
  for await (const outcome of outcomes) {
    sum.counts = addCounts(sum.counts, outcome.counts);
    if (outcome.error !== null) sum.tenantsFailed++;
    sum.isComplete &&= outcome.isComplete;
  }
  if (readCount !== undefined) sum.counts[readCount] = counts[readCount] ?? 0;
  return sum;
}

/** Deletes the jobs that ended more than `JOB_DAYS` ago, with their outcomes. Throws `DatabaseError`. */
export async function deleteExpiredJobs(database: Database, at?: Date): Promise<number> {
  const now = at ?? new Date(await databaseInstant(database));
  const before = new Date(now.getTime() - JOB_DAYS * DAY_MS).toISOString();
  let deleted = 0;
  for (;;) {
    const { rows } = await database.query(listExpiredQuery, { before, limit: JOBS_A_BATCH });
    for (const { id } of rows) {
      await deleteOutcomes(database, id);
      await database.query(deleteJobQuery, { id });
    }
    deleted += rows.length;
    if (rows.length < JOBS_A_BATCH) return deleted;
  }
}

async function deleteOutcomes(database: Database, job: string): Promise<void> {
  for (;;) {
    const page = { job, after: '', scope: null, limit: OUTCOMES_A_PAGE };
    const outcomes = await readOutcomePage(database, page);
    for (const { tenant } of outcomes) await removeOutcome(database.query, job, tenant);
    if (outcomes.length < OUTCOMES_A_PAGE) return;
  }
}
