import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Config } from '../config.ts';
import { OperatorError } from '../errors/errors.ts';
import { Deadlines } from '../lib/deadlines.ts';
import { BatchQueue } from './batch-queue.ts';
import { distribute, findNodeQuery, hasCitus, prepareCluster } from './citus.ts';
import { type ConnectionEvents, ConnectionWatch } from './connection-watch.ts';
import { type Database, describeDatabase, MEANING, PLANNER, type Snapshot } from './database.ts';
import {
  asDatabaseError,
  DatabaseError,
  failWithFirstFault,
  throwConnectionError,
  throwDatabaseError,
} from './database-errors.ts';
import { type NodeEvents, NodeShares } from './node-shares.ts';
import { Connection, ConnectionPool } from './pool.ts';
import {
  defineQuery,
  parameterValues,
  type QueryExecutor,
  type StatementTracer,
  traceExecutor,
  type Value,
} from './query.ts';
import { BatchLimits } from './running-statements.ts';

/**
 * Encodes string arrays in Postgres' binary format, which pg uses for a Buffer. The text format is slower, because
 * client and server scan each character for quotes (docs/decisions/0002-binary-arrays.md).
 */
export function encodeValue(value: Value): unknown {
  return Array.isArray(value) && value.some((each) => typeof each === 'string')
    ? textArray(value as (string | null)[])
    : value;
}

/** Encodes `text[]` as `array_recv` in Postgres' src/backend/utils/adt/arrayfuncs.c expects. */
function textArray(strings: (string | null)[]): Buffer {
  const lengths = strings.map((each) => (each === null ? 0 : Buffer.byteLength(each)));
  const buffer = Buffer.allocUnsafe(20 + lengths.reduce((sum, length) => sum + 4 + length, 0));
  buffer.writeInt32BE(1, 0); // number of dimensions
  buffer.writeInt32BE(strings.includes(null) ? 1 : 0, 4);
  buffer.writeInt32BE(pg.types.builtins.TEXT, 8);
  buffer.writeInt32BE(strings.length, 12);
  buffer.writeInt32BE(1, 16); // first element's index
  let at = 20;
  for (const [i, string] of strings.entries()) {
    at = buffer.writeInt32BE(string === null ? -1 : (lengths[i] ?? 0), at);
    if (string !== null) at += buffer.write(string, at);
  }
  return buffer;
}

/*
 * Support for a pooler between the service and Postgres, such as PgBouncer. A pooler ignores the settings in a
 * connection's startup message. In transaction mode, each transaction may run in another session. See
 * docs/pgbouncer.md.
 */

/** Whether a pooler is in use: the backend's process ID differs from the ID sent when the connection was opened. */
export async function usesPooler(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  // pg's types lack this property.
  const { processID } = client as pg.Client & { processID: number };
  return rows[0]?.pid !== processID;
}

/**
 * Explains why the service cannot work through a pooler, with advice. Returns undefined if it can.
 *
 * @param one and `other` are connections through the pooler
 * @param settings settings that each session needs
 */
export async function describeUnfitPooler(
  one: pg.Client,
  other: pg.Client,
  settings: Record<string, string>,
): Promise<string | undefined> {
  if (await losesStatements(one, other)) {
    return 'it is behind a pooler in transaction mode that does not keep track of prepared statements; use PgBouncer 1.21 or newer with max_prepared_statements, or session mode';
  }
  const commands = await missingSettings(one, settings);
  if (commands.length === 0) return undefined;
  return `it is behind a pooler, through which the service cannot give its sessions their settings; run this as the same user, and RECONNECT in PgBouncer: ${commands.join(' ')}`;
}

/** Number of probes. In an otherwise idle pool, the first probe is conclusive. */
const ATTEMPTS = 10;

/**
 * Whether statements prepared on one connection remain visible to another one. Poolers that track prepared statements
 * rename them.
 */
async function losesStatements(one: pg.Client, other: pg.Client): Promise<boolean> {
  const name = `probe_${randomUUID()}`;
  const isPreparedOn = async (client: pg.Client) =>
    (await client.query('SELECT FROM pg_prepared_statements WHERE name = $1', [name])).rowCount === 1;
  await one.query('BEGIN');
  await one.query({ name, text: 'SELECT 1' });
  const keepsNames = await isPreparedOn(one);
  await one.query('COMMIT');
  if (!keepsNames) return false;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if ((await isPreparedOn(other)) || !(await isPreparedOn(one))) return true;
  }
  return false;
}

