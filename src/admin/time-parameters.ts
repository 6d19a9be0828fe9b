import { parseTime } from '../history/time-text.ts';
import { databaseInstant } from '../postgres/clock.ts';
import type { Database } from '../postgres/database.ts';

/**
 * Reads times as an operator gives them. What is left out stays out. A duration goes back from the database's time, by which changes are
 * recorded.
 *
 * @throws ServiceError for a text that is not a time
 */
export async function readTimes<Name extends string>(
  database: Database,
  given: Record<Name, string | undefined>,
): Promise<Record<Name, string | undefined> & { now: string }> {
  const now = await databaseInstant(database);
  const entries = Object.entries<string | undefined>(given).map(([name, text]) => [
    name,
    text === undefined ? undefined : parseTime(text, new Date(now)),
  ]);
  return { ...Object.fromEntries(entries), now };
}
