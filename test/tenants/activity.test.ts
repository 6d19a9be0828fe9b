/**
 * Activity in the last hour: counted in memory, written by each replica, and summed up by the admin API.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { Activity } from '../../src/core/tenants/activity.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

const key = (id: string) => ({ type: 'api_key' as const, id, label: `label of ${id}` });
interface ActivityBody {
  total: { reads: number };
  callers: object[];
  rejections: object[];
  replicas: object[];
  latency: { calls: number; p50_ms: number; p95_ms: number };
  latencies: { command: string; calls: number }[];
}

const ONE_READ = { reads: 1, writes: 0 };
const ONE_WRITE = { reads: 0, writes: 1 };

// Uses its own database, because the activity is for all tenants.
describeServiceOnOwnDatabase(
  'the activity in the last hour',
  (service) => {
    const admin = useAdmin(service);
    const read = async () => {
      const { status, body } = await admin().call('GET', '/activity');
      expect(status).toBe(200);
      return body as unknown as ActivityBody;
    };
    const empty = () => service().query('DELETE FROM activity');

    it('counts calls by tenant and actor, rejections by reason, and durations by command', async () => {
      await empty();
      const tenant = freshTenant('active');
      await new Tenants(service().database).create(tenant);
      const writer = await makeKey(service(), { tenant, label: 'writer' });
      const reader = await makeKey(service(), { tenant, label: 'reader', access: 'read_only' });
      const send = (secret: string, input: unknown) =>
        service().execute(input, { headers: { authorization: `Bearer ${secret}` } });
      await send(writer.key, cmd.create('/memories/a.txt', 'a'));
      await send(writer.key, cmd.view('/memories/a.txt'));
      await send(writer.key, cmd.view('/memories'));
      expect((await send(reader.key, cmd.delete('/memories/a.txt'))).is_error).toBe(true);
      expect((await send('unknown', cmd.view('/memories'))).status).toBe(401);
      await new Tenants(service().database).set(tenant, { maxFiles: 1 });
      expect((await send(writer.key, cmd.create('/memories/b.txt', 'b'))).is_error).toBe(true);
      await service().app.activity.flush();

      const actor = (id: string, label: string) => ({ type: 'api_key', id, label });
      const activity = await read();
      expect(activity).toMatchObject({
        total: { reads: 2, writes: 1, rejected: 3 },
        callers: [{ tenant, actor: actor(writer.id, 'writer'), reads: 2, writes: 1 }],
        replicas: [{ version: expect.stringMatching(/^\d+\.\d+\.\d+/) }],
        database: { kind: service().database.kind, version: expect.stringMatching(/^\d+/) },
      });
      expect(activity.rejections).toStrictEqual([
        { tenant, actor: actor(writer.id, 'writer'), reason: 'over_quota', count: 1 },
        { tenant, actor: actor(reader.id, 'reader'), reason: 'read_only', count: 1 },
        { tenant: null, actor: null, reason: 'unauthorized', count: 1 },
      ]);
      expect(activity.latency).toMatchObject({ calls: 5 });
      const calls = activity.latencies.map(({ command, calls }) => [command, calls]);
      expect(calls.sort()).toStrictEqual([
        ['create', 2],
        ['delete', 1],
        ['view', 2],
      ]);
    });

    it('lists a list of all memory stores as a call for no tenant', async () => {
      await empty();
      const { id, key } = await makeKey(service(), { managesStores: true, label: 'stores' });
      const headers = { authorization: `Bearer ${key}` };
      const listed = await service().app.inject({ url: '/v1/memory_stores', headers });
      expect(listed.statusCode).toBe(200);
      await service().app.activity.flush();
      expect((await read()).callers).toContainEqual(
        expect.objectContaining({ tenant: null, actor: { type: 'api_key', id, label: 'stores' }, reads: 1 }),
      );
    });

    it('sums up the counts of several replicas, and lists the replicas that run', async () => {
      await empty();
      const replicas = [1, 2, 3].map(() => new Activity(service().database));
      const caller = { tenant: 'acme', actor: key('a') };
      for (const replica of replicas) replica.add(caller, ONE_READ, []);
      replicas[0]?.add({ tenant: 'acme', actor: key('b') }, ONE_WRITE, []);
      for (let i = 1; i <= 100; i++) replicas[i % 3]?.addDuration('view', i / 1000);
      for (const replica of replicas) await replica.flush();
      // A second flush replaces the first.
      replicas[1]?.add(caller, ONE_READ, ['rate_limited', 'rate_limited']);
      await replicas[1]?.flush();
      await replicas[2]?.close();
      const activity = await read();
      expect(activity).toMatchObject({
        total: { reads: 4, writes: 1, rejected: 2 },
        callers: [
          { tenant: 'acme', actor: key('a'), reads: 4, writes: 0 },
          { tenant: 'acme', actor: key('b'), reads: 0, writes: 1 },
        ],
        rejections: [{ tenant: 'acme', actor: key('a'), reason: 'rate_limited', count: 2 }],
      });
      expect(activity.replicas).toHaveLength(2);
      const { calls, p50_ms, p95_ms } = activity.latency;
      expect(calls).toBe(100);
      expect(p50_ms).toBeGreaterThanOrEqual(50);
      expect(p50_ms).toBeLessThan(55.1);
      expect(p95_ms).toBeGreaterThanOrEqual(95);
      expect(p95_ms).toBeLessThan(104.6);
    });

    it('leaves out and deletes counts from more than an hour ago', async () => {
      await empty();
      const replica = new Activity(service().database);
      replica.add({ tenant: 'acme', actor: key('a') }, ONE_READ, []);
      await replica.flush();
      const old = new Date(Date.now() - 70 * 60_000).toISOString();
      await service().query(`UPDATE activity SET slot = '${old}', seen_at = '${old}'`);
      expect(await read()).toMatchObject({ total: { reads: 0 }, callers: [], replicas: [] });
      await replica.flush();
      expect(await service().query('SELECT reads::integer FROM activity')).toStrictEqual([{ reads: 1 }]);
    });

    it('counts calls in the totals only, when a slot has too many different callers', async () => {
      await empty();
      const replica = new Activity(service().database);
      for (let i = 0; i < 10_001; i++) replica.add({ tenant: `t${i}`, actor: key('a') }, ONE_READ, []);
      replica.add({ tenant: 't0', actor: key('a') }, ONE_READ, []);
      await replica.flush();
      const { total, callers } = await read();
      expect(total.reads).toBe(10_002);
      expect(callers).toHaveLength(20);
      expect(callers[0]).toMatchObject({ tenant: 't0', reads: 2 });
      const stored = 'SELECT jsonb_array_length(calls)::integer AS calls FROM activity';
      expect(await service().query(stored)).toStrictEqual([{ calls: 100 }]);
    });
  },
  { AUTH: 'keys' },
);
