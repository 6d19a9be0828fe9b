import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { lookupFileQuery } from '../../src/core/files/read-queries.ts';
import { buildApp } from '../../src/service/agents-app.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { describeService, freshTenant, type Service, startService } from '../support/test-service.ts';

const FILES = 10_000;

/** Creates a directory with many files with SQL, in the same form as the service stores them. */
async function seedDirectory(service: Service, tenant: string): Promise<void> {
  await service.execute(cmd.create('/memories/big/sub/first', 'x'), { tenant });
  await service.query(
    `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
     SELECT $1::text, '/memories/big/f' || n, '/memories/big', 'file', 'text ' || n, memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now()
     FROM generate_series(1, ${FILES}) AS n`,
    [tenant],
  );
  await service.query(
    `UPDATE tenants SET file_count = u.files, byte_count = u.bytes
     FROM (SELECT count(*) FILTER (WHERE kind = 'file') AS files, sum(size_bytes) AS bytes FROM entries WHERE tenant_id = $1::text) AS u
     WHERE id = $1::text`,
    [tenant],
  );
}

describeService('a directory with 10,000 files', (service) => {
  const count = async (tenant: string, below: string) =>
    Number(
      (
        await service().query(
          `SELECT count(*) AS n FROM entries WHERE tenant_id = $1::text AND starts_with(path, $2::text || '/')`,
          [tenant, below],
        )
      )[0]?.n,
    );

  it('renames and deletes a directory with 10,000 files, and truncates the listing', {
    tags: 'long',
  }, async () => {
    const tenant = freshTenant();
    await seedDirectory(service(), tenant);
    const renamed = await service().execute(cmd.rename('/memories/big', '/memories/moved/here'), { tenant });
    expect(renamed.content).toBe('Successfully renamed /memories/big to /memories/moved/here');
    expect([await count(tenant, '/memories/big'), await count(tenant, '/memories/moved/here')]).toStrictEqual(
      [0, FILES + 2],
    );
    await assertInvariants(service());

    const listed = await service().execute(cmd.view('/memories/moved/here'), { tenant });
    expect(listed.content.length).toBeLessThanOrEqual(100_000);
    expect(listed.content).toMatch(
      /\n\[Truncated: showing \d+ of 10002 entries\. View a subdirectory to see the rest\.\]$/,
    );

    const deleted = await service().execute(cmd.delete('/memories/moved'), { tenant });
    expect(deleted.content).toBe('Successfully deleted /memories/moved');
    expect(await count(tenant, '/memories')).toBe(0);
    await assertInvariants(service());
  });
});

describe('the store on Postgres', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService('postgres', { DB_LOCK_TIMEOUT_MS: '0' });
  });
  afterAll(() => service.close());

  it('serves readers while writers in the same tenant hold locks', async () => {
    const tenant = freshTenant();
    await service.execute(cmd.create('/memories/f', 'before'), { tenant });
    await service.query('BEGIN');
    await service.query('SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [tenant]);
    await service.query(`UPDATE entries SET content = 'after' WHERE tenant_id = $1 AND kind = 'file'`, [
      tenant,
    ]);
    // These reads would time out if they waited for the writer's open transaction.
    const seen = await service.execute(cmd.view('/memories/f'), { tenant });
    const listed = await service.execute(cmd.view('/memories'), { tenant });
    await service.query('ROLLBACK');
    expect(seen.content).toBe("Here's the content of /memories/f with line numbers:\n     1\tbefore");
    expect(listed.is_error).toBe(false);
  });

  it('serves readers and other tenants while many writes wait for a locked tenant', async () => {
    const tenant = freshTenant();
    await service.execute(cmd.create('/memories/f', 'x'), { tenant });
    await service.query('BEGIN');
    await service.query('SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [tenant]);
    const waiting = Array.from({ length: 50 }, (_, i) =>
      service.execute(cmd.create(`/memories/w${i}`), { tenant }),
    );
    const other = await service.execute(cmd.create('/memories/f', 'x'), { tenant: freshTenant() });
    const read = await service.execute(cmd.view('/memories/f'), { tenant });
    await service.query('ROLLBACK');
    expect([other.is_error, read.is_error]).toStrictEqual([false, false]);
    expect((await Promise.all(waiting)).filter(({ is_error }) => is_error)).toStrictEqual([]);
  });
});