/** Other names for the time zone UTC. Servers often have one of them as their default. */
const UTC = ['Etc/UTC', 'Etc/UCT', 'UCT', 'Etc/Universal', 'Universal', 'Etc/Zulu', 'Zulu'];

/** Returns the commands that set the missing settings for the role. */
async function missingSettings(client: pg.Client, settings: Record<string, string>): Promise<string[]> {
  const { rows } = await client.query<{ command: string }>(
    `SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %s = %s;', current_database(), w.name,
       CASE WHEN w.setting ~ '\\W' THEN quote_literal(w.setting) ELSE w.setting END) AS command
     FROM unnest($1::text[], $2::text[]) AS w (name, setting) JOIN pg_settings AS s ON s.name = w.name
       AND s.setting <> w.setting AND NOT (w.setting = 'UTC' AND s.setting = ANY ($3::text[]))`,
    [Object.keys(settings), Object.values(settings), UTC],
  );
  return rows.map(({ command }) => command);
}

/** Advisory lock key. Arbitrary, but every replica must use the same value. */
const MIGRATION_LOCK = 7_236_105_551;

/** Parses times as text, because a `Date` would drop the microseconds. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.TIMESTAMPTZ ? (text: string) => text : pg.types.getTypeParser(oid, format),
};

const asOptions = (settings: Record<string, string>) =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replace(/[\\\s]/g, '\\$&')}`)
    .join(' ');

export const plannerOptions = asOptions(PLANNER);

/**
 * Planner settings for Citus, which needs a plan per call, because the tenant's ID selects the shard. With `auto`,
 * Citus also caches a plan per call and never frees it (citusdata/citus#8824).
 */
const CITUS_PLANNER = { ...PLANNER, plan_cache_mode: 'force_custom_plan' };
export const citusPlannerOptions = asOptions(CITUS_PLANNER);

const NO_TIME_LIMITS = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};

/** Additional time that the client waits beyond the server's statement timeout. */
const GRACE_MS = 1000;

/** TCP keep-alive interval, below the idle timeout in common firewalls. */
const KEEP_ALIVE_AFTER_MS = 60_000;

/**
 * Number of connections reserved for batches, and maximum number of statements of one kind that run at the same time.
 * Batches never wait for locks, so few connections suffice, and more are slower.
 */
export const BATCH_CONNECTIONS = 4;

/**
 * Opens a database server through a pool of connections. Detects Citus and a pooler once, because they determine the
 * session settings.
 *
 * @throws DatabaseError when the server cannot be reached
 * @throws OperatorError when the encoding is not UTF-8, or the service cannot work through the pooler
 */
export async function openPostgres(
  url: string,
  config: Config,
  events: ConnectionEvents & NodeEvents,
  tracer?: StatementTracer,
): Promise<Database> {
  const reachable: pg.ClientConfig = {
    connectionString: url,
    fallback_application_name: 'memory-service',
    connectionTimeoutMillis: config.DB_CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    types,
  };
  // The server's timeouts have no effect when the server is frozen or the network drops packets.
  const maxMs = config.DB_STATEMENT_TIMEOUT_MS > 0 ? config.DB_STATEMENT_TIMEOUT_MS + GRACE_MS : 0;
  const { encoding, isCitus, isPooled } = await onOneConnection(
    { ...reachable, query_timeout: maxMs },
    async (client) => ({
      encoding: await readEncoding(client),
      isCitus: await hasCitus(client),
      isPooled: await usesPooler(client),
    }),
  ).catch(throwDatabaseError);
  if (encoding !== 'UTF8') throw wrongEncoding(encoding, config);
  const settings = {
    statement_timeout: String(config.DB_STATEMENT_TIMEOUT_MS),
    lock_timeout: String(config.DB_LOCK_TIMEOUT_MS),
    idle_in_transaction_session_timeout: String(config.DB_IDLE_IN_TRANSACTION_TIMEOUT_MS),
    ...MEANING,
    ...(isCitus ? CITUS_PLANNER : PLANNER),
  };
  if (isPooled) await checkPooler({ ...reachable, query_timeout: maxMs }, settings, config);
  const connection = isPooled ? reachable : { ...reachable, options: asOptions(settings) };
  const batches = new BatchLimits(isCitus ? 1 : config.DB_BATCH_SIZE, BATCH_CONNECTIONS);
  const watch = new ConnectionWatch(events);
  const pool = new ConnectionPool({ ...connection, max: config.DB_POOL_MAX }, watch);
  const forBatches = new ConnectionPool({ ...connection, max: BATCH_CONNECTIONS }, watch);
  const queryBatch = traceExecutor(executorOn(forBatches, maxMs), tracer);
  const shares = isCitus ? createNodeShares(config.DB_POOL_MAX, queryBatch, events) : undefined;
  const limitExecutor = (execute: QueryExecutor, waits: boolean) =>
    shares?.executor(execute, { waits }) ?? execute;
  const single = traceExecutor(limitExecutor(executorOn(pool, maxMs), true), tracer);
  const reads = new BatchQueue({ batched: queryBatch, single }, batches, tracer);
  return {
    kind: isCitus ? 'citus' : 'postgres',
    batches,
    tracer,
    query: reads.query,
    queryBatch,
    transaction: (work, options) =>
      transaction(pool, maxMs, options?.snapshot ?? false, (query) =>
        failWithFirstFault(traceExecutor(limitExecutor(query, false), tracer), work),
      ),
    withJobLock: (lock, job) => withAdvisoryLock(connection, maxMs, lock, job),
    migrate: async (directory, functions) => {
      if (isPooled) throw unmigratedBehindPooler(config);
      await migrateOnOneConnection(url, config, directory, functions);
    },
    pool: () => {
      const [some, others] = [pool.state, forBatches.state];
      return {
        total: some.total + others.total,
        idle: some.idle + others.idle,
        waiting: some.waiting + others.waiting,
        max: some.max + others.max,
      };
    },
    close: async () => {
      await Promise.all([pool.end(), forBatches.end()]);
    },
  };
}

