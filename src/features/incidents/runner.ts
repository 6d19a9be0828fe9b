import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../core/database/database.ts';
import { ConcurrencyLimiter } from '../../core/lib/concurrency-limiter.ts';
import { storedActor } from '../../core/memory/origin.ts';
import type { JobKind } from './job-kind.ts';
import { JobRun } from './job-run.ts';
import type { RunningJob } from './jobs.ts';
import { Lease } from './lease.ts';

/**
 * Limits on steps that a replica runs at the same time: for all jobs, and for one admin's jobs. The steps for several
 * admins alternate.
 */
const MAX_STEPS = { total: 4, perKey: 3 };
/** The embedded database executes one statement at a time, and blocks requests meanwhile. */
const MAX_STEPS_EMBEDDED = { total: 1, perKey: 1 };
/** Interval in which a replica that runs jobs looks for more jobs. */
const CLAIM_MS = 1000;
const MAX_WAIT_MS = 2 ** 31 - 1;

/**
 * Runs stored jobs: every job that no other replica runs, at the same time. Jobs share a few steps, so a large job or a
 * large tenant delays another job only by a step. Any number of replicas may run jobs.
 */
export class JobRunner {
  readonly #database: Database;
  readonly #kinds: ReadonlyMap<string, JobKind>;
  readonly #onFault: (job: RunningJob, error: unknown) => void;
  readonly #holder = randomUUID();
  readonly #stopping = new AbortController();
  readonly #steps: ConcurrencyLimiter;
  readonly #running = new Set<Promise<void>>();

  /** @param onFault receives unexpected errors from a tenant */
  constructor(
    database: Database,
    kinds: readonly JobKind[],
    onFault: (job: RunningJob, error: unknown) => void = () => {},
  ) {
    this.#database = database;
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
    this.#onFault = onFault;
    const steps = database.kind === 'pglite' ? MAX_STEPS_EMBEDDED : MAX_STEPS;
    const limits = { ...steps, maxWaiting: Number.POSITIVE_INFINITY, maxWaitMs: MAX_WAIT_MS };
    this.#steps = new ConcurrencyLimiter(limits, (why) => new Error(`A step did not start: ${why}.`));
  }

  /**
   * Runs jobs until no job is left that this replica can run.
   *
   * @returns whether there was a job
   * @throws the error from a job that cannot continue now; the other jobs go on
   */
  async run(): Promise<boolean> {
    const isStopped = () => this.#stopping.signal.aborted;
    for (let ran = false; ; ran = true) {
      for (let lease = await this.#claim(); lease; lease = await this.#claim()) this.#start(lease);
      if (this.#running.size === 0 || isStopped()) return ran;
      await Promise.race([...this.#running, delay(CLAIM_MS, undefined, { ref: false })]);
    }
  }

  /** Stops after the current steps. Another replica can continue the jobs immediately. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#kinds.values()].map((kind) => kind.close?.()));
    await Promise.allSettled(this.#running);
  }

  async #claim(): Promise<Lease | undefined> {
    if (this.#stopping.signal.aborted) return undefined;
    return Lease.claim(this.#database, this.#holder, [...this.#kinds.keys()]);
  }

  #start(lease: Lease): void {
    const { job } = lease;
    const kind = this.#kinds.get(job.kind);
    if (kind === undefined) return;
    const admin = storedActor(job.createdBy);
    const run = new JobRun(this.#database, kind, lease, {
      stopping: this.#stopping.signal,
      step: (work, signal) => this.#steps.run(admin, work, signal),
      onFault: (error) => this.#onFault(job, error),
    });
    const running = run.run().finally(() => this.#running.delete(running));
    this.#running.add(running);
    // An error that no `run` caller waits for occurs again when the job is claimed again.
    running.catch(() => {});
  }
}
