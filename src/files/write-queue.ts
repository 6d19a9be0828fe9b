import { AsyncResource } from 'node:async_hooks';
import { isWorthSending } from '../database/batch-queue.ts';
import { DatabaseError, LOCK_NOT_AVAILABLE } from '../database/errors.ts';
import {
  countCharacters,
  type QueryExecutor,
  type StatementTracer,
  servingCalls,
  type TracedRequest,
  type Value,
} from '../database/query.ts';
import { type CallFunction, type CommonOutcome, callAll, type WriteFunction } from './write-function.ts';

/** In characters. A larger call does not share a statement with other tenants, which would wait for it. */
const MAX_SHARED_CHARACTERS = 32 * 1024;
/** A tenant with this many waiting calls gets a statement of its own, so that no other tenant waits for all of them. */
const MIN_OWN_CALLS = 4;
/** In characters, of all calls in a statement. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

interface QueuedWrite {
  readonly tenant: string;
  /** Writes of one lane may share a statement. A lane has one statement at a time. */
  lane: string;
  readonly characters: number;
  /** The traced requests that write. */
  readonly requests: readonly TracedRequest[];
  readonly work: FunctionCall | (() => Promise<unknown>);
  resolve(outcome: unknown): void;
  reject(error: unknown): void;
}

interface FunctionCall {
  fn: WriteFunction;
  params: Record<string, Value>;
}

/**
 * Combines concurrent writes of this process into statements, which saves commits. Writes of one tenant may share a
 * statement, too, in arrival order. Nothing waits for a batch to fill: while one statement runs, the next one
 * collects.
 *
 * - A tenant has one statement at a time, so a busy tenant waits here and holds no connection.
 * - A statement for several tenants never waits for a lock. It skips a tenant that another session has locked; the
 *   calls of that tenant then go in a statement of their own, which waits. So no two statements wait for each other.
 */
export class WriteQueue {
  readonly #batched: QueryExecutor;
  readonly #single: QueryExecutor;
  readonly #size: number;
  readonly #tracer: StatementTracer | undefined;
  #waiting: QueuedWrite[] = [];
  /** Tenants and lanes with a running statement. */
  readonly #busyTenants = new Set<string>();
  readonly #busyLanes = new Set<string>();
  #isScheduled = false;
  #names = 0;

  /**
   * @param executors.batched runs statements that never wait for a lock; `single` runs the others
   * @param size maximum number of calls in a statement; 1 disables batching
   */
  constructor(
    executors: { batched: QueryExecutor; single: QueryExecutor },
    size: number,
    tracer?: StatementTracer,
  ) {
    this.#batched = executors.batched;
    this.#single = executors.single;
    this.#size = size;
    this.#tracer = tracer;
  }

  readonly call: CallFunction = (fn, params, size = 0) => {
    const { tenant } = params;
    const characters = Math.max(size, countCharacters(params));
    const mayShare = fn.mixesTenants && this.#size > 1 && characters <= MAX_SHARED_CHARACTERS;
    const lane = mayShare ? fn.name : laneOfTenant(fn, tenant);
    return this.#enqueue({ tenant, lane, characters, work: { fn, params } });
  };

