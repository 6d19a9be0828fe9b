import { setTimeout as delay } from 'node:timers/promises';
import { databaseInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { DatabaseError, FOREIGN_KEY_VIOLATION } from '../../core/database/database-errors.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { SharedRuns } from '../../core/lib/shared-runs.ts';
import type { JobKind, TenantResult } from './job-kind.ts';
import {
  addCounts,
  findOutcome,
  type JobOutcome,
  recordJobEnd,
  recordOutcome,
  removeOutcome,
  sumOutcomes,
} from './jobs.ts';
import { type ClaimedJob, type Lease, LeaseLost, timeAfter } from './lease.ts';
import { jobPosition, type Position, passStart, TenantOrder } from './position.ts';
import { selectTenants } from './tenant-selection.ts';

/** Number of tenants that a job processes at the same time. */
const MAX_CONCURRENT_TENANTS = 4;
const TENANTS_A_PAGE = 100;
/** Interval in which a replica extends its lease, and notices that the job was cancelled. */
const RENEW_MS = 1000;
/** Number of attempts for a tenant whose statements run into timeouts. */
const ATTEMPTS = 3;
const RETRY_MS = 1000;
/** Time after which a job that could not continue is tried again. */
const RELEASE_MS = 1000;
/** Limit on passes over the tenants. */
const MAX_PASSES = 6;
/** A write commits at most this long after the change time. */
const COMMIT_MS = 10_000;

export interface JobRunOptions {
  stopping: AbortSignal;
  /** Runs a step when it is the job's turn. Rejects if the signal is aborted first. */
  step<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Receives unexpected errors from a tenant. */
  onFault(error: unknown): void;
}

type Attempt = { result: TenantResult | null; error: string | null };

/**
 * Runs one job while this replica holds its lease.
 *
 * The first pass processes all selected tenants, sorted by ID. Tenants may change meanwhile, arrive, or be renamed. So
 * each further pass processes the tenants that have changed or arrived since the previous pass started, until a pass
 * has no new finding.
 */
export class JobRun {
  readonly #database: Database;
  readonly #kind: JobKind;
  readonly #job: ClaimedJob;
  readonly #options: JobRunOptions;
  readonly #lease: Lease;
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  readonly #saves: SharedRuns<void>;
  readonly #reports = new Map<string, TenantResult['counts']>();
  #position: Position;

  constructor(database: Database, kind: JobKind, lease: Lease, options: JobRunOptions) {
    this.#database = database;
    this.#kind = kind;
    this.#job = lease.job;
    this.#options = options;
    this.#lease = lease;
    this.#signal = AbortSignal.any([this.#ended.signal, options.stopping]);
    this.#saves = new SharedRuns(() => this.#save());
    this.#position = jobPosition(lease.job);
  }

  /** Runs the job until it ends or loses its lease. Throws if the job cannot continue now. */
  async run(): Promise<void> {
    const renewing = this.#renew();
    try {
      for (let isOver = false; !isOver; ) {
        await this.#processTenants();
        isOver = await this.#endPass();
      }
    } catch (error) {
      if (this.#ended.signal.reason instanceof LeaseLost || error instanceof LeaseLost) return;
      const isStopping = this.#options.stopping.aborted;
      await this.#lease.release(isStopping ? 0 : RELEASE_MS);
      if (!isStopping) throw error;
    } finally {
      this.#ended.abort();
      await renewing;
    }
  }

  #now(): Promise<string> {
    return databaseInstant(this.#database);
  }

  /** Extends the lease until the end, and notices its loss. */
  async #renew(): Promise<void> {
    while (await waitUnlessAborted(RENEW_MS, this.#ended.signal)) {
      try {
        await this.#saves.run();
      } catch (error) {
        // After another error, the next attempt may succeed. If the lease expires before that, a save finds another
        // holder.
        if (error instanceof LeaseLost) this.#ended.abort(error);
      }
    }
  }

  async #save(): Promise<void> {
    const isFirst = this.#position.pass === 1;
    const progress = isFirst && this.#reports.size > 0 ? addCounts(...this.#reports.values()) : null;
    this.#job.position = JSON.stringify(this.#position);
    await this.#lease.save(progress);
  }

  /** Processes the pass's tenants after the position, several at a time. */
  async #processTenants(): Promise<void> {
    this.#position.at ||= await this.#now();
    const order = new TenantOrder(this.#position);
    const running = new Set<Promise<void>>();
    try {
      for await (const tenant of this.#tenants()) {
        if (!order.add(tenant)) continue;
        const processing = this.#process(tenant, order)
          .catch((error) => this.#ended.abort(error))
          .finally(() => running.delete(processing));
        running.add(processing);
        if (running.size >= MAX_CONCURRENT_TENANTS) await Promise.race(running);
        this.#signal.throwIfAborted();
      }
    } catch (error) {
      this.#ended.abort(error);
    }
    await Promise.all(running);
    this.#signal.throwIfAborted();
  }

  async *#tenants(): AsyncGenerator<string> {
    const { changed, arrivals } = this.#position;
    for (let { after } = this.#position; ; ) {
      const { selection, onlyTenants, arrived } = this.#job;
      const tenants = await selectTenants(this.#database, selection, onlyTenants, {
        after,
        limit: TENANTS_A_PAGE,
        changedSince: changed?.since ?? null,
        arrived: changed === null ? [] : arrived.slice(changed.arrivals, arrivals),
      });
      yield* tenants;
      const last = tenants.at(-1);
      if (last === undefined || tenants.length < TENANTS_A_PAGE) return;
      after = last;
    }
  }

  async #process(tenant: string, order: TenantOrder): Promise<void> {
    const job = this.#job;
    const { error, result } = await this.#attempt(tenant);
    // A failed tenant keeps its counts so far.
    const soFar = error === null ? {} : (this.#reports.get(tenant) ?? {});
    this.#reports.delete(tenant);
    const {
      counts = soFar,
      isComplete = error === null,
      details = error === null ? null : {},
    } = result ?? {};
    const outcome = { error, isComplete, counts };
    if (this.#position.pass > 1) await this.#replaceOutcome(tenant, details === null ? null : outcome);
    if (details !== null) await this.#record(tenant, { ...outcome, details });
    if (this.#position.pass === 1) {
      job.counts = addCounts(job.counts, counts);
      job.isComplete &&= isComplete;
      job.tenantsDone++;
      if (error !== null) job.tenantsFailed++;
    }
    order.finish(tenant);
    await this.#saves.run();
  }

  /** Notes whether a tenant's outcome has changed since the previous pass, and removes an outcome that has ended. */
  async #replaceOutcome(
    tenant: string,
    outcome: Pick<JobOutcome, 'error' | 'isComplete' | 'counts'> | null,
  ): Promise<void> {
    const before = await findOutcome(this.#database, this.#job.id, tenant);
    if (before !== undefined && outcome === null)
      await removeOutcome(this.#database.query, this.#job.id, tenant);
    const { readCount = '' } = this.#kind;
    const found = (each: typeof outcome | undefined) =>
      each && [each.error, each.isComplete, Object.entries({ ...each.counts, [readCount]: 0 }).sort()];
    if (before !== undefined || outcome !== null) this.#position.hasOutcomes = true;
    if (JSON.stringify(found(before) ?? null) !== JSON.stringify(found(outcome) ?? null))
      this.#position.hasFound = true;
  }

  async #attempt(tenant: string): Promise<Attempt> {
    const signal = this.#signal;
    const run = {
      signal,
      turn: <T>(step: () => Promise<T>) => this.#options.step(step, signal),
      report: (counts: TenantResult['counts']) => void this.#reports.set(tenant, counts),
    };
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      try {
        return { result: await this.#kind.work(this.#job, tenant, run), error: null };
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof DatabaseError && error.isUnavailable) throw error;
        const isBusy = error instanceof DatabaseError && error.code === 'database_busy';
        if (!isBusy || attempt === ATTEMPTS) {
          const isExpected = error instanceof ServiceError && !(error instanceof DatabaseError);
          if (!isExpected) this.#options.onFault(error);
          return { result: null, error: error instanceof ServiceError ? error.code : 'internal_error' };
        }
        await delay(RETRY_MS, undefined, { signal });
      }
    }
  }

  async #record(
    tenant: string,
    { counts, details, ...result }: TenantResult & { error: string | null },
  ): Promise<void> {
    try {
      const at = await this.#now();
      const outcome = { tenant, job: this.#job.id, at, counts, details, ...result };
      await recordOutcome(this.#database.query, outcome);
    } catch (failure) {
      // The tenant was deleted in the meantime.
      if (!(failure instanceof DatabaseError && failure.sqlState === FOREIGN_KEY_VIOLATION)) throw failure;
    }
  }

  /** Ends the job after a pass without a new finding, or else starts the next pass. Returns whether the job has ended. */
  async #endPass(): Promise<boolean> {
    const { pass, at, arrivals, changed, hasFound, hasOutcomes } = this.#position;
    const job = this.#job;
    if (hasOutcomes) Object.assign(job, await sumOutcomes(this.#database, job, this.#kind.readCount));
    await this.#saves.run();
    const isFirst = changed === null;
    const hadArrivals = !isFirst && arrivals > changed.arrivals;
    const isLast = pass >= MAX_PASSES;
    if (isLast || !(isFirst || hasFound || hadArrivals)) {
      const isUnfinished = isLast && (hasFound || hadArrivals || job.arrived.length > arrivals);
      const state = { isComplete: job.isComplete && !isUnfinished, arrivals: job.arrived.length };
      if ((isLast || state.arrivals === arrivals) && (await this.#end(state))) return true;
      // Throws if the lease is lost. Otherwise, a tenant has arrived.
      await this.#saves.run();
    }
    if (isFirst || hadArrivals)
      await delay(this.#kind.pauseMs?.(job) ?? 0, undefined, { signal: this.#signal });
    const since = { since: timeAfter(at, -COMMIT_MS), arrivals };
    this.#position = passStart(pass + 1, await this.#now(), job.arrived.length, since);
    return false;
  }

  /** Ends the job. Returns false if the lease is lost, or more tenants have arrived. */
  async #end(given: { isComplete: boolean; arrivals: number }): Promise<boolean> {
    const state = { ...given, now: await this.#now() };
    const job = { ...this.#job, state: 'done', isComplete: given.isComplete } as const;
    const end = (finishes: boolean) =>
      this.#database.transaction(async (query) => {
        const isEnded = await this.#lease.end(query, state);
        if (isEnded && finishes) await this.#kind.finish?.(job, query);
        if (isEnded) await recordJobEnd(query, job, job.state, job.createdBy);
        return isEnded;
      });
    try {
      return await end(true);
    } catch (error) {
      // Another attempt would fail in the same way.
      if (!(error instanceof ServiceError) || error instanceof DatabaseError) throw error;
      this.#options.onFault(error);
      return end(false);
    }
  }
}

/** Whether the time passed before the signal. */
function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal, ref: false }).catch(() => false);
}
