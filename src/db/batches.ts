import { isAway, neverSent, sqlState } from './errors.ts';
import type { BatchStatement, Outcome, Run, Scalar, Statement, Value } from './statement.ts';

/** Of a call's parameters, in characters. A larger one goes alone: gathering saves it nothing, and others would wait for it. */
const MAX_CHARACTERS = 32 * 1024;

/** A call that waits, whatever its statement: only what made it knows the type of its row. */
interface Call {
  readonly params: Record<string, Value>;
  /** It was done, and this is its row. */
  done(row: unknown): void;
  /** It is to go by itself. */
  goAlone(): void;
  fail(error: unknown): void;
}

/**
 * Runs calls that come at about the same time in one statement, where theirs has a `batch`: for the server that is a quarter of
 * the work and one commit for all, for the client one message. Nobody waits for others to come: while one batch is at work the
 * next one of its kind gathers, so batches grow with the load, and at rest each call goes at once.
 *
 * A batch does what is plain, waits for no lock, and says which calls it did. The others, and all of a batch that
 * was never sent, or failed on the server and so did nothing, go alone, and get their outcome or their error from that.
 */
export class Batches {
  readonly #together: Run;
  readonly #alone: Run;
  readonly #size: number;
  readonly #gatherings = new Map<BatchStatement, Gathering>();

  /** @param size so many calls at the most go together */
  constructor(runs: { together: Run; alone: Run }, size: number) {
    this.#together = runs.together;
    this.#alone = runs.alone;
    this.#size = size;
  }

  readonly run: Run = <Params extends Record<string, Value>, Row>(
    statement: Statement<Params, Row>,
    params: Params,
  ) => {
    const { batch } = statement;
    if (batch === undefined || this.#size === 1 || isLarge(params)) return this.#alone(statement, params);
    return new Promise<Outcome<Row>>((resolve, reject) => {
      this.#gatheringFor(batch).add({
        params,
        done: (row) => resolve({ rows: [row as Row], count: 1 }),
        goAlone: () => this.#alone(statement, params).then(resolve, reject),
        fail: reject,
      });
    });
  };

  #gatheringFor(batch: BatchStatement): Gathering {
    let gathering = this.#gatherings.get(batch);
    if (gathering === undefined) {
      gathering = new Gathering(this.#size, (calls) => this.#execute(batch, calls));
      this.#gatherings.set(batch, gathering);
    }
    return gathering;
  }

  /** Gives what is to be called to tell the calls what came of them. */
  async #execute(batch: BatchStatement, calls: Call[]): Promise<() => void> {
    const params: Record<string, Value> = {};
    for (const name of batch.parameters)
      params[name] = calls.map((call) => (call.params[name] ?? null) as Scalar);
    try {
      const { rows } = await this.#together(batch, params);
      return () => settle(calls, rows);
    } catch (error) {
      // Whether it was done is not known, or it cannot be done now: each call's own rules for trying again hold.
      const isOpen = !neverSent(error) && (sqlState(error) === undefined || isAway(error));
      return () => {
        if (isOpen) for (const call of calls) call.fail(error);
        else settle(calls, []);
      };
    }
  }
}

/** Those that have a row were done, the others are still to be done. */
function settle(calls: Call[], rows: { item: number }[]): void {
  const left = new Set(calls);
  for (const row of rows) {
    const call = calls[row.item - 1];
    if (call && left.delete(call)) call.done(row);
  }
  for (const call of left) call.goAlone();
}

/** Calls of one kind that wait for their batch. */
class Gathering {
  readonly #size: number;
  readonly #execute: (calls: Call[]) => Promise<() => void>;
  #waiting: Call[] = [];
  #isBusy = false;

  constructor(size: number, execute: (calls: Call[]) => Promise<() => void>) {
    this.#size = size;
    this.#execute = execute;
  }

  add(call: Call): void {
    this.#waiting.push(call);
    if (!this.#isBusy) this.#start();
  }

  /** When all requests that have come in are read. */
  #start(): void {
    this.#isBusy = true;
    setImmediate(() => this.#next());
  }

  async #next(): Promise<void> {
    const calls = this.#waiting.splice(0, this.#size);
    const tell = await this.#execute(calls);
    if (this.#waiting.length >= calls.length / 2) {
      // The server gets the next batch before the answers of this one are made, and works meanwhile.
      void this.#next();
      setImmediate(tell);
    } else {
      // What would be a small batch grows meanwhile.
      tell();
      if (this.#waiting.length > 0) this.#start();
      else this.#isBusy = false;
    }
  }
}

function isLarge(params: Record<string, Value>): boolean {
  let characters = 0;
  for (const name in params) {
    const value = params[name];
    if (typeof value === 'string') characters += value.length;
  }
  return characters > MAX_CHARACTERS;
}
