import { resolve } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import type { QueryExecutor } from './query.ts';
import type { StatementTracer } from './statement-tracer.ts';

/** State of the connection pool, in connections; `waiting` counts requests for one. */
export interface PoolState {
  total: number;
  idle: number;
  waiting: number;
  max: number;
}

/** A Postgres server, a cluster of them with the extension Citus, or the embedded one. */
export interface Database {
  readonly kind: 'postgres' | 'citus' | 'pglite';
  readonly tracer?: StatementTracer | undefined;
  /** Maximum number of calls, of any tenants, that may share a statement. 1 on Citus: tenants are on different shards. */
  readonly batchSize: number;
  /**
   * Executes a query in its own transaction. Concurrent reads may share a statement (`BatchQueue`).
   */
  readonly query: QueryExecutor;
  /** Executes a query for many calls that never waits for a lock, on connections reserved for such queries. */
  readonly queryBatch: QueryExecutor;
  /** Runs `work` in a transaction and rolls back when it throws. With `snapshot` the transaction is read-only and sees one moment. */
  transaction<T>(work: (query: QueryExecutor) => Promise<T>, options?: { snapshot: boolean }): Promise<T>;
  /**
   * Runs a background job, unless another process holds the advisory lock `lock` on this database.
   *
   * @returns false when another process does.
   */
  withJobLock(lock: number, job: () => Promise<void>): Promise<boolean>;
  /**
   * Brings the schema up to date, one process at a time: first the migrations, then the functions. Then distributes both on Citus.
   *
   * @param folder of the migrations
   * @param functions the script that creates the functions
   */
  migrate(folder: string, functions: string): Promise<void>;
  /** Makes the space of deleted rows usable again. Of the embedded database only: a server does that by itself. */
  vacuum?(): Promise<void>;
  pool(): PoolState;
  /** Waits for running queries, then closes the connections. */
  close(): Promise<void>;
}

/**
 * Planner settings of each session. Every query finds a few rows by key, so one plan fits all values. By default, Postgres plans a
 * listing anew for each call, and for large tables it starts workers, compiles plans, or keeps a sequential scan that was planned while
 * the table was small. See docs/decisions/0003-planner-settings.md.
 */
export const PLANNER = {
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** Events of an embedded database. A server reports its own. */
export interface EmbeddedEvents {
  /** Postgres has stopped, for the given reason. Every query fails from now on. */
  stopped(reason: string): void;
  /** The disk is nearly full, so writes are refused; or there is room again, and they are accepted. */
  readOnly(isReadOnly: boolean): void;
}

/**
 * Opens the database that the configuration names: `DATABASE_URL`, or the embedded one in `DATA_DIR`.
 *
 * @throws DatabaseError when the server cannot be reached
 * @throws OperatorError when the embedded database cannot be opened, or another process has it
 * @throws ConfigError when there is no embedded database here.
 */
export async function openDatabase(
  config: Config,
  events: EmbeddedEvents = { stopped: () => {}, readOnly: () => {} },
  tracer?: StatementTracer,
): Promise<Database> {
  if (config.DATABASE_URL !== undefined) {
    const { openPostgres } = await import('./pg.ts');
    return openPostgres(config.DATABASE_URL, config, tracer);
  }
  // Imported on demand: the image has no PGlite.
  const { openPglite } = await import('../embedded/pglite.ts').catch(explainMissingPglite);
  return openPglite(config.DATA_DIR, config.DB_BATCH_SIZE, events, tracer);
}

/** Describes the configured database for people, without credentials. */
export function describeDatabase({ DATABASE_URL, DATA_DIR }: Config): string {
  if (DATABASE_URL === undefined) return `the embedded database in ${resolve(DATA_DIR)}`;
  const { hostname, port, pathname, searchParams } = new URL(DATABASE_URL);
  const host = searchParams.get('host') ?? (hostname || 'localhost');
  return `the database at ${host}:${port || 5432}${pathname}`;
}

function explainMissingPglite(error: Error & { code?: string }): never {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes('@electric-sql/pglite')) throw error;
  throw new ConfigError(
    'Set DATABASE_URL, to a URL like postgres://user:password@host:5432/database: the embedded database is not installed here.',
  );
}
