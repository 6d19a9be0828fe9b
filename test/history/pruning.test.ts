/**
 * Pruning the history by age and by size.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { DatabaseError } from '../../src/core/database/database-errors.ts';
import { time } from '../../src/core/database/query.ts';
import { changesBetween } from '../../src/core/history/diff.ts';
import { History } from '../../src/core/history/history.ts';
import { checkComplete, treePageAt } from '../../src/core/history/past.ts';
import { prunedSinceStart, pruneHistory } from '../../src/core/history/pruning.ts';
import { ROOT } from '../../src/core/memory/path.ts';
import type { TenantSettings } from '../../src/core/tenants/settings.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { assertInvariants } from '../support/invariants.ts';
import { readSnapshot } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant, type Service } from '../support/test-service.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULTS = { historyDays: 30, maxHistoryBytes: 0 };
const daysFromNow = (days: number) => new Date(Date.now() + days * DAY_MS);
const f = '/memories/f';

async function tenantWith(service: Service, settings: Partial<TenantSettings> = {}): Promise<string> {
  const tenant = freshTenant('prune');
  await new Tenants(service.database).create(tenant);
  await new Tenants(service.database).set(tenant, settings);
  return tenant;
}

async function run(service: Service, tenant: string, ...steps: object[]): Promise<void> {
  for (const step of steps) {
    const { body } = await service.execute(step, { tenant });
    expect(body).toMatchObject({ is_error: false });
  }
}

/** Returns the sizes of a tenant's versions, the oldest first, with null for a deletion. */
async function sizes(service: Service, tenant: string): Promise<(number | null)[]> {
  const all: (number | null)[] = [];
  for await (const version of new History(service.database).versions(tenant))
    all.push(version.contentSizeBytes);
  return all.reverse();
}

async function rows(service: Service, table: string, tenant: string): Promise<number> {
  const sql = `SELECT count(*) AS n FROM ${table} WHERE tenant_id = $1::text`;
  return Number((await service.query(sql, [tenant]))[0]?.n);
}

/** Returns commands that create versions of a file with 1, 2, 3, … bytes. */
const growingEdits = (path: string, versions: number) => [
  cmd.create(path, 'x'),
  ...Array.from({ length: versions - 1 }, (_, i) => cmd.replace(path, 'x'.repeat(i + 1), 'x'.repeat(i + 2))),
];

