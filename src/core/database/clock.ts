import type { Database } from './database.ts';
import { defineQuery, type Query, type QueryExecutor, time } from './query.ts';

type NoParams = Record<string, never>;

const databaseTimeQuery = defineQuery<NoParams, { now: string }>(
  'database_time',
  `SELECT ${time('now()')} AS now`,
);

/**
 * Returns the database time in ISO 8601 with microseconds; in a transaction, the transaction's start time. All
 * committed changes are earlier.
 */
export async function databaseInstant(database: Pick<Database, 'query'>): Promise<string> {
  return readInstant(database.query, databaseTimeQuery);
}

const currentTimeQuery = defineQuery<NoParams, { now: string }>(
  'current_time',
  `SELECT ${time('clock_timestamp()')} AS now`,
);

/** Like `databaseInstant`, but later than the changes that a transaction has waited for. */
export async function currentInstant(query: QueryExecutor): Promise<string> {
  return readInstant(query, currentTimeQuery);
}

async function readInstant(
  query: QueryExecutor,
  statement: Query<NoParams, { now: string }>,
): Promise<string> {
  const [row] = (await query(statement, {})).rows;
  if (row === undefined) throw new Error('The database gave no time.');
  return row.now;
}

/**
 * Returns the database time in milliseconds. Jobs use it instead of the local clock, because a replica with a wrong
 * clock would delete recent data.
 */
export async function databaseTime(database: Database): Promise<Date> {
  return new Date(await databaseInstant(database));
}
