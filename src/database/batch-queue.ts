import { SerialQueue } from '../lib/queues.ts';
import { DatabaseError } from './errors.ts';
import {
  type BatchQuery,
  countCharacters,
  type Query,
  type QueryExecutor,
  type QueryResult,
  type Scalar,
  type StatementTracer,
  serving,
  type TracedRequest,
  type Value,
} from './query.ts';

/**
 * In characters of a call's parameters. A larger call is sent by itself: batching saves it nothing, and others would
 * wait for it.
 */
const MAX_CHARACTERS = 32 * 1024;

/** A waiting call of any query. Only the caller knows the type of its row. */
interface Call {
  readonly params: Record<string, Value>;
  /** The traced requests that make the call. */
  readonly requests: readonly TracedRequest[];
  /** Resolves the call with its row. */
  resolve(row: unknown): void;
  reject(error: unknown): void;
  /** Sends the call by itself. Resolves, never rejects, once it is done. */
  fallBack(): Promise<void>;
}

/** The calls waiting for a batch query, and whether one is running. */
interface Kind {
  readonly waiting: Call[];
  isBusy: boolean;
}

/**
 * Combines concurrent reads into one statement when their query has a `batch`. Nothing waits for a batch to fill:
 * while one batch runs, the next one collects, so batches grow with the load and an idle service sends each call
 * immediately.
 *
 * A batch handles the simple calls and says which. It falls back to the single query for the others, one of each
 * tenant at a time, and for all calls of a batch that failed on the server or was never sent.
 */
export class BatchQueue {
  readonly #batched: QueryExecutor;
  readonly #single: QueryExecutor;
  readonly #size: number;
  readonly #tracer: StatementTracer | undefined;
  readonly #kinds = new Map<BatchQuery, Kind>();
  /**
   * The calls that a batch left. They are the expensive ones, so those of one tenant, or of one `turn` where calls
   * have this parameter, run one at a time and do not take all connections.
   */
  readonly #left = new SerialQueue();

  /** @param size maximum number of calls in a statement; 1 disables batching */
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

  readonly query: QueryExecutor = <Params extends Record<string, Value>, Row>(
    statement: Query<Params, Row>,
    params: Params,
  ) => {
    const { batch } = statement;
    if (batch === undefined || this.#size === 1 || countCharacters(params) > MAX_CHARACTERS)
      return this.#single(statement, params);
    const requests = this.#tracer?.current() ?? [];
    const kind = this.#kindOf(batch);
    return new Promise<QueryResult<Row>>((resolve, reject) => {
      kind.waiting.push({
        params,
        requests,
        resolve: (row) => resolve({ rows: [row as Row], count: 1 }),
        reject,
        fallBack: () =>
          serving(this.#single, [{ requests }], this.#tracer)(statement, params).then(resolve, reject),
      });
      if (kind.isBusy) return;
      kind.isBusy = true;
      // After the requests that have already arrived are read.
      setImmediate(() => this.#send(batch, kind));
    });
  };

  #kindOf(batch: BatchQuery): Kind {
    let kind = this.#kinds.get(batch);
    if (kind === undefined) {
      kind = { waiting: [], isBusy: false };
      this.#kinds.set(batch, kind);
    }
    return kind;
  }

  /** Sends the calls that wait, as many as fit in a batch, then settles their callers. */
  async #send(batch: BatchQuery, kind: Kind): Promise<void> {
    const calls = kind.waiting.splice(0, this.#size);
    const params: Record<string, Value> = {};
    for (const name of batch.parameters)
      params[name] = calls.map((call) => (call.params[name] ?? null) as Scalar);
    let settle: () => void;
    try {
      const { rows } = await serving(this.#batched, calls, this.#tracer)(batch, params);
      settle = () => this.#settleWith(calls, rows);
    } catch (error) {
      settle = () => fail(calls, error);
    }
    if (isWorthSending(kind.waiting.length, calls.length)) {
      // The server runs it while the callers of this one build their responses.
      void this.#send(batch, kind);
      setImmediate(settle);
    } else {
      settle();
      if (kind.waiting.length > 0) setImmediate(() => this.#send(batch, kind));
      else kind.isBusy = false;
    }
  }

  /** Settles the calls that have a row; the others fall back to the single query. */
  #settleWith(calls: Call[], rows: { item: number }[]): void {
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

/** A batch whose outcome is unknown is retried by each caller's own rules. */
function fail(calls: readonly Call[], error: unknown): void {
  const isKnown = error instanceof DatabaseError && (!error.outcomeUnknown || error.neverSent);
  for (const call of calls) {
    if (isKnown) void call.fallBack();
    else call.reject(error);
  }
}

/**
 * Whether to send the next batch before the callers of the previous one are settled. That keeps the server busy, but
 * a small batch is better sent later, since those callers will add to it.
 */
export function isWorthSending(waiting: number, done: number): boolean {
  return waiting > 0 && waiting >= done / 2;
}
