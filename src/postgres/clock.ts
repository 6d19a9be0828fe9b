import type { Database } from './database.ts';
import { defineQuery } from './query.ts';

const databaseTimeQuery = defineQuery<Record<string, never>, { now: string }>(
  'database_time',
  [],
  'SELECT now() AS now',
);

/** The time by which jobs say what is old. A replica's own clock may be wrong, and would remove what is fresh. */
export async function databaseTime(database: Database): Promise<Date> {
  const [row] = (await database.query(databaseTimeQuery, {})).rows;
  if (row === undefined) throw new Error('The database gave no time.');
  return new Date(row.now);
}
