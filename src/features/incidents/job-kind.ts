import type { QueryExecutor } from '../../core/database/query.ts';
import type { Counts, RunningJob } from './jobs.ts';

/** Result of a job for one tenant. */
export interface TenantResult {
  counts: Counts;
  /** Whether the tenant was processed completely, so that the counts are exact. */
  isComplete: boolean;
  /** Details for `findOutcome`, without contents and paths. Null to record no outcome of the tenant. */
  details: object | null;
}

/** Runs a step of the work in one tenant: a page of versions, or one transaction. Steps of several jobs alternate. */
export type StepRunner = <T>(step: () => Promise<T>) => Promise<T>;

/** The work of a job in one tenant. */
export interface TenantRun {
  signal: AbortSignal;
  /** Every step that takes long must be a turn, so that a large tenant does not delay other jobs. */
  turn: StepRunner;
  /** Shows the counts of the tenant until the result. */
  report(counts: Counts): void;
}

/** A kind of job over tenants. */
export interface JobKind {
  readonly kind: string;
  /** Name of the count of versions that were read. Counts of repeated work are not added to it. */
  readonly readCount?: string;
  /**
   * Processes one tenant. Must be safe to repeat, because a replica may end before it records the result, and because
   * tenants that have changed meanwhile are processed again at the end of the job.
   *
   * @returns the result, or null for no counts and no outcome
   * @throws ServiceError if the tenant failed; the job then continues with the next tenant
   */
  work(job: RunningJob, tenant: string, run: TenantRun): Promise<TenantResult | null>;
  /** Returns the time in milliseconds before changed tenants are processed again. The default is 0. */
  pauseMs?(job: RunningJob): number;
  /** Finishes a job after its last tenant, in the transaction that ends the job. */
  finish?(job: RunningJob, query: QueryExecutor): Promise<void>;
  close?(): Promise<void>;
}
