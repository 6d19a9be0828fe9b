import type { Database } from './database.ts';
import { defineQuery } from './query.ts';

const databaseTimeQuery = defineQuery<Record<string, never>, { now: string }>(
  'database_time',
  [],
  'SELECT now() AS now',
);

/** Returns the time of the database. Jobs use it, because a replica with a wrong clock would delete recent data. */
export async function databaseTime(database: Database): Promise<Date> {
  const [row] = (await database.query(databaseTimeQuery, {})).rows;
  if (row === undefined) throw new Error('The database gave no time.');
  return new Date(row.now);
}
