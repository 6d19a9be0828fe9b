import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import type { QueryExecutor, StatementTracer } from './query.ts';

/** State of the connection pool, in connections; `waiting` counts requests for one. */
export interface PoolState {
  total: number;
  idle: number;
  waiting: number;
  max: number;
}

/** Whether a transaction sees one moment in all its statements. Unless it is `writable`, it is read-only then. */
export type Snapshot = boolean | 'writable';

/** A Postgres server, a cluster of them with the extension Citus, or the embedded one. */
export interface Database {
  readonly kind: 'postgres' | 'citus' | 'pglite';
  readonly tracer?: StatementTracer | undefined;
  /**
   * Maximum number of calls, of any tenants, that may share a statement. 1 on Citus: tenants are on different shards.
   */
  readonly batchSize: number;
  /**
   * Executes a query in its own transaction. Concurrent reads may share a statement (`BatchQueue`).
   */
  readonly query: QueryExecutor;
  /** Executes a query for many calls that never waits for a lock, on connections reserved for such queries. */
  readonly queryBatch: QueryExecutor;
  /** Runs `work` in a transaction and rolls back when it throws. */
  transaction<T>(work: (query: QueryExecutor) => Promise<T>, options?: { snapshot: Snapshot }): Promise<T>;
  /**
   * Runs a background job, unless another process holds the advisory lock `lock` on this database.
   *
   * @returns false when another process does.
   */
  withJobLock(lock: number, job: () => Promise<void>): Promise<boolean>;
  /**
   * Brings the schema up to date, one process at a time: first the migrations, then the functions. Then distributes
   * both on Citus.
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
 * Planner settings of each session. Every query finds a few rows by key, so one plan fits all values. By default,
 * Postgres plans a listing anew for each call, and for large tables it starts workers, compiles plans, or keeps a
 * sequential scan that was planned while the table was small. See docs/decisions/0003-planner-settings.md.
 */
export const PLANNER = {
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** Describes the configured database for people, without credentials. */
export function describeDatabase({ DATABASE_URL, DATA_DIR }: Config): string {
  if (DATABASE_URL === undefined) return `the embedded database in ${resolve(DATA_DIR)}`;
  const { hostname, port, pathname, searchParams } = new URL(DATABASE_URL);
  const host = searchParams.get('host') ?? (hostname || 'localhost');
  return `the database at ${host}:${port || 5432}${pathname}`;
}
