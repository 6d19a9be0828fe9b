import pg from 'pg';
import { parse } from 'pg-connection-string';
import type { ConnectionWatch } from './connection-watch.ts';
import { DatabaseError, throwDatabaseError } from './errors.ts';

/** What each URL held when the files of its certificates could last be read. */
const lastRead = new Map<string, pg.ClientConfig>();

/**
 * Reads a URL, and the files of certificates that it names: for each connection anew, because certificates are
 * renewed. Files that disappear later change nothing.
 *
 * @throws Error when a file cannot be read the first time
 */
function read(url: string): pg.ClientConfig {
  try {
    // pg reads its options of connections from the same function, though the types of the two differ.
    const options = parse(withPlainSslMode(url)) as unknown as pg.ClientConfig;
    lastRead.set(url, options);
    return options;
  } catch (error) {
    const last = lastRead.get(url);
    if (last === undefined) throw error;
    return last;
  }
}

/** pg takes these modes for `verify-full`, and warns on standard error that they will mean less in its next version. */
function withPlainSslMode(text: string): string {
  const url = new URL(text);
  const isWeaker = /^(prefer|require|verify-ca)$/.test(url.searchParams.get('sslmode') ?? '');
  if (!isWeaker || url.searchParams.get('uselibpqcompat') === 'true') return text;
  return text.replace(/(?<=[?&]sslmode=)[^&]*/, 'verify-full');
}

/**
 * A connection all of whose faults reject `connect`, or the running or next query. Those of pg can also be thrown
 * while the pool opens a connection, or emitted as an error that nobody listens to, and both would end the process.
 *
 * A parameter of the URL never replaces one of `config`. The server reads the URL's `options` before those of
 * `config`, and uses the last value of a setting.
 */
export class Connection extends pg.Client {
  constructor({ connectionString, ...config }: pg.ClientConfig = {}) {
    const given = read(connectionString ?? '');
    const options = [given.options, config.options].filter(Boolean).join(' ');
    super({ ...given, ...config, options });
    this.on('error', () => {});
    failOnUnreadableMessages(this);
  }
}

/** The internals of a connection, which pg's types do not have. */
interface Wire {
  attachListeners(stream: NodeJS.ReadableStream & { destroy(error: unknown): void }): void;
}

/** pg's parser throws at messages that it does not know, such as a request for GSSAPI. */
function failOnUnreadableMessages(client: pg.Client): void {
  const { connection } = client as unknown as { connection: Wire };
  const attachListeners = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    attachListeners(stream);
    const parse = stream.listeners('data').at(-1) as (bytes: Buffer) => void;
    stream.off('data', parse);
    stream.on('data', (bytes: Buffer) => {
      try {
        parse(bytes);
      } catch (error) {
        stream.destroy(error);
      }
    });
  };
}

/**
 * Agents pause for longer than pg's default of 10 seconds, and a new connection has to prepare every statement again.
 */
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
