import type { Database } from './database.ts';
import { defineQuery } from './query.ts';

const standbyQuery = defineQuery<Record<string, never>, { isStandby: boolean }>(
  'is_standby',
  [],
  'SELECT pg_is_in_recovery() AS "isStandby"',
);

/**
 * Whether the server follows another one, and so can only read: `DATABASE_URL` names a standby, or a failover has made it one.
 *
 * @throws DatabaseError when it does not respond
 */
export async function isStandby(database: Database): Promise<boolean> {
  return (await database.query(standbyQuery, {})).rows[0]?.isStandby === true;
}
