import { AsyncResource } from 'node:async_hooks';
import { DatabaseError, LOCK_NOT_AVAILABLE } from '../database/database-errors.ts';
import {
  countCharacters,
  type QueryExecutor,
  type StatementTracer,
  serveRequests,
  type TracedRequest,
  type Value,
} from '../database/query.ts';
import { type BatchLimits, isWorthSending, RunningStatements } from '../database/running-statements.ts';
import {
  type CallFunction,
  type CommonOutcome,
  rowOutcomes,
  type WriteFunction,
  writeStatement,
} from './write-function.ts';

/**
 * Maximum size, in characters, for a call that shares a statement with other tenants. The other tenants would wait for
 * a larger call.
 */
const MAX_SHARED_CHARACTERS = 32 * 1024;
/**
 * Number of waiting calls from which a tenant gets a separate statement, so that no other tenant waits for all of them.
 */
const MIN_OWN_CALLS = 4;
/** Maximum total size of the calls in a statement, in characters. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

interface QueuedWrite {
  readonly tenant: string;
  /** Group key. Writes in a group may share a statement. */
  group: string;
  readonly characters: number;
  /** Traced requests that wait for the write. */
  readonly requests: readonly TracedRequest[];
  readonly work: FunctionCall | (() => Promise<unknown>);
  resolve(outcome: unknown): void;
  reject(error: unknown): void;
}

interface FunctionCall {
  fn: WriteFunction;
  params: Record<string, Value>;
}

/** Result of sending a statement. */
interface Sent {
  /** Writes to send again in other groups. */
  again: QueuedWrite[];
  /** Resolves or rejects the promises for the other writes. */
  finish(): void;
}

/**
 * Combines concurrent writes in this process into statements, which saves commits. Writes to one tenant may also share
 * a statement, in arrival order. A statement is sent immediately, and writes collect only while others run.
 *
 * - A tenant has one statement at a time, so a busy tenant waits in the queue and occupies no connection.
 * - A statement for several tenants never waits for a lock. It skips tenants that another session has locked, and their
 * calls are sent again in separate statements, which do wait. Therefore no two statements can deadlock.
 */
export class WriteQueue {
  readonly #batched: QueryExecutor;
  readonly #single: QueryExecutor;
  readonly #limits: BatchLimits;
  readonly #tracer: StatementTracer | undefined;
  /** Hears of each tenant after a write, whether it succeeded or not. */
  onWrite: (tenant: string) => void = () => {};
  #waiting: QueuedWrite[] = [];
  /** Tenants with a running statement. */
  readonly #busyTenants = new Set<string>();
  /** Running statements for several tenants, by function name. */
  readonly #shared = new Map<string, RunningStatements>();
  /** Sends the waiting writes after all requests that have already arrived are read. */
  #scheduled: NodeJS.Immediate | undefined;
  #names = 0;

  /** @param executors.batched runs statements that never wait for a lock; `single` runs the other statements */
  constructor(
    executors: { batched: QueryExecutor; single: QueryExecutor },
    limits: BatchLimits,
    tracer?: StatementTracer,
  ) {
    this.#batched = executors.batched;
    this.#single = executors.single;
    this.#limits = limits;
    this.#tracer = tracer;
  }

