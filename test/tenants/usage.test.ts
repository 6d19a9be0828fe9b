/**
 * Daily tenant usage: counted in memory, written once a minute, and listed by the admin API and the command line.
 *
 * @module-tag long-on-pglite
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { moveTenantData } from '../../src/core/tenants/copy.ts';
import { recordSizes } from '../../src/core/tenants/fleet-usage.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { UsageCounts } from '../../src/core/tenants/usage.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import {
  describeService,
  describeServiceOnOwnDatabase,
  freshTenant,
  type Service,
} from '../support/test-service.ts';

const today = () => new Date().toISOString().slice(0, 10);

/** Adds a day to a tenant's recorded usage. */
const addDay = (service: Service, tenant: string, day: string, reads = 0, files = 1) =>
  service.query(
    `INSERT INTO tenant_usage (tenant_id, day, files, bytes, history_bytes, reads, writes, rejected)
     VALUES ($1::text, $2::text::date, $3::text::bigint, 10, 20, $4::text::bigint, 2, 3)`,
    [tenant, day, String(files), String(reads)],
  );

describeService(
  "a tenant's daily usage",
  (service) => {
    const admin = useAdmin(service);
    const days = async (tenant: string, query = '') => {
      await service().app.usageCounts.flush();
      const { status, body } = await admin().call('GET', `/tenants/${tenant}/usage/days${query}`);
      expect(status).toBe(200);
      return body.days as Record<string, unknown>[];
    };
    const create = async () => {
      const tenant = freshTenant('usage');
      await new Tenants(service().database).create(tenant);
      const { key } = await makeKey(service(), { tenant });
      const headers = { authorization: `Bearer ${key}` };
      return { tenant, headers, send: (input: unknown) => service().execute(input, { headers }) };
    };

    it("counts a day's reads and writes, and records the tenant's files and bytes", async () => {
      const { tenant, headers, send } = await create();
      await send(cmd.create('/memories/a.txt', 'four'));
      await send([
        { type: 'tool_use', id: 'toolu_1', name: 'memory', input: cmd.view('/memories/a.txt') },
        { type: 'tool_use', id: 'toolu_2', name: 'memory', input: cmd.delete('/memories/none') },
        { type: 'tool_use', id: 'toolu_3', name: 'memory_search', input: { query: 'four' } },
      ]);
      await service().app.inject({ method: 'POST', url: '/search', headers, payload: { query: 'four' } });
      await send({ command: 'unknown' });
      expect(await days(tenant)).toStrictEqual([
        { day: today(), files: 1, bytes: 4, history_bytes: 0, reads: 3, writes: 2, rejected: 0 },
      ]);
      // The second flush adds to the day's row.
      await send(cmd.view('/memories'));
      expect(await days(tenant)).toMatchObject([{ reads: 4, writes: 2 }]);
    });

    it('counts calls that are rejected for a full memory, a read-only key, or a suspended tenant', async () => {
      const { tenant, send } = await create();
      await new Tenants(service().database).set(tenant, { maxFiles: 1 });
      await send(cmd.create('/memories/a.txt', 'a'));
      expect((await send(cmd.create('/memories/b.txt', 'b'))).content).toBe(
        'Error: This memory is full: it has 1 files, and 1 are allowed. Delete files to make room.',
      );
      const { key } = await makeKey(service(), { tenant, access: 'read_only' });
      await service().execute(cmd.delete('/memories/a.txt'), { headers: { authorization: `Bearer ${key}` } });
      expect(await days(tenant)).toMatchObject([{ reads: 0, writes: 1, rejected: 2 }]);

      expect(await days(tenant)).toMatchObject([{ reads: 0, writes: 1, rejected: 2 }]);

      const suspended = await create();
      await new Tenants(service().database).suspend(suspended.tenant, true);
      expect((await suspended.send(cmd.view('/memories'))).status).toBe(403);
      expect(await days(suspended.tenant)).toMatchObject([{ reads: 0, writes: 0, rejected: 1 }]);
    });

    it('counts calls to the Memory Stores API', async () => {
      const { tenant } = await create();
      const { key } = await makeKey(service(), { tenant: null });
      const url = `/v1/memory_stores/${tenant}/memories`;
      const headers = { 'x-api-key': key };
      const payload = { path: '/notes.md', content: 'x' };
      const sent = [
        await service().app.inject({ method: 'POST', url, headers, payload }),
        await service().app.inject({ method: 'GET', url, headers }),
        await service().app.inject({ method: 'POST', url, headers, payload }),
      ];
      expect(sent.map(({ statusCode }) => statusCode)).toStrictEqual([200, 200, 409]);
      expect(await days(tenant)).toMatchObject([{ files: 1, reads: 1, writes: 1, rejected: 1 }]);
    });

    it('lists usage for each day in a period, starting with the oldest day', async () => {
      const { tenant } = await create();
      for (const day of ['2026-03-03', '2026-03-01', '2026-03-02']) await addDay(service(), tenant, day);
      const listDays = async (query: string) => (await days(tenant, query)).map(({ day }) => day);
      expect(await listDays('')).toStrictEqual([]);
      expect(await listDays('?since=2026-03-01')).toStrictEqual(['2026-03-01', '2026-03-02', '2026-03-03']);
      expect(await listDays('?since=2026-03-01T15:00:00Z&until=2026-03-03')).toStrictEqual([
        '2026-03-01',
        '2026-03-02',
      ]);
      expect(await listDays('?since=2026-03-02&until=2026-03-03T00:00:01Z')).toStrictEqual([
        '2026-03-02',
        '2026-03-03',
      ]);
      const wrong = await admin().call('GET', `/tenants/${tenant}/usage/days?since=yesterday`);
      expect([wrong.status, wrong.body.code]).toStrictEqual([400, 'invalid_parameter']);
      const unknown = await admin().call('GET', '/tenants/no-such-tenant/usage/days');
      expect([unknown.status, unknown.body.code]).toStrictEqual([404, 'not_found']);
    });

    it('keeps daily usage when a tenant is renamed, and deletes it when the tenant is deleted', async () => {
      const { tenant } = await create();
      await addDay(service(), tenant, '2026-03-01', 5);
      const renamed = freshTenant('usage');
      await moveTenantData(service().database, tenant, renamed);
      expect(await days(renamed, '?since=2026-03-01')).toMatchObject([{ day: '2026-03-01', reads: 5 }]);
      await new Tenants(service().database).delete(renamed);
      // Counts for a deleted tenant are dropped.
      service().app.usageCounts.add(renamed, null, { reads: 1, writes: 0, rejected: 0 });
      await service().app.usageCounts.flush();
      const left = 'SELECT day FROM tenant_usage WHERE tenant_id IN ($1::text, $2::text)';
      expect(await service().query(left, [tenant, renamed])).toStrictEqual([]);
    });

    describe('the usage at midnight', () => {
      afterEach(() => {
        vi.useRealTimers();
      });

      it('counts requests before and after midnight on separate days', async () => {
        const { tenant } = await create();
        const counts = new UsageCounts(service().database);
        vi.useFakeTimers({ toFake: ['Date'] });
        vi.setSystemTime('2026-03-01T23:59:59.999Z');
        counts.add(tenant, null, { reads: 1, writes: 0, rejected: 0 });
        vi.setSystemTime('2026-03-02T00:00:00Z');
        counts.add(tenant, null, { reads: 2, writes: 0, rejected: 0 });
        vi.useRealTimers();
        await counts.close();
        expect(await days(tenant, '?since=2026-03-01')).toMatchObject([
          { day: '2026-03-01', reads: 1 },
          { day: '2026-03-02', reads: 2 },
        ]);
      });
    });

    it('keeps counts for the next flush if a flush cannot write to the database', async () => {
      const { tenant } = await create();
      const { database } = service();
      let isAway = true;
      const counts = new UsageCounts({
        ...database,
        query: (...call) => (isAway ? Promise.reject(new Error('away')) : database.query(...call)),
      });
      counts.add(tenant, null, { reads: 1, writes: 0, rejected: 0 });
      await counts.flush();
      counts.add(tenant, null, { reads: 1, writes: 0, rejected: 0 });
      isAway = false;
      await counts.close();
      expect(await days(tenant)).toMatchObject([{ reads: 2 }]);
    });
  },
  { AUTH: 'keys' },
);

