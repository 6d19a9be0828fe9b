/**
 * Access to searches, which equals access to views.
 *
 * @module-tag long-on-pglite
 */
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { ROOT } from '../../src/core/memory/path.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { memorySearch } from '../../src/features/search/search.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService(
  'a search',
  (service) => {
    const newKey = async (tenant: string, access: 'read_write' | 'read_only') => {
      const { key, hash, id } = newApiKey();
      await new Keys(service().database).create({ hash, id, tenant, access, label: '', expiresAt: null });
      return { authorization: `Bearer ${key}` };
    };
    const search = (headers: Record<string, string>) =>
      service().app.inject({ method: 'POST', url: '/search', headers, payload: { query: 'needle' } });

    it("accepts a search by a read-only key, and finds files only in the key's tenant", async () => {
      const [tenant, other] = [freshTenant(), freshTenant()];
      for (const each of [tenant, other]) {
        await new Tenants(service().database).create(each);
        const input = { command: 'create', path: '/memories/f', file_text: `needle of ${each}` };
        await service().execute(input, { headers: await newKey(each, 'read_write') });
      }
      const key = await newKey(tenant, 'read_only');
      const { content } = (await search(key)).json();
      expect(content).toBe(`Found 1 file in /memories, the best first:\n/memories/f:1: needle of ${tenant}`);
      expect((await search({ ...key, 'x-tenant-id': other })).json().code).toBe('tenant_mismatch');
    });

    it('rejects a search without a key, or if the tenant is suspended', async () => {
      const tenant = freshTenant();
      const tenants = new Tenants(service().database);
      await tenants.create(tenant);
      const key = await newKey(tenant, 'read_write');
      await tenants.suspend(tenant, true);
      expect((await search(key)).json().code).toBe('tenant_suspended');
      expect((await search({})).statusCode).toBe(401);
    });

    it("counts a search against the tenant's rate limit", async () => {
      const tenant = freshTenant();
      await new Tenants(service().database).create(tenant);
      const key = await newKey(tenant, 'read_write');
      const statuses = [];
      for (let i = 0; i < 4; i++) statuses.push((await search(key)).statusCode);
      expect(statuses).toStrictEqual([200, 200, 200, 429]);
    });
  },
  { AUTH: 'keys', RATE_LIMIT_PER_MINUTE: '3' },
);

describeService(
  'queued searches',
  (service) => {
    /** Holds a tenant's search slot until the returned function is called. */
    const holdTurn = (tenant: string) => {
      let open = () => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const files = { page: () => gate.then(() => []), read: async () => [], has: async () => true };
      const query = { mode: 'literal', where: 'both', text: 'x' } as const;
      const running = service()
        .app.services.featureService(memorySearch)
        .find(tenant, files, { query, path: ROOT, maxResults: 1 });
      return async () => {
        open();
        expect(await running).toMatchObject({ kind: 'lines', searched: 0 });
      };
    };

    it('uses no request slot while a search is queued, even for a block in an array', async () => {
      const [tenant, other] = [freshTenant(), freshTenant()];
      await service().execute({ command: 'create', path: '/memories/f', file_text: 'needle' }, { tenant });
      const endTurn = holdTurn(tenant);
      const block = { type: 'tool_use', id: 'a', name: 'memory_search', input: { query: 'needle' } };
      const waiting = Promise.all([
        ...Array.from({ length: 3 }, () => service().execute([block], { tenant })),
        service().execute(block, { tenant }),
      ]);
      const view = await service().execute({ command: 'view', path: '/memories' }, { tenant: other });
      expect(view.is_error).toBe(false);
      await endTurn();
      for (const { body } of await waiting) expect(JSON.stringify(body)).toContain('/memories/f:1: needle');
    });

    it('cancels queued searches when their client disconnects', async () => {
      const tenant = freshTenant();
      const { app } = service();
      const url = await app.listen({ port: 0, host: '127.0.0.1' });
      const outcomes = async () =>
        /command="memory_search",outcome="fault"\} (\d+)/.exec((await app.inject('/metrics')).body)?.[1] ??
        '0';
      const before = Number(await outcomes());
      const endTurn = holdTurn(tenant);
      const arrived = once(app.server, 'request');
      const client = new AbortController();
      const headers = { 'content-type': 'application/json', 'x-tenant-id': tenant };
      const answer = fetch(`${url}/search`, {
        method: 'POST',
        headers,
        body: '{"query":"x"}',
        signal: client.signal,
      });
      await arrived;
      client.abort();
      await expect(answer).rejects.toThrow();
      await vi.waitFor(async () => expect(Number(await outcomes())).toBe(before + 1));
      await endTurn();
    });
  },
  { MAX_IN_FLIGHT: '1', MAX_QUEUE_MS: '60000' },
);
