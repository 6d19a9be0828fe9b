/** Who may search: whoever may view. */
import { expect, it } from 'vitest';
import { newApiKey } from '../../src/auth/api-key.ts';
import { Keys } from '../../src/auth/api-keys.ts';
import { Tenants } from '../../src/tenants/tenants.ts';
import { describeService, freshTenant } from '../support/service.ts';

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

    it('takes a read-only key, and sees only the tenant of the key', async () => {
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

    it('needs a key, and a tenant that is not suspended', async () => {
      const tenant = freshTenant();
      const tenants = new Tenants(service().database);
      await tenants.create(tenant);
      const key = await newKey(tenant, 'read_write');
      await tenants.suspend(tenant, true);
      expect((await search(key)).json().code).toBe('tenant_suspended');
      expect((await search({})).statusCode).toBe(401);
    });

    it('counts against the rate of the tenant', async () => {
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