  readonly call: CallFunction = (fn, params, size = 0) => {
    const { tenant } = params;
    const characters = Math.max(size, countCharacters(params));
    const mayShare = fn.mixesTenants && this.#limits.calls > 1 && characters <= MAX_SHARED_CHARACTERS;
    const group = mayShare ? fn.name : tenantGroup(fn, tenant);
    if (mayShare && !this.#shared.has(group)) this.#shared.set(group, new RunningStatements(this.#limits));
    const requests = this.#tracer?.current() ?? [];
    return new Promise((resolve, reject) => {
      const promise = { resolve: resolve as QueuedWrite['resolve'], reject };
      this.#waiting.push({ tenant, group, characters, requests, work: { fn, params }, ...promise });
      this.#scheduled ??= setImmediate(() => this.#dispatch());
    });
  };

  /** Runs other work on a tenant while the queue does not write for this tenant. */
  runExclusively<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    const requests = this.#tracer?.current() ?? [];
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        tenant,
        group: this.#newGroup(),
        characters: 0,
        requests,
        // The queue starts the work, but its statements belong to the caller's trace.
        work: AsyncResource.bind(work),
        resolve: resolve as QueuedWrite['resolve'],
        reject,
      });
      this.#scheduled ??= setImmediate(() => this.#dispatch());
    });
  }

  /** Sends the waiting writes whose tenant is free, if their group may start a statement. */
  #dispatch(): void {
    this.#scheduled = undefined;
    const batches = new Map<string, QueuedWrite[]>();
    /** Group for each tenant's writes in this dispatch. */
    const groups = new Map<string, string>();
    const full = new Set<string>();
    this.#separateBusyTenants();
    for (const write of this.#waiting) {
      const { tenant, group } = write;
      const batch = batches.get(group) ?? [];
      const isTenantFree = !this.#busyTenants.has(tenant) && (groups.get(tenant) ?? group) === group;
      if (!isTenantFree || full.has(group)) continue;
      if (!this.#hasRoom(batch, write)) {
        // Later writes in the group also wait, so that a tenant's calls stay in order.
        full.add(group);
        continue;
      }
      groups.set(tenant, group);
      batches.set(group, batch);
      batch.push(write);
    }
    const sending = [...batches].filter(
      ([group, writes]) => this.#shared.get(group)?.mayStart(writes.length) ?? true,
    );
    const sent = new Set(sending.flatMap(([, writes]) => writes));
    this.#waiting = this.#waiting.filter((write) => !sent.has(write));
    for (const [group, writes] of sending) void this.#send(group, writes);
  }

  /** Moves the calls for each tenant with many waiting calls to a group for that tenant. */
  #separateBusyTenants(): void {
    const shared = new Map<string, QueuedWrite[]>();
    for (const write of this.#waiting) {
      if (typeof write.work === 'function' || !isShared(write.group, write.work.fn)) continue;
      const own = tenantGroup(write.work.fn, write.tenant);
      const writes = shared.get(own);
      if (writes) writes.push(write);
      else shared.set(own, [write]);
    }
    for (const [own, writes] of shared) {
      if (writes.length >= MIN_OWN_CALLS) for (const write of writes) write.group = own;
    }
  }

  #hasRoom(batch: QueuedWrite[], { characters }: QueuedWrite): boolean {
    const sum = batch.reduce((all, each) => all + each.characters, characters);
    return batch.length === 0 || (batch.length < this.#limits.calls && sum <= MAX_BATCH_CHARACTERS);
  }

  /** Sends a group's writes in one statement, then resolves or rejects their promises. */
  async #send(group: string, writes: QueuedWrite[]): Promise<void> {
    const shared = this.#shared.get(group);
    shared?.start(writes.length);
    for (const { tenant } of writes) this.#busyTenants.add(tenant);
    let sent: Sent;
    try {
      const [first] = writes as [QueuedWrite, ...QueuedWrite[]];
      if (typeof first.work === 'function') {
        const result = await first.work();
        sent = { again: [], finish: () => first.resolve(result) };
      } else {
        const { fn } = first.work;
        const calls = writes.map((write) => (write.work as FunctionCall).params);
        const wait = shared === undefined;
        const [statement, params] = writeStatement(fn, calls, { wait });
        const query = serveRequests(wait ? this.#single : this.#batched, writes, this.#tracer);
        const started = performance.now();
        const found = await query(statement, params);
        const { executingMs } = found.rows.at(-1) ?? {};
        if (executingMs !== undefined) shared?.measure(executingMs, performance.now() - started);
        sent = sentSuccess(fn, writes, rowOutcomes(found));
      }
    } catch (error) {
      sent = this.#sentFailure(writes, error);
    }
    shared?.end();
    for (const { tenant } of writes) {
      this.#busyTenants.delete(tenant);
      this.onWrite(tenant);
    }
    this.#waiting.unshift(...sent.again);
    if (isWorthSending(this.#waiting.length, writes.length)) {
      this.#dispatch();
      setImmediate(sent.finish);
    } else {
      sent.finish();
      if (this.#waiting.length > 0) this.#scheduled ??= setImmediate(() => this.#dispatch());
    }
  }

  #sentFailure(writes: QueuedWrite[], error: unknown): Sent {
    const isUndone =
      error instanceof DatabaseError && !error.outcomeUnknown && error.sqlState !== LOCK_NOT_AVAILABLE;
    // Sent one by one, only the faulty call fails. After a lock timeout, each call would wait for the lock again.
    if (writes.length > 1 && isUndone) {
      for (const write of writes) write.group = this.#newGroup();
      return { again: writes, finish: () => {} };
    }
    const finish = () => {
      for (const write of writes) write.reject(error);
    };
    return { again: [], finish };
  }

  #newGroup(): string {
    return `#${this.#names++}`;
  }
}

function sentSuccess(fn: WriteFunction, writes: QueuedWrite[], outcomes: { kind: string }[]): Sent {
  const isSkipped = (i: number) => outcomes[i]?.kind === ('skipped' satisfies CommonOutcome['kind']);
  const again = writes.filter((_, i) => isSkipped(i));
  // The statement for the tenant's group waits for the lock.
  for (const write of again) write.group = tenantGroup(fn, write.tenant);
  const finish = () => {
    for (const [i, write] of writes.entries()) if (!isSkipped(i)) write.resolve(outcomes[i]);
  };
  return { again, finish };
}

function isShared(group: string, fn: WriteFunction): boolean {
  return group === fn.name;
}

/** Unambiguous, because neither a function name nor another group's key contains a space. */
function tenantGroup(fn: WriteFunction, tenant: string): string {
  return `${fn.name} ${tenant}`;
}
