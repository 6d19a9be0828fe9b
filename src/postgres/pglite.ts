import { join } from 'node:path';
import { PGlite, type PGliteInterface, types } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import { migrate } from 'drizzle-orm/pglite/migrator';
import { BatchQueue } from './batch-queue.ts';
import { checkDatabaseFolder, lockDataDirectory } from './data-directory.ts';
import { type Database, PLANNER } from './database.ts';
import { throwDatabaseError } from './errors.ts';
import type { QueryExecutor } from './query.ts';

let keepsByteOrderMarks = false;

/**
 * PGlite reads text with `new TextDecoder('utf-8')`, which drops a U+FEFF at its start: contents would come back changed.
 * It makes such a decoder when it is constructed and again after each database error, so once PGlite is in use the default
 * of this process changes for good. Whoever passes options is not concerned.
 */
function keepByteOrderMarks(): void {
  if (keepsByteOrderMarks) return;
  keepsByteOrderMarks = true;
  globalThis.TextDecoder = class extends globalThis.TextDecoder {
    constructor(label?: string, options: ConstructorParameters<typeof TextDecoder>[1] = { ignoreBOM: true }) {
      super(label, options);
    }
  };
}

/**
 * The embedded database in a folder: one connection, in this process, one process at a time.
 *
 * @param batchSize how many calls at the most go together
 * @throws DataDirectoryInUse when another process has the folder, DataDirectoryDamaged when there is no whole database in it.
 */
export async function openPglite(folder: string, batchSize: number): Promise<Database> {
  const unlock = lockDataDirectory(folder);
  let client: PGlite;
  try {
    keepByteOrderMarks();
    checkDatabaseFolder(join(folder, 'pglite'));
    client = new PGlite(join(folder, 'pglite'));
    await client.waitReady;
    const settings = Object.entries(PLANNER).map(([name, value]) => `SET ${name} = ${value};`);
    await client.exec(settings.join('\n'));
  } catch (error) {
    unlock();
    throw error;
  }
  const query = executorOn(client);
  let running = 0;
  let idle: (() => void) | undefined;

  /** Counts what runs: PGlite's `close` hangs when something still does, so it has to come last. */
  async function counted<T>(work: () => Promise<T>): Promise<T> {
    running++;
    try {
      return await work();
    } finally {
      running--;
      if (running === 0) idle?.();
    }
  }

  const reads = new BatchQueue({ batched: query, single: query }, batchSize);
  return {
    kind: 'pglite',
    query: (statement, params) => counted(() => reads.query(statement, params)),
    queryBatch: (statement, params) => counted(() => query(statement, params)),
    transaction: (work, options) =>
      counted(() =>
        client.transaction(async (transaction) => {
          if (options?.snapshot) {
            await transaction.exec('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
          }
          return work(executorOn(transaction));
        }),
      ),
    // No other process can be on the folder.
    withJobLock: async (_lock, job) => {
      await job();
      return true;
    },
    migrate: (migrationsFolder, functions) =>
      counted(async () => {
        await migrate(drizzle(client), { migrationsFolder });
        await client.exec(functions);
      }),
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
      await client.close();
      unlock();
    },
  };
}

/** Times come as Postgres writes them, as they do through pg. */
const parsers = { [types.TIMESTAMPTZ]: (text: string) => text };

/** Executes queries on PGlite or in a transaction of it. Throws `DatabaseError`. */
function executorOn(client: Pick<PGliteInterface, 'query'>): QueryExecutor {
  return async ({ sql, parameters }, params) => {
    const values = parameters.map((parameter) => params[parameter]);
    const { rows, affectedRows = 0 } = await client.query(sql, values, { parsers }).catch(throwDatabaseError);
    return { rows: rows as never[], count: affectedRows };
  };
}