describeServiceOnOwnDatabase('pruning the history', (service) => {
  it('deletes versions by age, but keeps the last 10 versions for a current file', async () => {
    const tenant = await tenantWith(service());
    await run(service(), tenant, ...growingEdits(f, 14), cmd.create('/memories/d/gone', 'gone'));
    await run(service(), tenant, cmd.rename('/memories/d', '/memories/e'), cmd.delete('/memories/e'));
    const history = new History(service().database);
    const before = (await history.versions(tenant).next()).value;
    expect(
      await pruneHistory(service().database, { ...DEFAULTS, tenant, now: daysFromNow(29) }),
    ).toStrictEqual({
      versions: 0,
      bytes: 0,
    });
    const counted = prunedSinceStart().versions;
    const pruned = await pruneHistory(service().database, { ...DEFAULTS, tenant, now: daysFromNow(31) });
    // Four versions of the first file and all three of the second.
    expect(pruned?.versions).toBe(7);
    expect(prunedSinceStart().versions).toBe(counted + 7);
    expect(await sizes(service(), tenant)).toStrictEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    expect(await rows(service(), 'past_directories', tenant)).toBe(0);
    await assertInvariants(service());
    const then = String(before?.createdAt);
    await checkComplete(service().database.query, tenant, then);
    const created = `SELECT ${time('created_at')} AS at FROM tenants WHERE id = $1`;
    const earlier = String((await service().query(created, [tenant]))[0]?.at);
    const reading = treePageAt(history, tenant, ROOT, earlier, { after: '', limit: 10 });
    await expect(reading).rejects.toMatchObject({
      code: 'history_incomplete',
    });
    expect(
      await pruneHistory(service().database, { ...DEFAULTS, tenant, now: daysFromNow(31) }),
    ).toMatchObject({
      versions: 0,
    });
  });

  it('deletes many versions by age in batches', async () => {
    const tenant = await tenantWith(service(), { historyDays: 7 });
    const files = Array.from({ length: 450 }, (_, i) => cmd.create(`/memories/a/${i % 20}/f${i}`, 'content'));
    await Promise.all(files.map((step) => run(service(), tenant, step)));
    await run(
      service(),
      tenant,
      cmd.rename('/memories/a', '/memories/b'),
      cmd.rename('/memories/b', '/memories/c'),
    );
    await run(service(), tenant, cmd.delete('/memories/c/0'));
    expect(await rows(service(), 'versions', tenant)).toBe(900 + 2 * 23);
    await pruneHistory(service().database, { ...DEFAULTS, tenant, now: daysFromNow(6) });
    expect(await rows(service(), 'versions', tenant)).toBe(900 + 2 * 23);
    // Four versions of each deleted file. The 854 versions of current files are kept.
    expect(
      await pruneHistory(service().database, { ...DEFAULTS, tenant, now: daysFromNow(8) }),
    ).toMatchObject({
      versions: 4 * 23,
    });
    await assertInvariants(service());
  });

  it("deletes all superseded versions if the tenant's history is disabled", async () => {
    const tenant = await tenantWith(service());
    await run(service(), tenant, ...growingEdits(f, 12), cmd.rename(f, '/memories/g'));
    await new Tenants(service().database).set(tenant, { historyDays: 0 });
    expect(
      await pruneHistory(service().database, { ...DEFAULTS, tenant, now: daysFromNow(1) }),
    ).toMatchObject({
      versions: 12,
    });
    expect(await sizes(service(), tenant)).toStrictEqual([12]);
    expect(await new Tenants(service().database).find(tenant)).toMatchObject({
      historyBytes: 0,
      historyVersions: 0,
    });
    await assertInvariants(service());
  });

  it('deletes only the oldest versions that exceed the size limit, even from current files', async () => {
    const tenant = await tenantWith(service());
    const text = 'x'.repeat(1000);
    await run(
      service(),
      tenant,
      cmd.create(f, text),
      cmd.rename(f, '/memories/g'),
      cmd.rename('/memories/g', f),
    );
    await run(service(), tenant, cmd.replace(f, text, 'short'), cmd.replace(f, 'short', 'last'));
    const bytes = await service().query(
      'SELECT bytes FROM versions WHERE tenant_id = $1 ORDER BY superseded_at',
      [tenant],
    );
    const sizesOfRows = bytes.map((row) => Number(row.bytes));
    const [first = 0, second = 0, third = 0, fourth = 0] = sizesOfRows;
    // The versions before renames store no content, and the versions before edits store the replaced text.
    expect([first, second, third, fourth].map((size) => Math.floor(size / 1000))).toStrictEqual([0, 0, 1, 0]);
    const used = first + second + third + fourth;
    expect(await new Tenants(service().database).find(tenant)).toMatchObject({ historyBytes: used });
    const pruneToLimit = (maxHistoryBytes: number) =>
      pruneHistory(service().database, { historyDays: 30, maxHistoryBytes, tenant });
    expect(await pruneToLimit(used)).toStrictEqual({ versions: 0, bytes: 0 });
    expect(await pruneToLimit(used - 1)).toStrictEqual({ versions: 1, bytes: first });
    expect(await pruneToLimit(used - first)).toStrictEqual({ versions: 0, bytes: 0 });
    await new Tenants(service().database).set(tenant, { maxHistoryBytes: used - first - second - 1 });
    expect(await pruneToLimit(0)).toStrictEqual({ versions: 2, bytes: second + third });
    expect(await sizes(service(), tenant)).toStrictEqual([5, 4]);
    await assertInvariants(service());
    await new Tenants(service().database).set(tenant, { maxHistoryBytes: 1 });
    expect(await pruneToLimit(0)).toStrictEqual({ versions: 1, bytes: fourth });
    expect(await sizes(service(), tenant)).toStrictEqual([4]);
    await assertInvariants(service());
  });

  it('deletes past directories in batches until the history fits the size limit', {
    tags: 'long',
  }, async () => {
    const tenant = await tenantWith(service());
    for (let i = 0; i < 3; i++) {
      const files = Array.from({ length: 150 }, (_, j) => cmd.create(`/memories/d/${j}/f`, 'x'));
      await Promise.all(files.map((step) => run(service(), tenant, step)));
      await run(service(), tenant, cmd.delete('/memories/d'));
    }
    await new Tenants(service().database).set(tenant, { maxHistoryBytes: 300 });
    const pruned = await pruneHistory(service().database, DEFAULTS);
    expect(pruned).toMatchObject({ versions: 900 });
    expect(await rows(service(), 'past_directories', tenant)).toBe(1);
    await assertInvariants(service());
  });

  it('ends a past tree or difference with an error if pruning removes versions during the read', async () => {
    for (const read of ['tree', 'difference']) {
      const tenant = await tenantWith(service());
      await run(service(), tenant, cmd.create(f, 'x'), cmd.create('/memories/g', 'x'));
      const { at } = await readSnapshot(service(), tenant);
      await run(service(), tenant, cmd.delete('/memories/g'));
      let isPruned = false;
      const query: Service['database']['query'] = async (...call) => {
        const result = await service().database.query(...call);
        if (!isPruned) {
          isPruned = true;
          await pruneHistory(service().database, { ...DEFAULTS, maxHistoryBytes: 1, tenant });
        }
        return result;
      };
      const history = new History({ query });
      const reading =
        read === 'tree'
          ? treePageAt(history, tenant, ROOT, at, { after: '', limit: 10 })
          : changesBetween(history, tenant, ROOT, { from: at }).next();
      await expect(reading).rejects.toMatchObject({ code: 'history_incomplete' });
    }
  });

  it('prunes the other tenants after pruning fails for one tenant', async () => {
    const [broken, other] = [await tenantWith(service()), await tenantWith(service())];
    for (const tenant of [broken, other]) await run(service(), tenant, cmd.create(f, 'x'), cmd.delete(f));
    const database = Object.create(service().database) as Service['database'];
    Object.defineProperty(database, 'query', {
      value: (statement: { name: string }, params: { tenant?: string }) =>
        statement.name === 'prune_old' && params.tenant === broken
          ? Promise.reject(new DatabaseError(Object.assign(new Error('canceled'), { code: '57014' })))
          : service().database.query(statement as never, params as never),
    });
    await expect(pruneHistory(database, { ...DEFAULTS, now: daysFromNow(31) })).rejects.toMatchObject({
      code: 'database_busy',
    });
    expect([
      await rows(service(), 'versions', broken),
      await rows(service(), 'versions', other),
    ]).toStrictEqual([2, 0]);
  });
});
