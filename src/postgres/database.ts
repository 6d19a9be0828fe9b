import { type Config, ConfigError } from '../config.ts';
import type { QueryExecutor } from './query.ts';

/** How a pool of connections stands; all in connections, `waiting` in requests for one. */
export interface PoolState {
  total: number;
  idle: number;
  waiting: number;
  max: number;
}

/** A Postgres, reached over the network or embedded: what the store needs of it. */
export interface Database {
  readonly kind: 'postgres' | 'pglite';
  /**
   * Runs one statement, in a transaction of its own. Reads that come at about the same time share one (`BatchQueue`). Throws what
   * the driver throws.
   */
  readonly query: QueryExecutor;
  /** Runs a statement for many calls, one that waits for no lock: on connections that nothing holds up. */
  readonly queryBatch: QueryExecutor;
  /** Runs `work` in one transaction; rolls back when it throws. With `snapshot` it only reads, all as at one moment. */
  transaction<T>(work: (query: QueryExecutor) => Promise<T>, options?: { snapshot: boolean }): Promise<T>;
  /**
   * Runs a background job unless another process runs it, on this database and under the same number.
   *
   * @returns false when another process does.
   */
  withJobLock(lock: number, job: () => Promise<void>): Promise<boolean>;
  /**
   * Brings the schema up to date, one process at a time: first the migrations, then the functions.
   *
   * @param folder of the migrations
   * @param functions the script that makes the functions
   */
  migrate(folder: string, functions: string): Promise<void>;
  pool(): PoolState;
  /** Waits for running statements, then lets go of the database. */
  close(): Promise<void>;
}

/**
 * The planner's settings for each session. Every statement here goes by a key to a few rows, so one plan fits all values. Left
 * alone, Postgres plans the listing anew for each call (0.3 ms, three times what it takes to run it), since a generic
 * plan's costs look higher to it. And where it expects many more rows than there are, as it does in large tables, it
 * starts workers, compiles the plan (8 ms for a listing of 100) or, where it was planned while a table was still small, reads
 * all of it.
 */
export const PLANNER = {
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/**
 * Opens the database that the configuration names: `DATABASE_URL`, or the embedded one in `DATA_DIR`. A remote
 * one is not connected to before the first statement.
 *
 * @throws DataDirectoryInUse when another process has the embedded database.
 * @throws ConfigError when there is no embedded database here.
 */
export async function openDatabase(config: Config): Promise<Database> {
  if (config.DATABASE_URL !== undefined) {
    const { openPostgres } = await import('./pg.ts');
    return openPostgres(config.DATABASE_URL, config);
  }
  // Loaded only where it is used: the image has no PGlite.
  const { openPglite } = await import('./pglite.ts').catch(explainMissingPglite);
  return openPglite(config.DATA_DIR, config.DB_BATCH_SIZE);
}

function explainMissingPglite(error: Error & { code?: string }): never {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes('@electric-sql/pglite')) throw error;
  throw new ConfigError(
    'Set DATABASE_URL, to a URL like postgres://user:password@host:5432/database: the embedded database is not installed here.',
  );
}
