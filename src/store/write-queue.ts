import { isWorthSending } from '../postgres/batch-queue.ts';
import { DatabaseError, LOCK_NOT_AVAILABLE } from '../postgres/errors.ts';
import { countCharacters, type QueryExecutor, type Value } from '../postgres/query.ts';
import { type CallFunction, type CommonOutcome, callAll, type WriteFunction } from './write-functions.ts';

/** In characters. A larger call is not sent with those of other tenants, which would wait for it. */
const MAX_SHARED_CHARACTERS = 32 * 1024;
/** In characters, of all calls in a statement. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

interface QueuedWrite {
  readonly tenant: string;
  /** Writes of one lane may share a statement, and a lane has one statement at a time. */
  lane: string;
  readonly characters: number;
  readonly work: FunctionCall | (() => Promise<unknown>);
  resolve(outcome: unknown): void;
  reject(error: unknown): void;
}

interface FunctionCall {
  fn: WriteFunction;
  params: Record<string, Value>;
}

/**
 * The way by which this process writes. Writes that come at about the same time share a statement and so a commit, also those of
 * one tenant, in the order in which they came. Nobody waits for others to come: while one statement is at work, the next one
 * gathers.
 *
 * - A tenant has one statement at a time, so a busy tenant waits here without a connection.
 * - A statement for several tenants waits for no lock. It skips a tenant that another session has locked; that tenant's calls then go
 *   in a statement of their own, which waits. So no two statements can wait for each other.
 */
export class WriteQueue {
  readonly #batched: QueryExecutor;
  readonly #single: QueryExecutor;
  readonly #size: number;
  #waiting: QueuedWrite[] = [];
  /** Tenants and lanes that have a statement at work. */
  readonly #busyTenants = new Set<string>();
  readonly #busyLanes = new Set<string>();
  #isScheduled = false;
  #names = 0;

  /**
   * @param executors.batched for statements that wait for no lock; `single` for the others
   * @param size how many calls may share a statement; 1: each goes alone
   */
  constructor(executors: { batched: QueryExecutor; single: QueryExecutor }, size: number) {
    this.#batched = executors.batched;
    this.#single = executors.single;
    this.#size = size;
  }

  readonly call: CallFunction = (fn, params, size = 0) => {
    const { tenant } = params;
    const characters = Math.max(size, countCharacters(params));
    const isShared = fn.mixesTenants && this.#size > 1 && characters <= MAX_SHARED_CHARACTERS;
    const lane = isShared ? fn.name : laneOfTenant(fn, tenant);
    return this.#enqueue({ tenant, lane, characters, work: { fn, params } });
  };

  /** Does other work on a tenant while none of this process's writes of the tenant is under way. */
  exclusively<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    return this.#enqueue({ tenant, lane: this.#newLane(), characters: 0, work });
  }

  #enqueue<T>(write: Pick<QueuedWrite, 'tenant' | 'lane' | 'characters' | 'work'>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ ...write, resolve: resolve as QueuedWrite['resolve'], reject });
      this.#schedule();
    });
  }

  /** Sends what waits once all requests that have arrived are read. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#dispatch());
  }

  #dispatch(): void {
    this.#isScheduled = false;
    const batches = new Map<string, QueuedWrite[]>();
    /** Which lane a tenant's writes go by this time. */
    const lanes = new Map<string, string>();
    const full = new Set<string>();
    const waiting: QueuedWrite[] = [];
    for (const write of this.#waiting) {
      const { tenant, lane } = write;
      const batch = batches.get(lane) ?? [];
      const isTenantFree = !this.#busyTenants.has(tenant) && (lanes.get(tenant) ?? lane) === lane;
      if (!isTenantFree || this.#busyLanes.has(lane) || full.has(lane)) {
        waiting.push(write);
      } else if (!this.#hasRoom(batch, write)) {
        // What comes after it in its lane waits too, so that a tenant's calls keep their order.
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

  /** Returns the writes that are to be sent again, by other lanes, and what settles the rest. */
  async #execute(lane: string, writes: QueuedWrite[]): Promise<{ again: QueuedWrite[]; settle: () => void }> {
    const [first] = writes as [QueuedWrite, ...QueuedWrite[]];
    try {
      if (typeof first.work === 'function') {
        const result = await first.work();
        return { again: [], settle: () => first.resolve(result) };
      }
      const { fn } = first.work;
      const calls = writes.map(({ work }) => (work as FunctionCall).params);
      const isShared = lane === fn.name;
      const query = isShared ? this.#batched : this.#single;
      const outcomes = await callAll(query, fn, calls, { wait: !isShared });
      const again = writes.filter((_, i) => isSkipped(outcomes[i]));
      for (const write of again) write.lane = laneOfTenant(fn, write.tenant);
      const settle = () => {
        for (const [i, write] of writes.entries()) if (!isSkipped(outcomes[i])) write.resolve(outcomes[i]);
      };
      return { again, settle };
    } catch (error) {
      const isUndone =
        error instanceof DatabaseError && !error.outcomeUnknown && error.sqlState !== LOCK_NOT_AVAILABLE;
      // Which call is at fault shows when each goes alone; a lock is not waited for once for each.
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

/** A skipped write goes by the lane of its tenant, which waits for the lock. */
function isSkipped(outcome: { kind: string } | undefined): boolean {
  return outcome?.kind === ('skipped' satisfies CommonOutcome['kind']);
}

/** Neither the name of a function nor that of another lane has a space. */
function laneOfTenant(fn: WriteFunction, tenant: string): string {
  return `${fn.name} ${tenant}`;
}
