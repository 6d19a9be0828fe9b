import { join } from 'node:path';
import { PGlite, type Results } from '@electric-sql/pglite';
import { sql } from 'drizzle-orm';
import type { PgSession } from 'drizzle-orm/pg-core';
import { drizzle } from 'drizzle-orm/pglite';
import { migrate } from 'drizzle-orm/pglite/migrator';
import { BatchQueue } from './batch-queue.ts';
import { checkDatabaseFolder, lockDataDirectory } from './data-directory.ts';
import { type Database, PLANNER, SNAPSHOT } from './database.ts';
import type { Run, Statement, Value } from './query.ts';

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
  const db = drizzle(client);
  const run = runnerFor(db._.session);
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

  const reads = new BatchQueue({ batched: run, single: run }, batchSize);
  return {
    kind: 'pglite',
    run: (statement, params) => counted(() => reads.run(statement, params)),
    runBatch: (statement, params) => counted(() => run(statement, params)),
    transaction: (work, options) =>
      counted(() =>
        db.transaction((tx) => work(runnerFor(tx._.session)), options?.snapshot ? SNAPSHOT : undefined),
      ),
    // No other process can be on the folder.
    withJobLock: async (_lock, job) => {
      await job();
      return true;
    },
    migrate: (migrationsFolder, functions) =>
      counted(async () => {
        await migrate(db, { migrationsFolder });
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

/** Binds statements to a drizzle session; each is prepared once for the session. */
// biome-ignore lint/suspicious/noExplicitAny: the session's type parameters do not matter here
function runnerFor(session: PgSession<any, any, any>): Run {
  const prepared = new Map<string, { execute(params: Record<string, Value>): Promise<unknown> }>();
  return async <Params extends Record<string, Value>, Row>(
    { name, sql: text, parameters }: Statement<Params, Row>,
    params: Params,
  ) => {
    let ready = prepared.get(name);
    if (ready === undefined) {
      const query = { sql: text, params: parameters.map((parameter) => sql.placeholder(parameter)) };
      ready = session.prepareQuery(query, undefined, name, false);
      prepared.set(name, ready);
    }
    const { rows, affectedRows = 0 } = (await ready.execute(params)) as Results<Row>;
    return { rows, count: affectedRows };
  };
}