  /** Runs other work on a tenant while this queue writes nothing for it. */
  exclusively<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    // Its statements are part of the caller's trace, although the queue starts it.
    return this.#enqueue({ tenant, lane: this.#newLane(), characters: 0, work: AsyncResource.bind(work) });
  }

  #enqueue<T>(write: Pick<QueuedWrite, 'tenant' | 'lane' | 'characters' | 'work'>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const requests = this.#tracer?.current() ?? [];
      this.#waiting.push({ ...write, requests, resolve: resolve as QueuedWrite['resolve'], reject });
      this.#schedule();
    });
  }

  /** Sends the waiting writes after the requests that have already arrived are read. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#dispatch());
  }

  #dispatch(): void {
    this.#isScheduled = false;
    const batches = new Map<string, QueuedWrite[]>();
    /** The lane that a tenant's writes take this time. */
    const lanes = new Map<string, string>();
    const full = new Set<string>();
    const waiting: QueuedWrite[] = [];
    this.#separateBusyTenants();
    for (const write of this.#waiting) {
      const { tenant, lane } = write;
      const batch = batches.get(lane) ?? [];
      const isTenantFree = !this.#busyTenants.has(tenant) && (lanes.get(tenant) ?? lane) === lane;
      if (!isTenantFree || this.#busyLanes.has(lane) || full.has(lane)) {
        waiting.push(write);
      } else if (!this.#hasRoom(batch, write)) {
        // Later writes in its lane wait as well, so that a tenant's calls keep their order.
        full.add(lane);
        waiting.push(write);
      } else {
        lanes.set(tenant, lane);
        batches.set(lane, batch);
        batch.push(write);
      }
    }
    this.#waiting = waiting;
    for (const [lane, writes] of batches) void this.#send(lane, writes);
  }

  /** Moves tenants with many waiting calls of a function out of the shared lane. */
  #separateBusyTenants(): void {
    const shared = new Map<string, QueuedWrite[]>();
    for (const write of this.#waiting) {
      if (typeof write.work === 'function' || !isShared(write.lane, write.work.fn)) continue;
      const own = laneOfTenant(write.work.fn, write.tenant);
      const writes = shared.get(own);
      if (writes) writes.push(write);
      else shared.set(own, [write]);
    }
    for (const [own, writes] of shared) {
      if (writes.length >= MIN_OWN_CALLS) for (const write of writes) write.lane = own;
    }
  }

  #hasRoom(batch: QueuedWrite[], { characters }: QueuedWrite): boolean {
    const sum = batch.reduce((all, each) => all + each.characters, characters);
    return batch.length === 0 || (batch.length < this.#size && sum <= MAX_BATCH_CHARACTERS);
  }

  async #send(lane: string, writes: QueuedWrite[]): Promise<void> {
    this.#busyLanes.add(lane);
    for (const { tenant } of writes) this.#busyTenants.add(tenant);
    const { again, settle } = await this.#execute(lane, writes);
    this.#busyLanes.delete(lane);
    for (const { tenant } of writes) this.#busyTenants.delete(tenant);
    this.#waiting.unshift(...again);
    if (isWorthSending(this.#waiting.length, writes.length)) {
      this.#dispatch();
      setImmediate(settle);
    } else {
      settle();
      if (this.#waiting.length > 0) this.#schedule();
    }
  }

  /** Returns the writes to send again in other lanes, and a function that settles the others. */
  async #execute(lane: string, writes: QueuedWrite[]): Promise<{ again: QueuedWrite[]; settle: () => void }> {
    const [first] = writes as [QueuedWrite, ...QueuedWrite[]];
    try {
      if (typeof first.work === 'function') {
        const result = await first.work();
        return { again: [], settle: () => first.resolve(result) };
      }
      const { fn } = first.work;
      const calls = writes.map(({ work }) => (work as FunctionCall).params);
      const query = isShared(lane, fn) ? this.#batched : this.#single;
      const wait = !isShared(lane, fn);
      const outcomes = await servingCalls(this.#tracer, writes, () => callAll(query, fn, calls, { wait }));
      const again = writes.filter((_, i) => isSkipped(outcomes[i]));
      for (const write of again) write.lane = laneOfTenant(fn, write.tenant);
      const settle = () => {
        for (const [i, write] of writes.entries()) if (!isSkipped(outcomes[i])) write.resolve(outcomes[i]);
      };
      return { again, settle };
    } catch (error) {
      const isUndone =
        error instanceof DatabaseError && !error.outcomeUnknown && error.sqlState !== LOCK_NOT_AVAILABLE;
      // Sent one by one, only the faulty call fails. After a lock timeout, each of them would wait for the lock again.
      if (writes.length > 1 && isUndone) {
        for (const write of writes) write.lane = this.#newLane();
        return { again: writes, settle: () => {} };
      }
      const settle = () => {
        for (const write of writes) write.reject(error);
      };
      return { again: [], settle };
    }
  }

  #newLane(): string {
    return `#${this.#names++}`;
  }
}

/** A skipped write takes the lane of its tenant, which waits for the lock. */
function isSkipped(outcome: { kind: string } | undefined): boolean {
  return outcome?.kind === ('skipped' satisfies CommonOutcome['kind']);
}

function isShared(lane: string, fn: WriteFunction): boolean {
  return lane === fn.name;
}

/** Neither the name of a function nor that of another lane has a space. */
function laneOfTenant(fn: WriteFunction, tenant: string): string {
  return `${fn.name} ${tenant}`;
}