describe('connections to Postgres', () => {
  // Fake timers advance the idle timeouts.
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterAll(() => {
    vi.useRealTimers();
  });

  it('keeps connections to Postgres open during short pauses and closes them after a long pause', async () => {
    const own = await createTestDatabase();
    const database = await openDatabase(loadConfig({ DATABASE_URL: own.url }));
    try {
      await Promise.all([
        database.query(lookupFileQuery, { tenant: 't', path: '/memories/f' }),
        database.transaction(async () => {}),
      ]);
      const open = () => {
        const { total, idle } = database.pool();
        return { total, idle };
      };
      expect(open()).toStrictEqual({ total: 2, idle: 2 });
      vi.advanceTimersByTime(5 * 60_000);
      expect(open()).toStrictEqual({ total: 2, idle: 2 });
      vi.advanceTimersByTime(10 * 60_000);
      expect(open()).toStrictEqual({ total: 0, idle: 0 });
    } finally {
      await database.close();
      await own.drop();
    }
  });
});

describe.each([
  ['with batches', '32'],
  ['without batches', '1'],
] as const)('round trips to Postgres %s', (_, batchSize) => {
  let trips = 0;
  let restore = () => {};
  let database: Database;
  let app: Awaited<ReturnType<typeof buildApp>>;
  let own: Awaited<ReturnType<typeof createTestDatabase>>;

  beforeAll(async () => {
    own = await createTestDatabase();
    const config = loadConfig({
      AUTH: 'none',
      LOG_LEVEL: 'silent',
      DATABASE_URL: own.url,
      DB_BATCH_SIZE: batchSize,
    });
    database = await openDatabase(config);
    app = await buildApp({ config, database });
    // The first write creates the tenant and the second caches its settings, so neither is counted.
    for (const path of ['/memories/first', '/memories/second'])
      await app.inject({ method: 'POST', url: '/execute', payload: cmd.create(path) });
    const { query } = pg.Client.prototype;
    restore = () => {
      pg.Client.prototype.query = query;
    };
    pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
      trips++;
      return Reflect.apply(query, this, args);
    } as typeof query;
  });
  afterAll(async () => {
    restore();
    await app.close();
    await database.close();
    await own.drop();
  });

  it.each([
    [cmd.create('/memories/a/c', 'x\n'), 1],
    [cmd.create('/memories/a/b', 'x\n'), 1],
    [cmd.view('/memories'), 1],
    [cmd.view('/memories/a/b'), 1],
    // A read and a write. The edit after these two starts from the pending result and needs no read.
    [cmd.replace('/memories/a/b', 'x', 'y'), 2],
    [cmd.insert('/memories/a/b', 0, 'z'), 2],
    [cmd.replace('/memories/a/b', 'x', 'y'), 1],
    [cmd.rename('/memories/a', '/memories/c/d'), 1],
    [cmd.delete('/memories/c'), 1],
    [cmd.view('/memories/missing'), 1],
    [cmd.view('/memories/missing.md'), 1],
    [cmd.create('/memories/v1.0/notes', ''), 1],
    [cmd.view('/memories/v1.0/notes'), 1],
    // This directory's name looks like a file name.
    [cmd.view('/memories/v1.0'), 2],
    [cmd.create('/memories/c', ''), 1],
    [cmd.create('/memories/c', ''), 1],
    [cmd.create('/memories/c/below', ''), 1],
    [cmd.rename('/memories/missing', '/memories/e'), 1],
    [cmd.delete('/memories/missing'), 1],
  ])('executes %j in %j round trips to Postgres', async (payload, expected) => {
    trips = 0;
    const answer = await app.inject({ method: 'POST', url: '/execute', payload });
    expect([answer.statusCode, trips]).toStrictEqual([200, expected]);
  });
});
