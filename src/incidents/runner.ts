import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { databaseInstant } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import { DatabaseError, FOREIGN_KEY_VIOLATION } from '../database/errors.ts';
import { defineQuery } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { type Counts, JOB_COLUMNS, type RunningJob, recordOutcome } from './jobs.ts';
import { selectTenants } from './selection.ts';

/** Result of a job for one tenant. */
export interface TenantResult {
  counts: Counts;
  /** Whether the tenant was processed completely, so that the counts are exact. */
  isComplete: boolean;
  /** Details for `findOutcome`, without contents and paths. Null to record no outcome of the tenant. */
  details: object | null;
}

/** A kind of job over tenants. */
export interface JobKind {
  readonly kind: string;
  /**
   * Processes one tenant. Must be safe to repeat, because a replica may end before it records the result.
   *
   * @param report shows the counts of the tenant until the result
   * @returns the result, or null for no counts and no outcome
   * @throws ServiceError if the tenant failed; the job then continues with the next tenant
   */
  work(
    job: RunningJob,
    tenant: string,
    signal: AbortSignal,
    report: (counts: Counts) => void,
  ): Promise<TenantResult | null>;
  /** Finishes a job after its last tenant. Must be safe to repeat. */
  finish?(job: RunningJob): Promise<void>;
  close?(): Promise<void>;
}

/** Time after which another replica may continue the job of a replica that has ended. */
const LEASE_MS = 15_000;
/** Interval in which a replica extends its lease, and notices that the job was cancelled. */
const RENEW_MS = 1000;
/** Time after which a job makes way for other jobs. */
const SLICE_MS = 5000;
const TENANTS_A_PAGE = 100;
/** Number of attempts for a tenant whose statements run into timeouts. */
const ATTEMPTS = 3;
const RETRY_MS = 1000;

const CLAIMABLE = `ended_at IS NULL AND kind = ANY ($kinds::text[]) AND (lease_until IS NULL OR lease_until < $now::text::timestamptz)`;

/** Takes the lease of the job whose last slice is the oldest. */
const claimQuery = defineQuery<
  { holder: string; now: string; leaseUntil: string; kinds: string[] },
  { id: string }
>(
  'claim_job',
  `
UPDATE jobs SET state = 'running', holder = $holder, lease_until = $leaseUntil::text::timestamptz,
  slice_at = $now::text::timestamptz, progress = NULL
WHERE id = (SELECT id FROM jobs WHERE ${CLAIMABLE} ORDER BY slice_at, id LIMIT 1) AND ${CLAIMABLE}
RETURNING id
`,
);

const HELD = `id = $id::text::uuid AND holder = $holder AND ended_at IS NULL`;

/** Reads a claimed job. On Citus, RETURNING cannot format times. */
const readClaimedQuery = defineQuery<{ id: string; holder: string }, RunningJob>(
  'read_claimed_job',
  `SELECT ${JOB_COLUMNS}, texts, position FROM jobs WHERE ${HELD}`,
);

/** Extends the lease. `count` is 0 if the job was cancelled, or another replica has taken the lease. */
const renewQuery = defineQuery<{ id: string; holder: string; leaseUntil: string; progress: string | null }>(
  'renew_job',
  `UPDATE jobs SET lease_until = $leaseUntil::text::timestamptz, progress = $progress::text::jsonb WHERE ${HELD}`,
);

const releaseQuery = defineQuery<{ id: string; holder: string }>(
  'release_job',
  `UPDATE jobs SET holder = NULL, lease_until = NULL, progress = NULL WHERE ${HELD}`,
);

/** Records that a tenant is done. `count` is 0 as for `renewQuery`. */
const advanceQuery = defineQuery<{
  id: string;
  holder: string;
  position: string;
  failed: number;
  isComplete: boolean;
  counts: string;
}>(
  'advance_job',
  `
UPDATE jobs SET position = $position, tenants_done = tenants_done + 1,
  tenants_failed = tenants_failed + $failed::bigint,
  is_complete = is_complete AND $isComplete::boolean, counts = $counts::text::jsonb, progress = NULL
WHERE ${HELD}
`,
);

const endQuery = defineQuery<{ id: string; holder: string; now: string }>(
  'end_job',
  `
UPDATE jobs SET state = 'done', ended_at = $now::text::timestamptz, texts = NULL, position = '', progress = NULL,
  holder = NULL, lease_until = NULL
WHERE ${HELD}
`,
);

/** Thrown when the replica has lost the lease of a job: the job was cancelled, or another replica continues it. */
class LeaseLost extends Error {}

/** Runs stored jobs, one at a time, tenant after tenant. Any number of replicas may run jobs. */
export class JobRunner {
  readonly #database: Database;
  readonly #kinds: ReadonlyMap<string, JobKind>;
  readonly #onFault: (job: RunningJob, error: unknown) => void;
  readonly #holder = randomUUID();
  readonly #stopping = new AbortController();

  /** @param onFault receives unexpected errors of a tenant */
  constructor(
    database: Database,
    kinds: readonly JobKind[],
    onFault: (job: RunningJob, error: unknown) => void = () => {},
  ) {
    this.#database = database;
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
    this.#onFault = onFault;
  }

