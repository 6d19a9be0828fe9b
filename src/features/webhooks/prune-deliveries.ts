import { databaseTime } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { DAY_MS } from '../../core/lib/units.ts';
import { Webhooks } from './webhooks.ts';

const MAX_AGE_MS = 7 * DAY_MS;

/**
 * Deletes old deliveries, and the deliveries to deleted endpoints.
 *
 * @param now the database's time by default
 */
export async function pruneDeliveries(database: Database, now?: Date): Promise<number> {
  const at = now ?? (await databaseTime(database));
  return new Webhooks(database).pruneDeliveries(new Date(at.getTime() - MAX_AGE_MS).toISOString());
}
