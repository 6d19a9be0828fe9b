/**
 * Background jobs and operator commands on many rows work in batches, use the database's clock, and need only one
 * connection.
 *
 * @module-tag long-on-pglite
 */

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { DatabaseError } from '../../src/core/database/database-errors.ts';
import { expireFiles } from '../../src/core/files/expiry.ts';
import { pruneStoredResults } from '../../src/core/tenants/stored-results.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { cmd } from '../support/step-table.ts';
import {
  describeServiceOnOwnDatabase,
  freshTenant,
  type Service,
  startService,
} from '../support/test-service.ts';

describeServiceOnOwnDatabase('maintenance on many rows', (service, kind) => {
  const count = async (table: string, tenant: string) =>
    Number(
      (await service().query(`SELECT count(*) AS n FROM ${table} WHERE tenant_id = $1::text`, [tenant]))[0]
        ?.n,
    );
  const seedAnswers = async (tenant: string, many: number, age: string) => {
    await service().query('INSERT INTO tenants (id) VALUES ($1) ON CONFLICT DO NOTHING', [tenant]);
    await service().query(
      `INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error, created_at)
       SELECT $1::text, $2::text || n, 'r', 'answer', false, now() - $2::text::interval
       FROM generate_series(1, ${many}) AS n`,
      [tenant, age],
    );
  };

  it('deletes all rows of a deleted tenant', async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/a/b/first', 'x'), { tenant });
    await service().query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
       SELECT $1::text, '/memories/a/b/d' || n, '/memories/a/b', 'dir', now() FROM generate_series(1, 4500) AS n`,
      [tenant],
    );
    await seedAnswers(tenant, 4500, '1 hour');
    expect(await new Tenants(service().database).delete(tenant)).toStrictEqual({
      entries: 4504,
      versions: 0,
      directories: 0,
      storedResults: 4500,
      keys: 0,
    });
    expect(await count('entries', tenant)).toBe(0);
    expect(await count('idempotency_keys', tenant)).toBe(0);
    expect(await service().query('SELECT 1 FROM tenants WHERE id = $1', [tenant])).toStrictEqual([]);
    expect(await new Tenants(service().database).delete(tenant)).toBeUndefined();
  });

  it('prunes old stored results and keeps recent ones', async () => {
    const tenant = freshTenant();
    await seedAnswers(tenant, 4500, '30 hours');
    await seedAnswers(tenant, 10, '2 hours');
    expect(
      await pruneStoredResults(service().database, { hours: 24, maxStoredResults: 0 }),
    ).toBeGreaterThanOrEqual(4500);
    expect(await count('idempotency_keys', tenant)).toBe(10);
  });

  it('prunes more tenants than one page contains', async () => {
    const many = 501;
    await service().query(
      `INSERT INTO tenants (id) SELECT 'page-' || n FROM generate_series(1, ${many}) AS n`,
    );
    await service().query(
      `INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error, created_at)
       SELECT 'page-' || n, 'k', 'r', 'answer', false, now() - interval '30 hours' FROM generate_series(1, ${many}) AS n`,
    );
    expect(await pruneStoredResults(service().database, { hours: 24, maxStoredResults: 0 })).toBe(many);
  });

  // PGlite shares this process's clock.
  it.runIf(kind === 'postgres')("uses the database's clock to decide which rows are old", async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/f', 'x'), { tenant });
    await service().query('UPDATE tenants SET ttl_days = 1 WHERE id = $1', [tenant]);
    await seedAnswers(tenant, 1, '2 hours');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 24 * 3_600_000 });
    try {
      await pruneStoredResults(service().database, { hours: 24, maxStoredResults: 0 });
      await expireFiles(service().database, { defaultTtlDays: 0, historyDays: 30, maxHistoryBytes: 0 });
    } finally {
      vi.useRealTimers();
    }
    expect(await count('idempotency_keys', tenant)).toBe(1);
    expect((await service().execute(cmd.view('/memories/f'), { tenant })).is_error).toBe(false);
  });
});

let service: Service;
beforeAll(async () => {
  service = await startService('postgres', { DB_POOL_MAX: '1' });
});
afterAll(() => service.close());

it('runs maintenance jobs on a pool with only one connection', async () => {
  expect(await pruneStoredResults(service.database, { hours: 24, maxStoredResults: 0 })).toBe(0);
  expect(
    await expireFiles(service.database, { defaultTtlDays: 1, historyDays: 30, maxHistoryBytes: 0 }),
  ).toStrictEqual({
    tenants: 0,
    files: 0,
    bytes: 0,
  });
});

/** Returns the database, but with one statement that fails for one tenant. */
function failStatement(name: string, tenant: string): Service['database'] {
  const database = Object.create(service.database) as Service['database'];
  Object.defineProperty(database, 'query', {
    value: (statement: { name: string }, params: { tenant?: string }) =>
      statement.name === name && params.tenant === tenant
        ? Promise.reject(new DatabaseError(Object.assign(new Error('canceled'), { code: '57014' })))
        : service.database.query(statement as never, params as never),
  });
  return database;
}

it("prunes other tenants' stored results when pruning fails for one tenant", async () => {
  const [broken, other] = ['prune-a', 'prune-b'];
  for (const tenant of [broken, other]) {
    await service.query('INSERT INTO tenants (id) VALUES ($1)', [tenant]);
    await service.query(
      `INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error, created_at)
       VALUES ($1, 'k', 'r', 'answer', false, now() - interval '30 hours')`,
      [tenant],
    );
  }
  const database = failStatement('prune_stored_results', broken);
  await expect(pruneStoredResults(database, { hours: 24, maxStoredResults: 0 })).rejects.toMatchObject({
    code: 'database_busy',
  });
  expect(await service.query('SELECT tenant_id FROM idempotency_keys')).toStrictEqual([
    { tenant_id: broken },
  ]);
});

it("expires other tenants' files when the expiration fails for one tenant", async () => {
  const [broken, other] = ['expire-a', 'expire-b'];
  for (const tenant of [broken, other]) await service.execute(cmd.create('/memories/f', 'x'), { tenant });
  const now = new Date(Date.now() + 3 * 24 * 3_600_000);
  const options = { defaultTtlDays: 1, historyDays: 30, maxHistoryBytes: 0, now };
  await expect(expireFiles(failStatement('expire', broken), options)).rejects.toMatchObject({
    code: 'database_busy',
  });
  expect(await service.query("SELECT tenant_id FROM entries WHERE kind = 'file'")).toStrictEqual([
    { tenant_id: broken },
  ]);
});
