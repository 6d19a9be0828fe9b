import type { QueryExecutor } from '../../core/database/query.ts';
import type { Counts, RunningJob } from './jobs.ts';

/** A job's result for one tenant. */
export interface TenantResult {
  counts: Counts;
  /** Whether the tenant was processed completely, so that the counts are exact. */
  isComplete: boolean;
  /** Details for `findOutcome`, without contents and paths. Null to record no outcome for the tenant. */
  details: object | null;
}

/** Runs a step in one tenant: a page of versions, or one transaction. Steps from several jobs alternate. */
export type StepRunner = <T>(step: () => Promise<T>) => Promise<T>;

/** A job's work in one tenant. */
export interface TenantRun {
  signal: AbortSignal;
  /** Every step that takes long must be a turn, so that a large tenant does not delay other jobs. */
  turn: StepRunner;
  /** Shows the tenant's counts until the result. */
  report(counts: Counts): void;
}

/** A kind of job over tenants. */
export interface JobKind {
  readonly kind: string;
  /** Name of the count for versions that were read. Counts from repeated work are not added to this count. */
  readonly readCount?: string;
  /**
   * Processes one tenant. Must be safe to repeat, because a replica may end before it records the result, and because
   * tenants that have changed meanwhile are processed again at the job's end.
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
