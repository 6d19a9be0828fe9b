import { afterAll, beforeAll, expect, it } from 'vitest';
import { executorOn } from '../../src/core/database/pg.ts';
import type { ConnectionPool } from '../../src/core/database/pool.ts';
import { parseQuery } from '../../src/core/database/query.ts';
import { TcpProxy } from '../support/faults/proxies.ts';
import { createTestDatabase, openServicePool } from '../support/test-database.ts';

const selectQuery = parseQuery<{ text: string }, { text: string }>(
  'select_text',
  'SELECT $text::text AS text',
);
const unanswered = {
  code: 'database_unavailable',
  isUnavailable: true,
  outcomeUnknown: true,
  neverSent: false,
};

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let proxy: TcpProxy;
let pool: ConnectionPool;

beforeAll(async () => {
  database = await createTestDatabase();
  const { hostname, port } = new URL(database.url);
  proxy = new TcpProxy({ host: hostname, port: Number(port || 5432) });
  await proxy.open();
  const url = new URL(database.url);
  url.host = `127.0.0.1:${proxy.port}`;
  pool = openServicePool(url.href, { max: 1 });
});
afterAll(async () => {
  await pool.end();
  await proxy.reject();
  await database.drop();
});

it('fails a query that gets no response in time, and runs the next query on another connection', async () => {
  const patient = executorOn(pool, 60_000);
  expect((await patient(selectQuery, { text: 'before' })).rows).toStrictEqual([{ text: 'before' }]);
  proxy.blackhole();
  await expect(executorOn(pool, 50)(selectQuery, { text: 'lost' })).rejects.toMatchObject(unanswered);
  expect((await patient(selectQuery, { text: 'after' })).rows).toStrictEqual([{ text: 'after' }]);
});

it('fails a query on a dedicated connection if it gets no response in time', async () => {
  const client = await pool.take();
  const query = executorOn(client, 50);
  proxy.blackhole();
  await expect(query(selectQuery, { text: 'lost' })).rejects.toMatchObject(unanswered);
  pool.release(client, unanswered);
});
