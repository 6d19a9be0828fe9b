/**
 * The database disappears while a connection is checked out of the pool. In addition, pg emits an `error` event on the
 * connection. Without a listener, the event would end the process with an unhandled error.
 */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { createTestDatabase, openPool } from '../support/test-database.ts';

it.each<[string, (database: Database, work: () => Promise<void>) => Promise<unknown>]>([
  ['a transaction', (database, work) => database.transaction(work)],
  ['a job that holds its lock', (database, work) => database.withJobLock(1, work)],
])('rejects %s if the connection is lost between two statements', async (_, start) => {
  const own = await createTestDatabase();
  const database = await openDatabase(loadConfig({ AUTH: 'none', DATABASE_URL: own.url }));
  const lost = start(database, () => own.drop());
  await expect(lost).rejects.toMatchObject({ code: 'database_unavailable' });
  await database.close();
});

it('reports no unhandled error in a test pool if its database is dropped while connections are open', async () => {
  const own = await createTestDatabase();
  const [used, closed] = [openPool(own.url), openPool(own.url)];
  const client = await used.connect();
  await Promise.all([1, 2, 3].flatMap(() => [used.query('SELECT 1'), closed.query('SELECT 1')]));
  await closed.end();
  await own.drop();
  await expect(client.query('SELECT 1')).rejects.toThrow();
  client.release(true);
  await used.end();
});
