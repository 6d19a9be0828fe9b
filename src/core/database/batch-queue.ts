import { SerialQueue } from '../lib/queues.ts';
import { DatabaseError } from './database-errors.ts';
import {
  type BatchQuery,
  countCharacters,
  type Query,
  type QueryExecutor,
  type QueryResult,
  type Scalar,
  type StatementTracer,
  serveRequests,
  type TracedRequest,
  type Value,
} from './query.ts';
import { BatchLimits, isWorthSending, RunningStatements } from './running-statements.ts';

/**
 * Maximum size of a batched call's parameters, in characters. A larger call is sent separately, because batching saves
 * it little and would delay the other calls.
 */
const MAX_CHARACTERS = 32 * 1024;

/** A queued call of any query. Only the caller knows the row type. */
interface Call {
  readonly params: Record<string, Value>;
  /** Traced requests that wait for the call. */
  readonly requests: readonly TracedRequest[];
  resolve(row: unknown): void;
  reject(error: unknown): void;
  /** Sends the call as a single query. The promise resolves when the call is done, and never rejects. */
  fallBack(): Promise<void>;
}

/** Queued calls for one batch query. */
interface Kind {
  readonly waiting: Call[];
  readonly statements: RunningStatements;
  isScheduled: boolean;
}

/**
 * Combines concurrent reads into one statement if their query has a `batch`. A batch is sent immediately, and calls
 * collect only while other batches run. Batches therefore grow with the load, and an idle service adds no delay.
 *
 * A batch executes the simple calls and returns their item numbers. The queue sends the other calls as single queries,
 * one per tenant at a time. The queue does the same with all calls in a batch that failed on the server or was never
 * sent.
 */
export class BatchQueue {
  readonly #batched: QueryExecutor;
  readonly #single: QueryExecutor;
  readonly #limits: BatchLimits;
  readonly #tracer: StatementTracer | undefined;
  readonly #kinds = new Map<BatchQuery, Kind>();
  /**
   * Calls that a batch skipped. They are expensive, so calls with the same `turn`, or else the same tenant, run one at
   * a time. This way one tenant cannot occupy all connections.
   */
  readonly #left = new SerialQueue();

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

  readonly query: QueryExecutor = <Params extends Record<string, Value>, Row>(
    statement: Query<Params, Row>,
    params: Params,
  ) => {
    const { batch } = statement;
    if (batch === undefined || this.#limits.calls === 1 || countCharacters(params) > MAX_CHARACTERS)
      return this.#single(statement, params);
    const requests = this.#tracer?.current() ?? [];
    const kind = this.#batchKind(batch);
    return new Promise<QueryResult<Row>>((resolve, reject) => {
      kind.waiting.push({
        params,
        requests,
        resolve: (row) => resolve({ rows: [row as Row], count: 1 }),
        reject,
        fallBack: () =>
          serveRequests(this.#single, [{ requests }], this.#tracer)(statement, params).then(resolve, reject),
      });
      this.#schedule(batch, kind);
    });
  };

  #batchKind(batch: BatchQuery): Kind {
    let kind = this.#kinds.get(batch);
    if (kind === undefined) {
      const limits = batch.inOrder ? new BatchLimits(this.#limits.calls, 1) : this.#limits;
      kind = { waiting: [], statements: new RunningStatements(limits), isScheduled: false };
      this.#kinds.set(batch, kind);
    }
    return kind;
  }

  /** Sends the queued calls if they may start, after the requests that have already arrived are read. */
  #schedule(batch: BatchQuery, kind: Kind): void {
    if (kind.isScheduled || !kind.statements.mayStart(kind.waiting.length)) return;
    kind.isScheduled = true;
    setImmediate(() => {
      kind.isScheduled = false;
      if (kind.statements.mayStart(kind.waiting.length)) void this.#send(batch, kind);
    });
  }

  /** Sends queued calls, up to the batch size, then resolves their promises. */
  async #send(batch: BatchQuery, kind: Kind): Promise<void> {
    const calls = kind.waiting.splice(0, this.#limits.calls);
    kind.statements.start(calls.length);
    const params: Record<string, Value> = {};
    for (const name of batch.parameters)
      params[name] = calls.map((call) => (call.params[name] ?? null) as Scalar);
    let finish: () => void;
    try {
      const { rows } = await serveRequests(this.#batched, calls, this.#tracer)(batch, params);
      finish = () => this.#resolveCalls(calls, rows);
    } catch (error) {
      finish = () => fail(calls, error);
    }
    kind.statements.end();
    if (isWorthSending(kind.waiting.length, calls.length)) {
      // The server runs the next batch while this batch's callers build their responses.
      void this.#send(batch, kind);
      setImmediate(finish);
    } else {
      finish();
      this.#schedule(batch, kind);
    }
  }

  /** Resolves the calls that have a row. The other calls fall back to the single query. */
  #resolveCalls(calls: Call[], rows: { item: number }[]): void {
    const left = new Set(calls);
    for (const row of rows) {
      const call = calls[row.item - 1];
      if (call && left.delete(call)) call.resolve(row);
    }
    for (const { params, fallBack } of left) {
      const { turn = params.tenant } = params;
      void this.#left.run(String(turn), fallBack);
    }
  }
}

/** Fails the calls in a batch. If the outcome is unknown, each caller decides whether to retry. */
function fail(calls: readonly Call[], error: unknown): void {
  const isKnown = error instanceof DatabaseError && (!error.outcomeUnknown || error.neverSent);
  for (const call of calls) {
    if (isKnown) void call.fallBack();
    else call.reject(error);
  }
}
