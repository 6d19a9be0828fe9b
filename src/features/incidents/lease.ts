import { databaseInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor } from '../../core/database/query.ts';
import { type Counts, JOB_COLUMNS, type RunningJob } from './jobs.ts';
import type { TenantSelection } from './tenant-selection.ts';

/* A job's lease: a replica runs the job while it holds the lease. */

/** Time after which another replica may continue a job whose replica has ended. */
const LEASE_MS = 15_000;

/** A job as its replica claims it. */
export interface ClaimedJob extends RunningJob {
  /** `Position` as JSON; empty before the first tenant. */
  position: string;
  /** IDs of the tenants that have arrived since the job was created (src/core/tenants/arrivals.ts). */
  arrived: string[];
}

const CLAIMABLE = `ended_at IS NULL AND kind = ANY ($kinds::text[]) AND (lease_until IS NULL OR lease_until < $now::text::timestamptz)`;

/** Takes the lease for the job that was claimed least recently. */
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

type Held = { id: string; holder: string };

const findClaimedQuery = defineQuery<Held, ClaimedJob>(
  'find_claimed_job',
  `SELECT ${JOB_COLUMNS}, texts, position, arrived FROM jobs WHERE ${HELD}`,
);

type State = {
  position: string;
  tenantsDone: number;
  tenantsFailed: number;
  isComplete: boolean;
  counts: string;
  progress: string | null;
};

/** Saves a job's state, and extends its lease. Returns the fields that others change. */
const saveQuery = defineQuery<
  Held & State & { leaseUntil: string },
  { onlyTenants: string[] | null; selection: TenantSelection; arrived: string[] }
>(
  'save_job',
  `
UPDATE jobs SET lease_until = $leaseUntil::text::timestamptz, position = $position,
  tenants_done = $tenantsDone::bigint, tenants_failed = $tenantsFailed::bigint, is_complete = $isComplete::boolean,
  counts = $counts::text::jsonb, progress = $progress::text::jsonb
WHERE ${HELD}
RETURNING only_tenants AS "onlyTenants", selection, arrived
`,
);

/** The job becomes claimable at `at`; null means immediately. */
const releaseQuery = defineQuery<Held & { at: string | null }>(
  'release_job',
  `UPDATE jobs SET holder = NULL, lease_until = $at::text::timestamptz, progress = NULL WHERE ${HELD}`,
);

/** Ends a job, unless more tenants than `arrivals` have arrived. */
const endQuery = defineQuery<Held & { now: string; isComplete: boolean; arrivals: number }>(
  'end_job',
  `
UPDATE jobs SET state = 'done', ended_at = $now::text::timestamptz, texts = NULL, position = '', progress = NULL,
  holder = NULL, lease_until = NULL, is_complete = $isComplete::boolean
WHERE ${HELD} AND cardinality(arrived) = $arrivals::integer
`,
);

/** Thrown when the replica has lost a job's lease: the job was cancelled, or another replica continues it. */
export class LeaseLost extends Error {}

/** The lease for a job that this replica has claimed. */
export class Lease {
  readonly #query: QueryExecutor;
  readonly #held: Held;
  readonly #claimedAt: { database: string; local: number };
  readonly job: ClaimedJob;

  private constructor(query: QueryExecutor, held: Held, now: string, job: ClaimedJob) {
    this.#query = query;
    this.#held = held;
    this.#claimedAt = { database: now, local: performance.now() };
    this.job = job;
  }

  /** Claims the job that was claimed least recently. Returns undefined if no job can be claimed. */
  static async claim(database: Database, holder: string, kinds: string[]): Promise<Lease | undefined> {
    const { query } = database;
    const now = await databaseInstant(database);
    for (;;) {
      const [claimed] = (
        await query(claimQuery, { holder, now, leaseUntil: timeAfter(now, LEASE_MS), kinds })
      ).rows;
      if (claimed === undefined) return undefined;
      const held = { id: claimed.id, holder };
      const [job] = (await query(findClaimedQuery, held)).rows;
      // Without a row, the job was cancelled in the meantime. Other jobs may wait.
      if (job !== undefined) return new Lease(query, held, now, job);
    }
  }

  /**
   * Saves the job's state, extends the lease, and updates the job fields that others change.
   *
   * @throws LeaseLost
   */
  async save(progress: Counts | null): Promise<void> {
    const { position, tenantsDone, tenantsFailed, isComplete, counts } = this.job;
    const state = {
      position,
      tenantsDone,
      tenantsFailed,
      isComplete,
      counts: JSON.stringify(counts),
      progress: progress && JSON.stringify(progress),
    };
    const leaseUntil = this.#timeIn(LEASE_MS);
    const [row] = (await this.#query(saveQuery, { ...this.#held, ...state, leaseUntil })).rows;
    if (row === undefined) throw new LeaseLost();
    Object.assign(this.job, row);
  }

  /** Gives the lease back. Replicas may claim the job after `ms`. */
  async release(ms: number): Promise<void> {
    await this.#query(releaseQuery, { ...this.#held, at: ms === 0 ? null : this.#timeIn(ms) });
  }

  /** Ends the job. Returns false if the lease is lost, or more tenants than `arrivals` have arrived. */
  async end(
    query: QueryExecutor,
    state: { now: string; isComplete: boolean; arrivals: number },
  ): Promise<boolean> {
    return (await query(endQuery, { ...this.#held, ...state })).count === 1;
  }

  /** Estimates a database time without a query. */
  #timeIn(ms: number): string {
    const { database, local } = this.#claimedAt;
    return timeAfter(database, performance.now() - local + ms);
  }
}

/** Returns a time in ISO 8601 that is `ms` later. */
export function timeAfter(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}