/** Leaves half of a pool's connections to tenants on other nodes. Node lookups have separate connections. */
function createNodeShares(poolMax: number, query: QueryExecutor, events: NodeEvents): NodeShares {
  const findNode = async (tenant: string) => (await query(findNodeQuery, { tenant })).rows[0]?.node ?? '';
  return new NodeShares(Math.ceil(poolMax / 2), findNode, events);
}

/** Runs `work` on a separate connection. Throws any error from `work`, and a `DatabaseError` if it cannot connect. */
async function onOneConnection<T>(
  connection: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connect(connection).catch(throwConnectionError);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function connect(connection: pg.ClientConfig): Promise<Connection> {
  const client = new Connection(connection);
  await client.connect();
  return client;
}

async function readEncoding(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query("SELECT current_setting('server_encoding') AS encoding");
  return rows[0]?.encoding;
}

/**
 * Creates the error for another encoding than UTF8. Other encodings lack characters, and SQL_ASCII counts and compares
 * bytes.
 */
function wrongEncoding(encoding: string, config: Config): OperatorError {
  return new OperatorError(
    `Cannot use ${describeDatabase(config)}: its encoding is ${encoding}, and the service needs UTF8. Create a database with: createdb --encoding UTF8 --locale C --template template0 NAME`,
  );
}

async function checkPooler(
  connection: pg.ClientConfig,
  settings: Record<string, string>,
  config: Config,
): Promise<void> {
  const fault = await onOneConnection(connection, (one) =>
    onOneConnection(connection, (other) => describeUnfitPooler(one, other, settings)),
  ).catch(throwDatabaseError);
  if (fault !== undefined) throw new OperatorError(`Cannot use ${describeDatabase(config)}: ${fault}`);
}

function unmigratedBehindPooler(config: Config): OperatorError {
  return new OperatorError(
    `Cannot migrate ${describeDatabase(config)} through a pooler: run memory-service migrate with a DATABASE_URL that names the server itself.`,
  );
}

const deadlines = new Deadlines();

/**
 * Executes queries on a connection, or on a free connection in a pool. A connection prepares each query on first use.
 * Throws `DatabaseError`.
 *
 * @param maxMs time after which an unresponsive connection is closed; 0 means no limit
 */
export function executorOn(connection: ConnectionPool | pg.ClientBase, maxMs = 0): QueryExecutor {
  return async (statement, params) => {
    const { name, sql } = statement;
    const values = parameterValues(statement, params).map(encodeValue);
    const client = connection instanceof ConnectionPool ? await connection.take() : connection;
    let fault: DatabaseError | undefined;
    try {
      const { rows, rowCount } = await send(client, { name, text: sql, values }, maxMs);
      return { rows, count: rowCount ?? 0 };
    } catch (error) {
      fault = asDatabaseError(error);
      throw fault;
    } finally {
      if (connection instanceof ConnectionPool) connection.release(client as pg.PoolClient, fault);
    }
  };
}

/**
 * Sends a query with a separate promise and time limit. The closures in pg's own `query` would keep every query's rows
 * alive beyond minor garbage collections (docs/decisions/0011-short-lived-entries.md).
 */
function send(client: pg.ClientBase, query: pg.QueryConfig, maxMs: number): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    // Ending a connection during a query closes the socket, which fails the query. Pool clients have `end` as well.
    const end = () => void (client as pg.Client).end();
    const deadline = maxMs > 0 ? deadlines.start(maxMs, end) : undefined;
    client.query(query, (error: Error | null, result) => {
      if (deadline) deadlines.clear(deadline);
      if (error) reject(error);
      else resolve(result);
    });
  });
}

