import { neverSent, outcomeUnknown } from './errors.ts';
import {
  type BatchStatement,
  countCharacters,
  type Outcome,
  type Run,
  type Scalar,
  type Statement,
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
  readonly #batched: Run;
  readonly #single: Run;
  readonly #size: number;
  readonly #kinds = new Map<BatchStatement, Kind>();

  /** @param size how many calls may share a statement; 1: each goes alone */
  constructor(runners: { batched: Run; single: Run }, size: number) {
    this.#batched = runners.batched;
    this.#single = runners.single;
    this.#size = size;
  }

  readonly run: Run = <Params extends Record<string, Value>, Row>(
    statement: Statement<Params, Row>,
    params: Params,
  ) => {
    const { batch } = statement;
    if (batch === undefined || this.#size === 1 || countCharacters(params) > MAX_CHARACTERS)
      return this.#single(statement, params);
    return new Promise<Outcome<Row>>((resolve, reject) => {
      this.#add(batch, {
        params,
        resolve: (row) => resolve({ rows: [row as Row], count: 1 }),
        reject,
        fallBack: () => this.#single(statement, params).then(resolve, reject),
      });
    });
  };

  #add(batch: BatchStatement, call: Call): void {
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
  #gather(batch: BatchStatement, kind: Kind): void {
    setImmediate(() => this.#sendNext(batch, kind));
  }

  async #sendNext(batch: BatchStatement, kind: Kind): Promise<void> {
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
  async #send(batch: BatchStatement, calls: Call[]): Promise<() => void> {
    const params: Record<string, Value> = {};
    for (const name of batch.parameters)
      params[name] = calls.map((call) => (call.params[name] ?? null) as Scalar);
    try {
      const { rows } = await this.#batched(batch, params);
      return () => settleWith(calls, rows);
    } catch (error) {
      return () => {
        // Each call's own rules for trying again hold, unless it is known that none was answered.
        if (outcomeUnknown(error) && !neverSent(error)) for (const call of calls) call.reject(error);
        else settleWith(calls, []);
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
