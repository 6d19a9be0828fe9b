import { DatabaseError } from './errors.ts';
import {
  type BatchQuery,
  countCharacters,
  type Query,
  type QueryExecutor,
  type QueryResult,
  type Scalar,
  type Value,
} from './query.ts';

/** In characters, of a call's parameters. A larger call goes alone: batching saves it nothing, and others would wait for it. */
const MAX_CHARACTERS = 32 * 1024;

/** A waiting call of any statement: only its maker knows the type of its row. */
interface Call {
  readonly params: Record<string, Value>;
  /** Settles the call with its row. */
  resolve(row: unknown): void;
  reject(error: unknown): void;
  /** Sends the call by itself. */
  fallBack(): void;
}

/** The calls that wait for a statement, and whether it is at work. */
interface Kind {
  readonly waiting: Call[];
  isBusy: boolean;
}

/**
 * Runs reads that come at about the same time in one statement, where theirs has a `batch`: for the server that is a quarter of
 * the work, for the client one message. Nobody waits for others to come: while one batch is at work the next one of its
 * kind gathers, so batches grow with the load, and at rest each call goes at once.
 *
 * A batch answers what is plain and says which calls it answered. The others, and all of a batch that failed on the server or was
 * never sent, go alone.
 */
export class BatchQueue {
  readonly #batched: QueryExecutor;
  readonly #single: QueryExecutor;
  readonly #size: number;
  readonly #kinds = new Map<BatchQuery, Kind>();

  /** @param size how many calls may share a statement; 1: each goes alone */
  constructor(executors: { batched: QueryExecutor; single: QueryExecutor }, size: number) {
    this.#batched = executors.batched;
    this.#single = executors.single;
    this.#size = size;
  }

  readonly query: QueryExecutor = <Params extends Record<string, Value>, Row>(
    statement: Query<Params, Row>,
    params: Params,
  ) => {
    const { batch } = statement;
    if (batch === undefined || this.#size === 1 || countCharacters(params) > MAX_CHARACTERS)
      return this.#single(statement, params);
    return new Promise<QueryResult<Row>>((resolve, reject) => {
      this.#add(batch, {
        params,
        resolve: (row) => resolve({ rows: [row as Row], count: 1 }),
        reject,
        fallBack: () => this.#single(statement, params).then(resolve, reject),
      });
    });
  };

  #add(batch: BatchQuery, call: Call): void {
    let kind = this.#kinds.get(batch);
    if (kind === undefined) {
      kind = { waiting: [], isBusy: false };
      this.#kinds.set(batch, kind);
    }
    kind.waiting.push(call);
    if (kind.isBusy) return;
    kind.isBusy = true;
    this.#gather(batch, kind);
  }

  /** Sends a batch once all requests that have arrived are read. */
  #gather(batch: BatchQuery, kind: Kind): void {
    setImmediate(() => this.#sendNext(batch, kind));
  }

  async #sendNext(batch: BatchQuery, kind: Kind): Promise<void> {
    const calls = kind.waiting.splice(0, this.#size);
    const settle = await this.#send(batch, calls);
    if (isWorthSending(kind.waiting.length, calls.length)) {
      // The server works on it while the answers of this one are made.
      void this.#sendNext(batch, kind);
      setImmediate(settle);
    } else {
      settle();
      if (kind.waiting.length > 0) this.#gather(batch, kind);
      else kind.isBusy = false;
    }
  }

  /** Returns what settles the calls. */
  async #send(batch: BatchQuery, calls: Call[]): Promise<() => void> {
    const params: Record<string, Value> = {};
    for (const name of batch.parameters)
      params[name] = calls.map((call) => (call.params[name] ?? null) as Scalar);
    try {
      const { rows } = await this.#batched(batch, params);
      return () => settleWith(calls, rows);
    } catch (error) {
      return () => {
        // Each call's own rules for trying again hold, unless it is known that none was answered.
        const isKnown = error instanceof DatabaseError && (!error.outcomeUnknown || error.neverSent);
        if (isKnown) settleWith(calls, []);
        else for (const call of calls) call.reject(error);
      };
    }
  }
}

/**
 * Whether the next batch goes before the answers of the one before it are made: the server is kept busy, but a small batch would
 * grow by those answers' callers.
 */
export function isWorthSending(waiting: number, answered: number): boolean {
  return waiting > 0 && waiting >= answered / 2;
}

/** Settles the calls that have a row; the others go alone. */
function settleWith(calls: Call[], rows: { item: number }[]): void {
  const left = new Set(calls);
  for (const row of rows) {
    const call = calls[row.item - 1];
    if (call && left.delete(call)) call.resolve(row);
  }
  for (const call of left) call.fallBack();
}
