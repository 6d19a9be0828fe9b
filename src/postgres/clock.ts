import { databaseTimeQuery } from '../expiration/queries.ts';
import type { Database } from './database.ts';

/** The time by which jobs say what is old. A replica's own clock may be wrong, and would remove what is fresh. */
export async function databaseTime(database: Database): Promise<Date> {
  const [row] = (await database.query(databaseTimeQuery, {})).rows;
  if (row === undefined) throw new Error('The database gave no time.');
  return new Date(row.now);
}
