import { Socket } from 'node:net';
import pg from 'pg';
import { runnerOn, sendOn } from './prepared.ts';
import type { Run } from './statement.ts';

/** So many at the most wait for one connection's answers. */
const MAX_DEPTH = 64;
/** A connection that has not answered for so long is held up by something: what comes next goes another way. */
const STALLED_AFTER_MS = 20;
/** After a failed attempt to connect. */
const RECONNECT_AFTER_MS = 1000;

interface Connection {
  readonly client: pg.Client;
  readonly run: Run;
  inFlight: number;
  /** When it last answered, or was given something to do after it had nothing. */
  progressAt: number;
}

/**
 * A few connections that many quick reads share: each is sent without waiting for the answers to those before it, which
 * takes the client and the server half the processor time of a connection each. Since answers
 * come in order, only statements that are quick whatever the data belong here; what is not, and whatever would have to wait
 * here, is for the pool.
 */
export class Pipeline {
  readonly #connect: () => pg.Client;
  readonly #slots: (Connection | 'connecting' | undefined)[];
  #failedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  /** @param config of the connections, as for a pool; they are made when they are first wanted. */
  constructor(config: pg.ClientConfig, size: number) {
    this.#connect = () =>
      new pg.Client({ ...config, pipeline: true, stream: () => new BatchingSocket() } as pg.ClientConfig);
    this.#slots = Array.from({ length: size });
  }

  /** Open connections, and how many of them have nothing to do. */
  get state(): { total: number; idle: number } {
    const open = this.#slots.filter(isOpen);
    return { total: open.length, idle: open.filter(({ inFlight }) => inFlight === 0).length };
  }

  /** What runs statements on the connection with the least to do; undefined when none would answer soon. Opens what is missing. */
  pick(): Run | undefined {
    const now = performance.now();
    let best: Connection | undefined;
    for (const [i, slot] of this.#slots.entries()) {
      if (slot === undefined) this.#open(i, now);
      else if (slot !== 'connecting' && isFree(slot, now) && slot.inFlight < (best?.inFlight ?? MAX_DEPTH)) {
        best = slot;
      }
    }
    return best?.run;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#slots.filter(isOpen).map(({ client }) => client.end()));
  }

  #open(i: number, now: number): void {
    if (this.#closed || now - this.#failedAt < RECONNECT_AFTER_MS) return;
    this.#slots[i] = 'connecting';
    const client = this.#connect();
    // Its statements are told as well, and the next one opens another connection.
    client.on('error', () => {});
    client.connect().then(
      () => {
        if (this.#closed) return client.end();
        const connection = connectionOf(client);
        this.#slots[i] = connection;
        client.once('end', () => {
          if (this.#slots[i] === connection) this.#slots[i] = undefined;
        });
      },
      () => {
        // The pool meets the same fault, and reports it.
        this.#failedAt = performance.now();
        this.#slots[i] = undefined;
      },
    );
  }
}

function connectionOf(client: pg.Client): Connection {
  const run = runnerOn(
    sendOn(client, () => {
      connection.inFlight--;
      connection.progressAt = performance.now();
    }),
  );
  const connection: Connection = {
    client,
    inFlight: 0,
    progressAt: 0,
    run: (statement, params) => {
      if (connection.inFlight++ === 0) connection.progressAt = performance.now();
      return run(statement, params);
    },
  };
  return connection;
}

function isOpen(slot: Connection | 'connecting' | undefined): slot is Connection {
  return typeof slot === 'object';
}

function isFree({ inFlight, progressAt }: Connection, now: number): boolean {
  return inFlight === 0 || now - progressAt < STALLED_AFTER_MS;
}

/**
 * pg corks its socket for the messages of one statement. This one stays corked until all requests that have come in are
 * dealt with, so that one system call sends the statements of all of them.
 */
class BatchingSocket extends Socket {
  #isScheduled = false;

  override uncork(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      while (this.writableCorked > 0) super.uncork();
    });
  }
}