describeServiceOnOwnDatabase("all tenants' usage", (service) => {
  const admin = useAdmin(service, { MAX_TENANT_FILES: '10' });
  const config = loadConfig({ USAGE_DAYS: '30' });
  const at = new Date('2026-03-31T12:00:00Z');

  it("records every tenant's usage and the day's totals, and deletes days older than USAGE_DAYS", async () => {
    for (const tenant of ['a', 'b']) {
      for (const file of ['f', 'g'])
        await service().execute(cmd.create(`/memories/${file}`, 'xyz'), { tenant });
    }
    await new Tenants(service().database).suspend('b', true);
    await addDay(service(), 'a', '2026-02-28');
    await addDay(service(), 'a', '2026-03-01');
    await service().query("INSERT INTO fleet_usage VALUES ('2026-02-28', 1, 0, 1, 1, 1)");
    expect(await recordSizes(service().database, config, at)).toBe(true);
    // A later day without changes has no tenant rows.
    expect(await recordSizes(service().database, config, new Date('2026-04-01T12:00:00Z'))).toBe(true);
    const rows = await service().query(
      'SELECT tenant_id, day::text, files::float8 FROM tenant_usage ORDER BY tenant_id, day',
    );
    expect(rows).toStrictEqual([
      { tenant_id: 'a', day: '2026-03-31', files: 2 },
      { tenant_id: 'b', day: '2026-03-31', files: 2 },
    ]);
    expect(
      await service().query('SELECT day::text, files::float8 FROM fleet_usage ORDER BY day'),
    ).toStrictEqual([
      { day: '2026-03-31', files: 4 },
      { day: '2026-04-01', files: 4 },
    ]);
  });

  it('lists current totals, totals per day, and the most active tenants', async () => {
    await new Tenants(service().database).set('a', { maxFiles: 2 });
    await addDay(service(), 'a', '2026-03-20', 5);
    await addDay(service(), 'b', '2026-03-20', 7);
    const { status, body } = await admin().call('GET', '/usage?since=2026-03-20&until=2026-04-01');
    expect([status, body]).toStrictEqual([
      200,
      {
        total: {
          tenants: 2,
          suspended: 1,
          near_limit: 1,
          files: 4,
          bytes: 12,
          history_bytes: 0,
          history_versions: 0,
        },
        days: [
          {
            day: '2026-03-20',
            tenants: null,
            suspended: null,
            files: null,
            bytes: null,
            history_bytes: null,
            active: 2,
            reads: 12,
            writes: 4,
            rejected: 6,
          },
          {
            day: '2026-03-31',
            tenants: 2,
            suspended: 1,
            files: 4,
            bytes: 12,
            history_bytes: 0,
            active: 0,
            reads: 0,
            writes: 0,
            rejected: 0,
          },
        ],
        most_active: [
          { tenant: 'b', reads: 7, writes: 2, rejected: 3 },
          { tenant: 'a', reads: 5, writes: 2, rejected: 3 },
        ],
      },
    ]);
    const near = await admin().call('GET', '/usage?near_limit=20');
    expect(near.body.total).toMatchObject({ near_limit: 2 });
  });

  it('prints usage for one tenant and for all tenants on the command line', async () => {
    await addDay(service(), 'a', today(), 1);
    const run = (...args: string[]) => runOn(service(), args);
    expect((await run('usage', 'a', '--days', '1')).stdout).toBe(
      `DAY         FILES  SIZE  HISTORY  READS  WRITES  REJECTED\n${today()}      1  10 B     20 B      1       2         3\n`,
    );
    expect((await run('usage', '--days', '1', '--json')).stdout).toBe(
      `{"tenants":null,"suspended":null,"files":null,"bytes":null,"day":"${today()}","reads":1,"writes":2,"rejected":3,"active":1,"history_bytes":null}\n`,
    );
  });
});
