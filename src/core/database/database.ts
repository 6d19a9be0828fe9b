import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import type { QueryExecutor, StatementTracer } from './query.ts';
import type { BatchLimits } from './running-statements.ts';

/** Connection pool state, in connections. `waiting` counts queued requests for a connection. */
export interface PoolState {
  total: number;
  idle: number;
  waiting: number;
  max: number;
}

/** Whether all statements in a transaction see the same snapshot. A snapshot is read-only unless `writable`. */
export type Snapshot = boolean | 'writable';

/** A Postgres server, a Citus cluster, or the embedded database. */
export interface Database {
  readonly kind: 'postgres' | 'citus' | 'pglite';
  readonly tracer?: StatementTracer | undefined;
  /**
   * Limits for statements that combine many calls, across tenants. One call on Citus, where tenants are on different
   * shards.
   */
  readonly batches: BatchLimits;
  /** Executes a query in a separate transaction. Concurrent reads may share a statement (`BatchQueue`). */
  readonly query: QueryExecutor;
  /** Executes a batch query, which never waits for a lock, on connections reserved for batches. */
  readonly queryBatch: QueryExecutor;
  /** Runs `work` in a transaction, and rolls back if `work` throws. */
  transaction<T>(work: (query: QueryExecutor) => Promise<T>, options?: { snapshot: Snapshot }): Promise<T>;
  /**
   * Runs a background job, unless another process holds the advisory lock `lock` on this database.
   *
   * @returns false when another process holds the lock
   */
  withJobLock(lock: number, job: () => Promise<void>): Promise<boolean>;
  /**
   * Applies the migrations, then the functions, one process at a time. On Citus, then distributes both.
   *
   * @param directory directory with the migrations
   * @param functions script that creates the functions
   */
  migrate(directory: string, functions: string): Promise<void>;
  /** Reclaims the space that deleted rows occupied. Only for the embedded database, because a server has autovacuum. */
  vacuum?(): Promise<void>;
  pool(): PoolState;
  /** Waits for running queries, then closes the connections. */
  close(): Promise<void>;
}

/**
 * Planner settings for each session. Every query finds a few rows by key, so one plan suits all values. With Postgres'
 * defaults, listings are planned anew for each call. Large tables get parallel workers, JIT compilation, or an outdated
 * plan with a sequential scan. See docs/decisions/0003-planner-settings.md.
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
 * Settings in each session that determine how values are written as text and how statements are interpreted. A role, a
 * database, or a server may have other defaults.
 */
export const MEANING = {
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
  gin_fuzzy_search_limit: '0',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
};

/** Describes the configured database for an operator, without credentials. */
export function describeDatabase({ DATABASE_URL, DATA_DIR }: Config): string {
  if (DATABASE_URL === undefined) return `the embedded database in ${resolve(DATA_DIR)}`;
  const { hostname, port, pathname, searchParams } = new URL(DATABASE_URL);
  const host = searchParams.get('host') ?? (hostname || 'localhost');
  return `the database at ${host}:${port || 5432}${pathname}`;
}