  /** Runs slices of jobs until no job is left that this replica can run. Throws `DatabaseError`. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted && (await this.runSlice()));
  }

  /**
   * Runs a slice of the job that has waited longest.
   *
   * @returns false if there is no job
   */
  async runSlice(): Promise<boolean> {
    const now = await databaseInstant(this.#database);
    const lease = { holder: this.#holder, now, leaseUntil: later(now, LEASE_MS) };
    const kinds = [...this.#kinds.keys()];
    const [claimed] = (await this.#database.query(claimQuery, { ...lease, kinds })).rows;
    if (claimed === undefined) return false;
    const { id } = claimed;
    const [job] = (await this.#database.query(readClaimedQuery, { id, holder: this.#holder })).rows;
    const kind = job && this.#kinds.get(job.kind);
    // The job was cancelled in the meantime. Other jobs may wait.
    if (job === undefined || kind === undefined) return true;
    const ended = new AbortController();
    const renewing = this.#renew(job, ended);
    try {
      const signal = AbortSignal.any([ended.signal, this.#stopping.signal]);
      if (await this.#work(job, kind, signal)) {
        await this.#finish(job, kind);
        await this.#end(job);
      } else await this.#release(job);
    } catch (error) {
      if (!(ended.signal.reason instanceof LeaseLost || error instanceof LeaseLost)) {
        await this.#release(job);
        if (!this.#stopping.signal.aborted) throw error;
      }
    } finally {
      ended.abort();
      await renewing;
    }
    return true;
  }

  /** Stops after the current step. Another replica can continue the job at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#kinds.values()].map((kind) => kind.close?.()));
  }

  /** Extends the lease until `ended`, and aborts it when the lease is lost. */
  async #renew(job: RunningJob, ended: AbortController): Promise<void> {
    while (await waited(RENEW_MS, ended.signal)) {
      try {
        const leaseUntil = later(await databaseInstant(this.#database), LEASE_MS);
        const { count } = await this.#database.query(renewQuery, {
          id: job.id,
          holder: this.#holder,
          leaseUntil,
          progress: job.progress && JSON.stringify(job.progress),
        });
        if (count === 0) ended.abort(new LeaseLost());
      } catch {
        // The next attempt may succeed. If the lease expires before that, `advanceQuery` finds another holder.
      }
    }
  }

  /** @returns false if the slice ended before the last tenant */
  async #work(job: RunningJob, kind: JobKind, signal: AbortSignal): Promise<boolean> {
    const sliceEnd = performance.now() + SLICE_MS;
    for (;;) {
      const page = { after: job.position, limit: TENANTS_A_PAGE };
      const tenants = await selectTenants(this.#database, job.selection, job.onlyTenants, page);
      for (const tenant of tenants) {
        await this.#workOn(job, kind, tenant, signal);
        if (performance.now() > sliceEnd) return false;
      }
      if (tenants.length < TENANTS_A_PAGE) return true;
    }
  }

  async #workOn(job: RunningJob, kind: JobKind, tenant: string, signal: AbortSignal): Promise<void> {
    const { result, error } = await this.#attempt(job, kind, tenant, signal);
    // A failed tenant keeps its counts so far.
    const soFar = error === null ? {} : (job.progress ?? {});
    job.progress = null;
    const {
      counts = soFar,
      isComplete = error === null,
      details = error === null ? null : {},
    } = result ?? {};
    if (details !== null) await this.#record(job, tenant, { error, isComplete, counts, details });
    job.counts = sumOf(job.counts, counts);
    job.position = tenant;
    const { count } = await this.#database.query(advanceQuery, {
      id: job.id,
      holder: this.#holder,
      position: tenant,
      failed: error === null ? 0 : 1,
      isComplete,
      counts: JSON.stringify(job.counts),
    });
    if (count === 0) throw new LeaseLost();
  }

  async #attempt(
    job: RunningJob,
    kind: JobKind,
    tenant: string,
    signal: AbortSignal,
  ): Promise<{ result: TenantResult | null; error: string | null }> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      try {
        const report = (counts: Counts) => {
          job.progress = counts;
        };
        return { result: await kind.work(job, tenant, signal, report), error: null };
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof DatabaseError && error.isUnavailable) throw error;
        const isBusy = error instanceof DatabaseError && error.code === 'database_busy';
        if (!isBusy || attempt === ATTEMPTS) {
          const isExpected = error instanceof ServiceError && !(error instanceof DatabaseError);
          if (!isExpected) this.#onFault(job, error);
          return { result: null, error: error instanceof ServiceError ? error.code : 'internal_error' };
        }
        await delay(RETRY_MS, undefined, { signal });
      }
    }
  }

  async #record(
    { id: job }: RunningJob,
    tenant: string,
    { counts, details, ...result }: TenantResult & { error: string | null },
  ): Promise<void> {
    try {
      const at = await databaseInstant(this.#database);
      await recordOutcome(this.#database.query, { tenant, job, at, counts, details, ...result });
    } catch (failure) {
      // The tenant was deleted in the meantime.
      if (!(failure instanceof DatabaseError && failure.sqlState === FOREIGN_KEY_VIOLATION)) throw failure;
    }
  }

  async #finish(job: RunningJob, kind: JobKind): Promise<void> {
    try {
      await kind.finish?.(job);
    } catch (error) {
      // Another attempt would fail in the same way.
      if (!(error instanceof ServiceError) || error instanceof DatabaseError) throw error;
      this.#onFault(job, error);
    }
  }

  async #end({ id }: RunningJob): Promise<void> {
    const now = await databaseInstant(this.#database);
    await this.#database.query(endQuery, { id, holder: this.#holder, now });
  }

  async #release({ id }: RunningJob): Promise<void> {
    await this.#database.query(releaseQuery, { id, holder: this.#holder });
  }
}

/** Returns a time in ISO 8601 that is `ms` later. */
function later(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}

/** Whether the time passed before the signal. */
function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal, ref: false }).catch(() => false);
}

function sumOf(one: Counts, other: Counts): Counts {
  const sum = { ...one };
  for (const [name, count] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
