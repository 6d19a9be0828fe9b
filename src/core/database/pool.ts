import pg from 'pg';
import { parse } from 'pg-connection-string';
import type { ConnectionWatch } from './connection-watch.ts';
import { DatabaseError, throwDatabaseError } from './database-errors.ts';

/** Last readable options by URL, including certificate file contents. */
const lastRead = new Map<string, pg.ClientConfig>();

/**
 * Parses a URL and reads its certificate files. Each new connection reads them again, because certificates are renewed.
 * If a file becomes unreadable, the last contents are used.
 *
 * @throws Error when a file cannot be read the first time
 */
function read(url: string): pg.ClientConfig {
  try {
    // pg's connection options come from the same function, although the two types differ.
    const options = parse(withPlainSslMode(url)) as unknown as pg.ClientConfig;
    lastRead.set(url, options);
    return options;
  } catch (error) {
    const last = lastRead.get(url);
    if (last === undefined) throw error;
    return last;
  }
}

/**
 * Replaces weaker modes with `verify-full`. pg treats them as `verify-full`, but prints a warning that its next version
 * will not.
 */
function withPlainSslMode(text: string): string {
  const url = new URL(text);
  const isWeaker = /^(prefer|require|verify-ca)$/.test(url.searchParams.get('sslmode') ?? '');
  if (!isWeaker || url.searchParams.get('uselibpqcompat') === 'true') return text;
  return text.replace(/(?<=[?&]sslmode=)[^&]*/, 'verify-full');
}

/**
 * A connection whose errors always reject `connect`, or the current or next query. Without this class, pg may throw an
 * error while the pool opens a connection, or emit an `error` event without a listener. Both would end the process.
 *
 * A URL parameter never replaces a field in `config`. For `options`, the server reads the URL's options first, and a
 * setting's last value applies.
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

/** Internals in a pg connection that pg's types lack. */
interface Wire {
  attachListeners(stream: NodeJS.ReadableStream & { destroy(error: unknown): void }): void;
}

/** Fails the connection on an unknown message, such as a request for GSSAPI, for which pg's parser throws. */
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
 * Time after which an idle connection is closed. Agents pause for longer than pg's default of 10 seconds, and a new
 * connection has to prepare every statement again.
 */
const IDLE_TIMEOUT_MS = 10 * 60_000;

/** pg-pool's message when no connection became free in time. */
const EXHAUSTED = /^timeout exceeded when trying to connect/;

/** Connection pool for a server. A connection is closed after a failed statement. */
export class ConnectionPool {
  readonly #pool: pg.Pool;
  readonly #watch: ConnectionWatch;
  /** Incremented to discard all open connections. */
  #generation = 0;
  readonly #generations = new WeakMap<pg.PoolClient, number>();

  constructor(config: pg.PoolConfig, watch: ConnectionWatch) {
    this.#pool = new pg.Pool({ ...config, Client: Connection, idleTimeoutMillis: IDLE_TIMEOUT_MS });
    this.#watch = watch;
    // The pool replaces a broken idle connection. Without a listener, the error would end the process.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => {
      this.#generations.set(client, this.#generation);
      watch.noteOpened();
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

  /** @param error from the connection's last statement; the connection is then closed */
  release(client: pg.PoolClient, error?: unknown): void {
    client.release(error !== undefined);
    // All other sessions have also lost their connection to the node, and each would fail once.
    if (error instanceof DatabaseError && error.isNodeLost) this.#generation++;
  }

  /** Waits for running queries, then closes the connections. */
  end(): Promise<void> {
    return this.#pool.end();
  }

  #fail(error: unknown): never {
    if (error instanceof Error && EXHAUSTED.test(error.message)) throwDatabaseError(error);
    const fault = new DatabaseError(error, { connecting: true });
    this.#watch.noteFailure(fault.unavailability ?? '');
    throw fault;
  }
}
