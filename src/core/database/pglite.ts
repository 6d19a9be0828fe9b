import { join } from 'node:path';
import { type PGliteInterface, type Transaction, types } from '@electric-sql/pglite';
import { BatchQueue } from './batch-queue.ts';
import { DataDirectoryInUse, isServed, lockDataDirectory } from './data-directory.ts';
import type { Database, Snapshot } from './database.ts';
import { asDatabaseError, failWithFirstFault, throwDatabaseError } from './database-errors.ts';
import {
  checkpoints,
  type EmbeddedEvents,
  freeBytes,
  migrateEngine,
  openEngine,
  type PgliteEngine,
  RESERVED_BYTES,
  vacuumTables,
} from './pglite-engine.ts';
import { parameterValues, type QueryExecutor, type StatementTracer, traceExecutor } from './query.ts';
import { BatchLimits } from './running-statements.ts';

/**
 * Opens the embedded database in a directory. It has one connection, in this process, and allows one process at a time.
 *
 * @param calls maximum number of calls in a statement
 * @throws OperatorError when it cannot be opened, or another process uses it
 */
export async function openPglite(
  directory: string,
  calls: number,
  events: EmbeddedEvents,
  tracer?: StatementTracer,
): Promise<Database> {
  const unlock = lockDataDirectory(directory);
  let client: PgliteEngine;
  try {
    // If a user deleted the lock file, the socket still reveals a running service.
    if (await isServed(directory)) throw new DataDirectoryInUse(directory);
    client = await openEngine(join(directory, 'pglite'), events);
  } catch (error) {
    unlock();
    throw error;
  }
  const guard = diskGuard(directory, client, events);
  const checkpoint = checkpoints();
  const execute = executorOn(client, checkpoint);
  const query = traceExecutor(async (statement, params) => {
    await guard();
    return execute(statement, params);
  }, tracer);
  // No other process can use the directory, so job locks are local.
  const lockedJobs = new Set<number>();
  let running = 0;
  let idle: (() => void) | undefined;

  /** Counts running queries, because PGlite's `close` hangs while a query runs. */
  async function runCounted<T>(work: () => Promise<T>): Promise<T> {
    running++;
    try {
      return await work();
    } finally {
      running--;
      if (running === 0) idle?.();
    }
  }

  // The engine executes one statement at a time.
  const batches = new BatchLimits(calls, 1);
  const reads = new BatchQueue({ batched: query, single: query }, batches, tracer);
  return {
    kind: 'pglite',
    batches,
    tracer,
    query: (...call) => runCounted(() => reads.query(...call)),
    queryBatch: (...call) => runCounted(() => query(...call)),
    transaction: (work, options) =>
      runCounted(async () => {
        await guard();
        return transactionOn(client, options?.snapshot ?? false, (transaction) =>
          failWithFirstFault(traceExecutor(executorOn(transaction, checkpoint), tracer), work),
        );
      }),
    withJobLock: async (lock, job) => {
      if (lockedJobs.has(lock)) return false;
      lockedJobs.add(lock);
      try {
        await job();
        return true;
      } finally {
        lockedJobs.delete(lock);
      }
    },
    migrate: (migrationsDirectory, functions) =>
      runCounted(() => migrateEngine(client, migrationsDirectory, functions)),
    vacuum: () => runCounted(() => vacuumTables(client)),
    pool: () => ({
      total: 1,
      idle: running === 0 ? 1 : 0,
      waiting: Math.max(0, running - 1),
      max: 1,
    }),
    async close() {
      if (running > 0) {
        await new Promise<void>((resolve) => {
          idle = resolve;
        });
      }
      if (client.endReason === undefined) await client.close();
      unlock();
    },
  };
}

/**
 * Returns a function to call before each transaction. While the disk is nearly full, it makes transactions read-only.
 * Postgres then rejects writes with SQLSTATE 25006, and reads continue.
 */
function diskGuard(directory: string, client: PgliteEngine, events: EmbeddedEvents): () => Promise<void> {
  let isReadOnly = false;
  const update = async () => {
    // Accepting writes again requires more space, so that the state does not change with every statement.
    const needed = isReadOnly ? 1.25 * RESERVED_BYTES : RESERVED_BYTES;
    const isShort = freeBytes(directory) < needed;
    if (isShort === isReadOnly) return;
    isReadOnly = isShort;
    events.readOnly(isReadOnly);
    await client.exec(`SET default_transaction_read_only = ${isReadOnly}`);
  };
  return () => update().catch(throwDatabaseError);
}

/**
 * Runs `work` in a transaction. Throws any error from `work`, and a `DatabaseError` if the transaction cannot begin or
 * commit.
 */
async function transactionOn<T>(
  client: PgliteEngine,
  snapshot: Snapshot,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  try {
    return await client.transaction(async (transaction) => {
      const mode = snapshot === true ? ', READ ONLY' : '';
      if (snapshot) await transaction.exec(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ${mode}`);
      try {
        return await work(transaction);
      } catch (error) {
        failure = error;
        throw error;
      }
    });
  } catch (error) {
    throw error === failure ? error : asDatabaseError(error);
  }
}

/** Parses times as text, as for pg. */
const parsers = { [types.TIMESTAMPTZ]: (text: string) => text };

/** Executes queries on PGlite or in a transaction, each after `prepare`. Throws `DatabaseError`. */
function executorOn<Client extends PGliteInterface | Transaction>(
  client: Client,
  prepare: (client: Client) => Promise<void>,
): QueryExecutor {
  return async (statement, params) => {
    await prepare(client);
    const values = parameterValues(statement, params);
    const { rows, affectedRows = 0 } = await client
      .query(statement.sql, values, { parsers })
      .catch(throwDatabaseError);
    return { rows: rows as never[], count: affectedRows };
  };
}
