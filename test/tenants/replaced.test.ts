/**
 * A tenant that is deleted or renamed and replaced by another one with its ID. Cached data for the old tenant is
 * invalid for the new one on every replica.
 *
 * @module-tag long-on-pglite
 */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { moveTenantData } from '../../src/core/tenants/copy.ts';
import { hashKey, Keys } from '../../src/core/tenants/keys.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { createDraft } from '../../src/features/drafts/create-draft.ts';
import { makeKey, openAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const secret = '/memories/secret.md';
const UNAUTHORIZED = [401, 'unauthorized'];

describeService(
  "a new tenant that reuses a previous tenant's ID",
  (service) => {
    const tenants = () => new Tenants(service().database);
    const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
    const send = async (key: string, input: object) => {
      const { status, body } = await service().execute(input, { headers: bearer(key) });
      return [status, body.code ?? body.content];
    };
    const call = async (key: string, method: 'GET' | 'POST', url: string, payload?: object) => {
      const headers = bearer(key);
      const response = await service().app.inject({ method, url, headers, ...(payload && { payload }) });
      return [response.statusCode, response.json().code ?? response.json().error?.type];
    };
    /** Creates a tenant whose keys, policy, and file were just used, so that they are cached. */
    const createUsedTenant = async () => {
      const tenant = freshTenant('reused');
      await tenants().create(tenant);
      const { key } = await makeKey(service(), { tenant });
      const { key: proposing } = await makeKey(service(), { tenant, access: 'propose' });
      expect((await send(key, cmd.create('/memories/old.md', 'old')))[0]).toBe(200);
      expect((await send(proposing, cmd.view('/memories/old.md')))[0]).toBe(200);
      return { tenant, key, proposing };
    };
    /** Creates another customer's tenant with the same ID and writes a file directly to the database. */
    const createAgain = async (tenant: string) => {
      await tenants().create(tenant);
      const { key } = await makeKey(service(), { tenant });
      await service().query(
        `SELECT memory_create($1, '${secret}', 'of the new customer', gen_random_uuid(), false, '{}', NULL, NULL, '', 0, 0, true)`,
        [tenant],
      );
      return key;
    };
    const contents = (tenant: string) =>
      service().query(
        'SELECT path, content FROM entries WHERE tenant_id = $1 AND content IS NOT NULL ORDER BY path',
        [tenant],
      );

    const calls: Record<string, (key: string, tenant: string) => Promise<unknown>> = {
      view: (key) => send(key, cmd.view(secret)),
      'view of the root': (key) => send(key, cmd.view('/memories')),
      'view of what is missing': (key) => send(key, cmd.view('/memories/missing.md')),
      create: (key) => send(key, cmd.create('/memories/x.md', 'x')),
      str_replace: (key) => send(key, cmd.replace(secret, 'new', 'old')),
      insert: (key) => send(key, cmd.insert(secret, 0, 'x')),
      delete: (key) => send(key, cmd.delete(secret)),
      rename: (key) => send(key, cmd.rename(secret, '/memories/y.md')),
      search: (key) => call(key, 'POST', '/search', { query: 'customer' }),
      whoami: (key) => call(key, 'GET', '/whoami'),
      'list of memories': async (key, tenant) => {
        const [status] = await call(key, 'GET', `/v1/memory_stores/${tenant}/memories?view=full`);
        return [status, 'unauthorized'];
      },
      'list of versions': async (key, tenant) => {
        const [status] = await call(key, 'GET', `/v1/memory_stores/${tenant}/memory_versions?view=full`);
        return [status, 'unauthorized'];
      },
      'new memory': async (key, tenant) => {
        const payload = { path: '/x.md', content: 'x' };
        const [status] = await call(key, 'POST', `/v1/memory_stores/${tenant}/memories`, payload);
        return [status, 'unauthorized'];
      },
    };

    describe.each(Object.entries(calls))('%s', (_, attempt) => {
      it("rejects the deleted tenant's key after another tenant has taken the ID", async () => {
        const { tenant, key, proposing } = await createUsedTenant();
        await tenants().delete(tenant);
        const newKey = await createAgain(tenant);
        expect(await attempt(proposing, tenant)).toStrictEqual(UNAUTHORIZED);
        expect(await attempt(key, tenant)).toStrictEqual(UNAUTHORIZED);
        expect(await contents(tenant)).toStrictEqual([{ path: secret, content: 'of the new customer' }]);
        expect(await send(newKey, cmd.view(secret))).toStrictEqual([
          200,
          expect.stringContaining('of the new customer'),
        ]);
      });
    });

    it("applies a renamed tenant's key to the renamed tenant, not to the new tenant with the old ID", async () => {
      const { tenant, key } = await createUsedTenant();
      const renamed = freshTenant('renamed');
      await moveTenantData(service().database, tenant, renamed);
      await createAgain(tenant);
      expect(await send(key, cmd.view(secret))).toStrictEqual([
        200,
        `The path ${secret} does not exist. Please provide a valid path.`,
      ]);
      expect((await send(key, cmd.create('/memories/more.md', 'x')))[0]).toBe(200);
      expect((await contents(renamed)).map(({ path }) => path)).toStrictEqual([
        '/memories/more.md',
        '/memories/old.md',
      ]);
      expect(await contents(tenant)).toHaveLength(1);
    });

    it("applies the new tenant's settings immediately, and drops the deleted tenant's cached mounts", async () => {
      const tenant = freshTenant('reused');
      await tenants().create(tenant);
      const shared = freshTenant('shared');
      await tenants().create(shared);
      await setMount(service().database, tenant, {
        name: 'team',
        tenant: shared,
        access: 'read_write',
        instructions: '',
      });
      const send = await asService();
      expect(await send(tenant, cmd.view('/memories'))).toContain('/memories/team');
      await tenants().delete(tenant);
      await createAgain(tenant);
      await tenants().set(tenant, { secrets: 'reject' });
      expect(await send(tenant, cmd.create('/memories/token.md', token))).toContain('github_token');
      expect((await contents(tenant)).map(({ path }) => path)).toStrictEqual([secret]);
      expect(await send(tenant, cmd.view('/memories'))).not.toContain('/memories/team');
    });

    const token = ['ghp', '16C7e42F292c6912E7710c838347Ae178B4a'].join('_');
    /** Returns a function that makes calls with one service key for any tenant. */
    const asService = async () => {
      const { key } = await makeKey(service(), {});
      return async (tenant: string, input: object, more: Record<string, string> = {}) =>
        (await service().execute(input, { headers: { ...bearer(key), ...more }, tenant })).content;
    };

    it("applies a new tenant's settings immediately even if the tenant was cached as missing", async () => {
      const send = await asService();
      const [written, read] = [freshTenant('absent'), freshTenant('absent')];
      for (const tenant of [written, read]) {
        await send(tenant, cmd.view('/memories'));
        await tenants().create(tenant);
      }
      await tenants().set(written, { secrets: 'reject' });
      expect(await send(written, cmd.create('/memories/token.md', token))).toContain('github_token');
      expect(await contents(written)).toStrictEqual([]);
      const mount = { name: 'team', tenant: written, access: 'read_only', instructions: '' } as const;
      await setMount(service().database, read, mount);
      expect(await send(read, cmd.view('/memories'))).toContain('/memories/team');
    });

    it('accepts all simultaneous first writes to a tenant that was cached as missing', async () => {
      const send = await asService();
      const tenant = freshTenant('absent');
      await send(tenant, cmd.view('/memories'));
      const paths = ['/memories/0.md', '/memories/1.md', '/memories/2.md'];
      expect(await Promise.all(paths.map((path) => send(tenant, cmd.create(path, 'x'))))).toStrictEqual(
        paths.map((path) => `File created successfully at: ${path}`),
      );
    });

    describe('a tenant that replaces a mounted tenant', () => {
      const team = '/memories/team';
      /** Creates a tenant that has just used its mount. */
      const createMounting = async (send: Awaited<ReturnType<typeof asService>>) => {
        const [own, mounted] = [freshTenant('mounting'), freshTenant('mounted')];
        for (const id of [own, mounted]) await tenants().create(id);
        await mountTeam(own, mounted);
        const headers = { 'idempotency-key': `key-of-${own}` };
        const create = () => send(own, cmd.create(`${team}/file.md`, 'x'), headers);
        expect(await create()).toBe(`File created successfully at: ${team}/file.md`);
        return { own, mounted, create };
      };
      const mountTeam = (own: string, tenant: string) =>
        setMount(service().database, own, { name: 'team', tenant, access: 'read_write', instructions: '' });

      it("hides a new tenant's files from mounts that were made for the deleted tenant", async () => {
        const send = await asService();
        const { own, mounted } = await createMounting(send);
        await tenants().delete(mounted);
        await createAgain(mounted);
        const missing = `${team} is not available: the memory mounted there does not exist.`;
        expect(await send(own, cmd.view(`${team}/secret.md`))).toContain(missing);
        expect(await send(own, cmd.view('/memories'))).not.toContain('secret.md');
        expect(await send(own, cmd.create(`${team}/more.md`, 'x'))).toContain(missing);
      });

      it('replays no stored result from a deleted mounting tenant to a new tenant with the same ID', async () => {
        const send = await asService();
        const { own, mounted, create } = await createMounting(send);
        await tenants().delete(own);
        await tenants().create(own);
        await mountTeam(own, mounted);
        expect(await create()).toBe(`Error: File ${team}/file.md already exists`);
      });
    });

    it('counts no usage by the deleted tenant for the new tenant with the same ID', async () => {
      const { tenant } = await createUsedTenant();
      await tenants().delete(tenant);
      await createAgain(tenant);
      await service().app.usageCounts.flush();
      expect(
        await service().query('SELECT day FROM tenant_usage WHERE tenant_id = $1', [tenant]),
      ).toStrictEqual([]);
    });

    it('rejects a draft for the new tenant if it was started for the deleted tenant', async () => {
      const { tenant } = await createUsedTenant();
      const row = await tenants().find(tenant);
      await tenants().delete(tenant);
      await createAgain(tenant);
      const draft = createDraft(service().database, loadConfig({ AUTH: 'none' }), tenant, {
        title: 'x',
        author: { type: 'anonymous' },
        tenantCreatedAt: row?.createdAt,
      });
      await expect(draft).rejects.toThrow(`Tenant ${tenant} was deleted or renamed meanwhile. Try again.`);
    });

    it('rejects an admin key scoped to the deleted tenant on the new tenant with the same ID', async () => {
      const { tenant } = await createUsedTenant();
      const other = freshTenant('other');
      await tenants().create(other);
      const admin = await openAdmin(service());
      try {
        const scoped = { isAdmin: true, onlyTenants: [tenant, other] };
        const { key } = await makeKey(service(), scoped);
        expect((await admin.call('GET', `/tenants/${tenant}`, { key })).status).toBe(200);
        await tenants().delete(tenant);
        await createAgain(tenant);
        expect((await admin.call('GET', `/tenants/${tenant}`, { key })).body.code).toBe('outside_scope');
        expect((await admin.call('GET', `/tenants/${other}`, { key })).status).toBe(200);
      } finally {
        await admin.app.close();
      }
    });

    it("returns a key together with its tenant's creation time", async () => {
      const { tenant, key } = await createUsedTenant();

      const found = await new Keys(service().database).find(hashKey(key));
      expect(found).toMatchObject({ tenant, tenantCreatedAt: (await tenants().find(tenant))?.createdAt });
    });
  },
  { AUTH: 'keys', AUTH_CACHE_SECONDS: '30' },
);