/** Runs `work` in a transaction and throws its errors. Closes the connection if it failed or if the rollback failed. */
async function transaction<T>(
  pool: ConnectionPool,
  maxMs: number,
  snapshot: Snapshot,
  work: (query: QueryExecutor) => Promise<T>,
): Promise<T> {
  const client = await pool.take();
  let fault: unknown;
  try {
    const level = snapshot ? ' ISOLATION LEVEL REPEATABLE READ' : '';
    const begin = `BEGIN${level}${snapshot === true ? ' READ ONLY' : ''}`;
    await send(client, { text: begin }, maxMs).catch(throwDatabaseError);
    const result = await work(executorOn(client, maxMs));
    await send(client, { text: 'COMMIT' }, maxMs).catch(throwDatabaseError);
    return result;
  } catch (error) {
    // If the rollback fails as well, the first error is reported.
    const rolledBack = send(client, { text: 'ROLLBACK' }, maxMs);
    fault = error instanceof DatabaseError && error.isUnavailable ? error : undefined;
    await rolledBack.catch((failed) => {
      fault ??= failed;
    });
    throw error;
  } finally {
    pool.release(client, fault);
  }
}

const tryLockQuery = defineQuery<{ lock: number }, { locked: boolean }>(
  'try_lock',
  'SELECT pg_try_advisory_xact_lock($lock::bigint) AS locked',
);

/**
 * Holds an advisory lock while a job runs. The lock belongs to a transaction, because a pooler keeps sessions open. The
 * lock has a separate connection, so that the job also runs with a one-connection pool.
 */
async function withAdvisoryLock(
  connection: pg.ClientConfig,
  maxMs: number,
  lock: number,
  job: () => Promise<void>,
): Promise<boolean> {
  return onOneConnection(connection, async (client) => {
    const begin = { text: 'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0' };
    await send(client, begin, maxMs).catch(throwDatabaseError);
    const { rows } = await executorOn(client, maxMs)(tryLockQuery, { lock });
    const isLocked = rows[0]?.locked === true;
    if (isLocked) await job();
    // The commit rejects if the connection, and therefore the lock, was lost.
    await send(client, { text: 'COMMIT' }, maxMs).catch(throwDatabaseError);
    return isLocked;
  });
}

/**
 * Migrates under an advisory lock, because drizzle's `migrate` takes none. The connection is separate and has no time
 * limits, since a migration may take longer than a request.
 */
async function migrateOnOneConnection(
  url: string,
  config: Config,
  directory: string,
  functions: string,
): Promise<void> {
  // Imported on demand, because most starts do not migrate.
  const { drizzle } = await import('drizzle-orm/node-postgres');
  const { migrate } = await import('drizzle-orm/node-postgres/migrator');
  const connection: pg.ClientConfig = {
    connectionString: url,
    fallback_application_name: 'memory-service migrate',
    connectionTimeoutMillis: config.DB_CONNECT_TIMEOUT_MS,
    // Overrides the limits that a role needs for sessions through a pooler.
    options: asOptions({ ...NO_TIME_LIMITS, ...MEANING }),
  };
  // Ending the session releases the lock.
  await onOneConnection(connection, async (client) => {
    await client.query('SELECT pg_advisory_lock($1::bigint)', [MIGRATION_LOCK]);
    const isCitus = await hasCitus(client);
    if (isCitus) await prepareCluster(client);
    await migrate(drizzle(client), { migrationsFolder: directory });
    await client.query(functions);
    if (isCitus) await distribute(client, directory);
  });
}
