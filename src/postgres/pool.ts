import pg from 'pg';
import { Connection } from './connection.ts';
import type { ConnectionWatch } from './connection-watch.ts';
import { DatabaseError, throwDatabaseError } from './errors.ts';

/** Agents pause for longer than pg's default of 10 seconds, and a new connection has to prepare every statement again. */
const IDLE_TIMEOUT_MS = 10 * 60_000;

/** How pg-pool words that no connection became free in time. */
const EXHAUSTED = /^timeout exceeded when trying to connect/;

/** Connections to a server. One whose statement failed is not used again. */
export class ConnectionPool {
  readonly #pool: pg.Pool;
  readonly #watch: ConnectionWatch;
  /** Increases when no open connection may be used again. */
  #generation = 0;
  readonly #generations = new WeakMap<pg.PoolClient, number>();

  constructor(config: pg.PoolConfig, watch: ConnectionWatch) {
    this.#pool = new pg.Pool({ ...config, Client: Connection, idleTimeoutMillis: IDLE_TIMEOUT_MS });
    this.#watch = watch;
    // The pool replaces a broken idle connection; without a listener the error would end the process.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => {
      this.#generations.set(client, this.#generation);
      watch.opened();
    });
  }

  get state() {
    const { totalCount: total, idleCount: idle, waitingCount: waiting, options } = this.#pool;
    return { total, idle, waiting, max: options.max };
  }

  /** @throws DatabaseError */
  async take(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect().catch((error) => this.#fail(error));
      if (this.#generations.get(client) === this.#generation) return client;
      client.release(true);
    }
  }

  /** @param error of the connection's last statement, after which the connection is closed */
  release(client: pg.PoolClient, error?: unknown): void {
    client.release(error !== undefined);
    // The other sessions have lost their connections to the node, too, and each would fail once.
    if (error instanceof DatabaseError && error.isNodeLost) this.#generation++;
  }

  /** Waits for running queries, then closes the connections. */
  end(): Promise<void> {
    return this.#pool.end();
  }

  #fail(error: unknown): never {
    if (error instanceof Error && EXHAUSTED.test(error.message)) throwDatabaseError(error);
    const fault = new DatabaseError(error, { connecting: true });
    this.#watch.failed(fault.unavailability ?? '');
    throw fault;
  }
}
