import { AsyncResource } from 'node:async_hooks';
import { isWorthSending } from '../database/batch-queue.ts';
import { DatabaseError, LOCK_NOT_AVAILABLE } from '../database/errors.ts';
import {
  countCharacters,
  type QueryExecutor,
  type StatementTracer,
  serving,
  type TracedRequest,
  type Value,
} from '../database/query.ts';
import {
  type CallFunction,
  type CommonOutcome,
  outcomesOf,
  statementOf,
  type WriteFunction,
} from './write-function.ts';

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

/** Writes that were sent. */
interface Sent {
  /** The writes to send again in other lanes. */
  again: QueuedWrite[];
  /** Settles the callers of the other writes. */
  settle(): void;
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
  /** Sends the waiting writes after the requests that have already arrived are read. */
  #scheduled: NodeJS.Immediate | undefined;
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
    const requests = this.#tracer?.current() ?? [];
    return new Promise((resolve, reject) => {
      const settle = { resolve: resolve as QueuedWrite['resolve'], reject };
      this.#waiting.push({ tenant, lane, characters, requests, work: { fn, params }, ...settle });
      this.#scheduled ??= setImmediate(() => this.#dispatch());
    });
  };

  /** Runs other work on a tenant while this queue writes nothing for it. */
  exclusively<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    const requests = this.#tracer?.current() ?? [];
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        tenant,
        lane: this.#newLane(),
        characters: 0,
        requests,
        // Its statements are part of the caller's trace, although the queue starts it.
        work: AsyncResource.bind(work),
        resolve: resolve as QueuedWrite['resolve'],
        reject,
      });
      this.#scheduled ??= setImmediate(() => this.#dispatch());
    });
  }

  /** Sends the waiting writes for which a lane and a tenant are free. */
  #dispatch(): void {
    this.#scheduled = undefined;
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

  /** Sends the writes of a lane in one statement, then settles their callers. */
  async #send(lane: string, writes: QueuedWrite[]): Promise<void> {
    this.#busyLanes.add(lane);
    for (const { tenant } of writes) this.#busyTenants.add(tenant);
    let sent: Sent;
    try {
      const [first] = writes as [QueuedWrite, ...QueuedWrite[]];
      if (typeof first.work === 'function') {
        const result = await first.work();
        sent = { again: [], settle: () => first.resolve(result) };
      } else {
        const { fn } = first.work;
        const calls = writes.map((write) => (write.work as FunctionCall).params);
        const wait = !isShared(lane, fn);
        const [statement, params] = statementOf(fn, calls, { wait });
        const query = serving(wait ? this.#single : this.#batched, writes, this.#tracer);
        const found = await query(statement, params);
        sent = succeeded(fn, writes, outcomesOf(found));
      }
    } catch (error) {
      sent = this.#failed(writes, error);
    }
    this.#busyLanes.delete(lane);
    for (const { tenant } of writes) this.#busyTenants.delete(tenant);
    this.#waiting.unshift(...sent.again);
    if (isWorthSending(this.#waiting.length, writes.length)) {
      this.#dispatch();
      setImmediate(sent.settle);
    } else {
      sent.settle();
      if (this.#waiting.length > 0) this.#scheduled ??= setImmediate(() => this.#dispatch());
    }
  }

  #failed(writes: QueuedWrite[], error: unknown): Sent {
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

  #newLane(): string {
    return `#${this.#names++}`;
  }
}

function succeeded(fn: WriteFunction, writes: QueuedWrite[], outcomes: { kind: string }[]): Sent {
  const isSkipped = (i: number) => outcomes[i]?.kind === ('skipped' satisfies CommonOutcome['kind']);
  const again = writes.filter((_, i) => isSkipped(i));
  // The lane of its tenant waits for the lock.
  for (const write of again) write.lane = laneOfTenant(fn, write.tenant);
  const settle = () => {
    for (const [i, write] of writes.entries()) if (!isSkipped(i)) write.resolve(outcomes[i]);
  };
  return { again, settle };
}

function isShared(lane: string, fn: WriteFunction): boolean {
  return lane === fn.name;
}

/** Neither the name of a function nor that of another lane has a space. */
function laneOfTenant(fn: WriteFunction, tenant: string): string {
  return `${fn.name} ${tenant}`;
}
