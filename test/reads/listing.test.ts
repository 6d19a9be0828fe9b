/**
 * Lists and summaries of reads, in the admin API and on the command line.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';
import { flushReads, listReads, mountTeam, reader, tenantWith } from './read-trail.ts';

const A = '/memories/a.md';
const B = '/memories/b.md';

describeService(
  'the list of reads',
  (service) => {
    const admin = useAdmin(service, { READ_LOG_DAYS: '30' });

    it('paginates the list, newest first, and filters it by path, actor, and source', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one', [B]: 'two' });
      const laptop = await reader(service(), { tenant, label: 'laptop', source: 'web' });
      const phone = await reader(service(), { tenant, label: 'phone' });
      for (const path of [A, B]) await laptop.view('toolu_1', path);
      await phone.view('toolu_2', A);
      const all = await listReads(service(), admin(), tenant);
      expect(all.map(({ last_at: at }) => at)).toStrictEqual(
        all
          .map(({ last_at: at }) => at)
          .sort()
          .reverse(),
      );
      const first = (await admin().call('GET', `/tenants/${tenant}/reads?limit=2`)).body;
      const second = (await admin().call('GET', `/tenants/${tenant}/reads?limit=2&after=${first.next}`)).body;
      expect([...(first.reads as object[]), ...(second.reads as object[])]).toStrictEqual(all);
      expect(second.next).toBeNull();
      const findReads = async (query: Record<string, string>) => {
        const reads = await listReads(service(), admin(), tenant, query);
        return reads.map(({ path, actor }) => `${path} ${actor.label}`).sort();
      };
      expect(await findReads({ path: A })).toStrictEqual([`${A} laptop`, `${A} phone`]);
      expect(await findReads({ by: 'phone' })).toStrictEqual([`${A} phone`]);
      expect(await findReads({ source: 'web' })).toStrictEqual([`${A} laptop`, `${B} laptop`]);
      expect(await findReads({ path: '/memories/none.md' })).toStrictEqual([]);
      expect(problem(await admin().call('GET', `/tenants/${tenant}/reads?after=x`))[1]).toBe(
        'invalid_parameter',
      );
    });

    it("counts a file's reads and actors since a time", async () => {
      const tenant = await tenantWith(service(), { [A]: 'one', [B]: 'two' });
      for (const label of ['laptop', 'phone']) {
        const { view } = await reader(service(), { tenant, label });
        for (const id of ['toolu_1', 'toolu_2']) await view(id, A);
      }
      const [last] = await listReads(service(), admin(), tenant);
      const sum = async (path: string, since = '7d') =>
        (await admin().call('GET', `/tenants/${tenant}/reads/summary?path=${path}&since=${since}`)).body;
      expect(await sum(A)).toStrictEqual({ days: 30, count: 4, actors: 2, last_at: last?.last_at });
      expect(await sum(A, '2100-01-01')).toStrictEqual({
        days: 30,
        count: 0,
        actors: 0,
        last_at: last?.last_at,
      });
      const none = { days: 30, count: 0, actors: 0, last_at: null };
      expect(await sum(B)).toStrictEqual(none);
      expect(await sum('/memories/none.md')).toStrictEqual(none);
    });

    it("shows a scoped admin key only its tenant's reads, without other tenants' IDs", async () => {
      const [tenant, shared] = [
        await tenantWith(service(), { [A]: 'one' }),
        await tenantWith(service(), { [B]: 'two' }),
      ];
      await mountTeam(service(), tenant, shared);
      const laptop = await reader(service(), { tenant });
      await laptop.view('toolu_1', A);
      await laptop.view('toolu_1', '/memories/team/b.md');
      await flushReads(service());
      const { key } = await makeKey(service(), { isAdmin: true, access: 'read_only', onlyTenants: [shared] });
      const read = async (id: string) => admin().call('GET', `/tenants/${id}/reads`, { key });
      expect((await read(shared)).body.reads).toMatchObject([{ path: B, via_tenant: null }]);
      expect((await read(tenant)).status).toBe(403);
      expect((await admin().call('GET', `/tenants/${tenant}/reads/summary?path=${A}`, { key })).status).toBe(
        403,
      );
    });

    it('prints the reads by a tool call, also in mounted memories', async () => {
      const [tenant, shared] = [
        await tenantWith(service(), { [A]: 'one' }),
        await tenantWith(service(), { [B]: 'two' }),
      ];
      await mountTeam(service(), tenant, shared);
      const laptop = await reader(service(), { tenant, label: 'laptop' });
      const other = await reader(service(), { tenant: shared, label: 'other' });
      await laptop.view('toolu_1', A);
      await laptop.view('toolu_1', '/memories/team/b.md');
      await other.view('toolu_1', B);
      await flushReads(service());
      const run = (...args: string[]) => runOn(service(), ['reads', tenant, ...args]);
      const { code, stdout } = await run('--tool-use-id', 'toolu_1');
      expect(code).toBe(0);
      const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
      expect(lines.map(([, , ...cells]) => cells)).toStrictEqual([
        ['BY', 'TOOL USE', 'PATH'],
        ['key laptop', 'toolu_1', A],
        [`key laptop via ${tenant}`, 'toolu_1', '/memories/team/b.md'],
        [],
      ]);
      const none = await run('--path', '/memories/none.md');
      expect([none.stdout, none.stderr]).toStrictEqual([
        '',
        `No read matches. Reads are recorded while read-log-days is not 0: memory-service tenants show ${tenant}\n`,
      ]);
      const json = await run('--path', A, '--json');
      expect(JSON.parse(json.stdout)).toMatchObject({ path: A, count: 1, tool_use_id: 'toolu_1' });
    });
  },
  { AUTH: 'keys', READ_LOG_DAYS: '30' },
);
