/**
 * Reads that the read trail records, for each way in which an agent reads a file.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { headersFor, modern, requestHeaders } from '../support/mcp.ts';
import { sdk, storeKey } from '../support/memory-stores.ts';
import { cmd } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';
import { listReads, mountTeam, reader, tenantWith } from './read-trail.ts';

const A = '/memories/a.md';
const B = '/memories/b.md';

describeService(
  'the read trail',
  (service) => {
    const admin = useAdmin(service);
    const reads = (tenant: string, query?: Record<string, string>) =>
      listReads(service(), admin(), tenant, query);

    it('records one row for the reads of a file by an actor on one day, with the last tool_use ID', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one', [B]: 'two' });
      const laptop = await reader(service(), { tenant, label: 'laptop', source: 'web' });
      const phone = await reader(service(), { tenant, label: 'phone' });
      await laptop.view('toolu_1', A);
      await laptop.view('toolu_2', A);
      const [first] = await reads(tenant);
      expect(first).toMatchObject({
        path: A,
        count: 2,
        tool_use_id: 'toolu_2',
        via_tenant: null,
        source: 'web',
      });
      expect(first?.actor).toMatchObject({ type: 'api_key', label: 'laptop' });
      await laptop.view('toolu_3', A);
      await phone.view('toolu_4', A);
      await phone.view('toolu_5', B);
      const all = await reads(tenant);
      expect(
        all.map((read) => [read.path, read.actor.label, read.count, read.tool_use_id]).sort(),
      ).toStrictEqual([
        [A, 'laptop', 3, 'toolu_3'],
        [A, 'phone', 1, 'toolu_4'],
        [B, 'phone', 1, 'toolu_5'],
      ]);
      const again = all.find(({ actor }) => actor.label === 'laptop');
      expect(again?.first_at).toBe(first?.first_at);
      expect(await reads(tenant, { tool_use_id: 'toolu_4' })).toMatchObject([{ path: A, count: 1 }]);
      expect(await reads(tenant, { tool_use_id: 'toolu_1' })).toStrictEqual([]);
    });

    it('records a row for each read with read_log=each, so that every tool_use ID is found', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one', [B]: 'two' }, { readLog: 'each' });
      const laptop = await reader(service(), { tenant, label: 'laptop' });
      for (const id of ['toolu_1', 'toolu_2']) await laptop.view(id, A);
      await laptop.view('toolu_1', B);
      const found = await reads(tenant, { tool_use_id: 'toolu_1' });
      expect(found.map(({ path, count }) => [path, count]).sort()).toStrictEqual([
        [A, 1],
        [B, 1],
      ]);
      expect(await reads(tenant)).toHaveLength(3);
    });

    it('records files, but no listings, missing paths, and writes', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      const laptop = await reader(service(), { tenant });
      await laptop.view('toolu_1', '/memories');
      await laptop.view('toolu_2', '/memories/none.md');
      await laptop.use('toolu_3', cmd.replace(A, 'one', 'two'));
      expect(await reads(tenant)).toStrictEqual([]);
    });

    it('records nothing for a tenant whose setting is 0', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' }, { readLogDays: 0 });
      await (await reader(service(), { tenant })).view('toolu_1', A);
      expect(await reads(tenant)).toStrictEqual([]);
    });

    it('records a search only for the files whose lines the result shows', async () => {
      const tenant = await tenantWith(service(), {
        [A]: 'a needle\na needle',
        [B]: 'hay',
        '/memories/needle': 'x',
      });
      const laptop = await reader(service(), { tenant });
      const { content } = await laptop.use('toolu_1', { query: 'needle' }, 'memory_search');
      expect(content).toContain('/memories/needle (the path matches)');
      expect(await reads(tenant, { tool_use_id: 'toolu_1' })).toMatchObject([{ path: A, count: 1 }]);
    });

    it('records reads through a mount in the mounted tenant, with the reading tenant', async () => {
      const [tenant, shared] = [
        await tenantWith(service(), {}),
        await tenantWith(service(), { [A]: 'a needle' }),
      ];
      await mountTeam(service(), tenant, shared);
      const laptop = await reader(service(), { tenant, label: 'laptop' });
      await laptop.view('toolu_1', '/memories/team/a.md');
      await laptop.use('toolu_2', { query: 'needle' }, 'memory_search');
      expect(await reads(shared)).toMatchObject([
        { path: A, count: 2, via_tenant: tenant, tool_use_id: 'toolu_2', actor: { label: 'laptop' } },
      ]);
      expect(await reads(tenant)).toStrictEqual([]);
    });

    it("records a propose-only key's reads of its draft in the original tenant", async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      const browser = await reader(service(), { tenant, access: 'propose', label: 'browser' });
      await browser.use('toolu_1', cmd.replace(A, 'one', 'two'));
      await browser.view('toolu_2', A);
      const { body } = await admin().call('GET', `/tenants/${tenant}/drafts`);
      const [draft] = body.drafts as { id: string }[];
      expect(await reads(String(draft?.id))).toStrictEqual([]);
      expect(await reads(tenant)).toMatchObject([
        { path: A, count: 1, tool_use_id: 'toolu_2', actor: { label: 'browser' } },
      ]);
    });

    it('records the pinned files in a context, until the context is unchanged', async () => {
      const tenant = await tenantWith(service(), { '/memories/pinned/a.md': 'one', [B]: 'two' });
      const { headers } = await reader(service(), { tenant, label: 'laptop' });
      const { version } = (await service().app.inject({ url: '/context', headers })).json();
      await service().app.inject({ url: `/context?since=${version}`, headers });
      expect(await reads(tenant)).toMatchObject([
        { path: '/memories/pinned/a.md', count: 1, tool_use_id: null, actor: { label: 'laptop' } },
      ]);
    });

    it('records MCP tool calls and resources', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one', [B]: 'two' });
      const { key } = await reader(service(), { tenant });
      const send = async (message: ReturnType<typeof modern>) => {
        const headers = { ...requestHeaders(key), ...headersFor(message) };
        const payload = JSON.stringify(message);
        const response = await service().app.inject({ method: 'POST', url: '/mcp', headers, payload });
        expect(response.statusCode).toBe(200);
      };
      const _meta = { 'claudecode/toolUseId': 'toolu_mcp' };
      await send(modern('tools/call', { name: 'memory', arguments: cmd.view(A), _meta }));
      await send(modern('resources/read', { uri: `memory://${B}` }));
      const found = await reads(tenant);
      expect(found.map((read) => [read.path, read.tool_use_id]).sort()).toStrictEqual([
        [A, 'toolu_mcp'],
        [B, null],
      ]);
    });

    it('records memories that the Memory Stores API returns with their content', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one', [B]: 'two' });
      const { memories } = sdk(service(), await storeKey(service(), { tenant: null })).beta.memoryStores;
      const listed = await memories.list(tenant);
      expect(await reads(tenant)).toStrictEqual([]);
      const a = listed.data.find((each) => each.path === '/a.md');
      await memories.retrieve((a as { id: string }).id, { memory_store_id: tenant });
      expect(await reads(tenant)).toMatchObject([{ path: A, count: 1 }]);
      await memories.list(tenant, { view: 'full' });
      expect((await reads(tenant)).map(({ path, count }) => [path, count]).sort()).toStrictEqual([
        [A, 2],
        [B, 1],
      ]);
    });
  },
  { AUTH: 'keys', READ_LOG_DAYS: '30' },
);

describeService(
  'the read trail by default',
  (service) => {
    const admin = useAdmin(service);

    it('records nothing until a tenant turns it on', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      const laptop = await reader(service(), { tenant });
      await laptop.view('toolu_1', A);
      expect(await listReads(service(), admin(), tenant)).toStrictEqual([]);
      const body = { settings: { read_log_days: 30 } };
      expect((await admin().call('PATCH', `/tenants/${tenant}`, { body })).status).toBe(200);
      service().app.services.policies.forget(tenant);
      await laptop.view('toolu_2', A);
      expect(await listReads(service(), admin(), tenant)).toMatchObject([
        { path: A, tool_use_id: 'toolu_2' },
      ]);
    });
  },
  { AUTH: 'keys' },
);
