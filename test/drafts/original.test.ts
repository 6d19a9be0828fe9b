/**
 * Capacity and rules that a draft shares with its original.
 *
 * @module-tag long-on-pglite
 */
import { expect, it, vi } from 'vitest';
import { ROOT } from '../../src/core/memory/path.ts';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { forgetStoredResultsOver } from '../../src/core/tenants/stored-results.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { Proposals } from '../../src/features/drafts/proposals.ts';
import { memorySearch } from '../../src/features/search/search.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { Drafting } from '../support/drafting.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const notes = '/memories/notes.md';
const token = ['ghp', '16C7e42F292c6912E7710c838347Ae178B4a'].join('_');

const newTenant = async (service: Service) => {
  const tenant = freshTenant('original');
  await new Tenants(service.database).create(tenant);
  return tenant;
};

const newClient = async (service: Service, purpose: Partial<KeyPurpose>) => {
  const { key } = await makeKey(service, purpose);
  const headers = { authorization: `Bearer ${key}` };
  return {
    send: (input: object, more: Record<string, string> = {}) =>
      service.execute(input, { headers: { ...headers, ...more } }),
    search: () => service.app.inject({ method: 'POST', url: '/search', headers, payload: { query: 'x' } }),
  };
};

describeService(
  'the capacity of a tenant and its drafts',
  (service) => {
    const drafting = new Drafting(service);

    it("applies one shared rate limit to a tenant's keys, its propose-only keys, and its drafts' keys", async () => {
      const tenant = await newTenant(service());
      const draft = await drafting.create(tenant);
      const clients = [
        await newClient(service(), { tenant }),
        await newClient(service(), { tenant, access: 'propose' }),
        await newClient(service(), { tenant, access: 'propose' }),
        await newClient(service(), { tenant: draft.id }),
      ];
      for (const [i, { send }] of clients.entries()) await send(cmd.create(`/memories/${i}`, 'x'));
      const find = vi.spyOn(Proposals.prototype, 'find');
      const rejected = [];
      for (const { send } of clients) rejected.push((await send(cmd.view(ROOT))).status);
      expect(rejected).toStrictEqual([429, 429, 429, 429]);
      expect(find).not.toHaveBeenCalled();
      find.mockRestore();
    });
  },
  { AUTH: 'keys', RATE_LIMIT_PER_MINUTE: '4' },
);

describeService(
  'a draft',
  (service) => {
    const drafting = new Drafting(service);
    const admin = useAdmin(service);

    it("shares a tenant's search slots with its drafts", async () => {
      const tenant = await newTenant(service());
      const draft = await drafting.create(tenant);
      const proposer = await newClient(service(), { tenant, access: 'propose' });
      await proposer.send(cmd.create(notes, 'x'));
      const others = [proposer, await newClient(service(), { tenant: draft.id })];
      const stranger = await newClient(service(), { tenant: await newTenant(service()) });
      let open = () => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const files = { page: () => gate.then(() => []), read: async () => [], has: async () => true };
      const query = { mode: 'literal', where: 'both', text: 'x' } as const;
      const done: string[] = [];
      const held = service()
        .app.services.featureService(memorySearch)
        .find(tenant, files, { query, path: ROOT, maxResults: 1 });
      const searches = others.map(async ({ search }) => {
        expect((await search()).statusCode).toBe(200);
        done.push('draft');
      });
      for (let i = 0; i < 5; i++) await stranger.search();
      expect(done).toStrictEqual([]);
      open();
      await Promise.all([held, ...searches]);
      expect(done).toStrictEqual(['draft', 'draft']);
    });

    it("counts writes and stored results in a draft toward the tenant's usage and limit", async () => {
      const tenant = await newTenant(service());
      const draft = await drafting.create(tenant);
      const [own, inDraft] = [
        await newClient(service(), { tenant }),
        await newClient(service(), { tenant: draft.id }),
      ];
      for (let i = 0; i < 3; i++) {
        await own.send(cmd.create(`/memories/a${i}`, 'x'), { 'idempotency-key': `a${i}` });
        await inDraft.send(cmd.create(`/memories/b${i}`, 'x'), { 'idempotency-key': `b${i}` });
      }
      expect(await forgetStoredResultsOver(service().database, tenant, 2)).toBe(4);
      const kept = await service().query(
        'SELECT tenant_id AS tenant, count(*)::integer AS n FROM idempotency_keys WHERE tenant_id = ANY ($1) GROUP BY 1',
        [[tenant, draft.id]],
      );
      expect(kept).toHaveLength(2);
      expect(kept).toStrictEqual(
        expect.arrayContaining([
          { tenant, n: 1 },
          { tenant: draft.id, n: 1 },
        ]),
      );
      await service().app.usageCounts.flush();
      const used = await service().query('SELECT writes::integer FROM tenant_usage WHERE tenant_id = $1', [
        tenant,
      ]);
      expect(used).toStrictEqual([{ writes: 6 }]);
    });

    it("applies the tenant's settings to its draft, and rejects a setting for the draft itself", async () => {
      const tenant = await newTenant(service());
      const draft = await drafting.create(tenant);
      const set = (id: string, settings: object) =>
        admin().call('PATCH', `/tenants/${id}`, { body: { settings } });
      const readSettings = async () =>
        (await admin().call('GET', `/tenants/${draft.id}`)).body.settings as Record<string, unknown>;
      const changed = { secrets: 'reject', history_days: 7, max_file_bytes: 10, rate_per_minute: 9 };
      expect((await set(tenant, { ...changed, max_bytes: 1000, ttl_days: 3 })).status).toBe(200);
      expect(await readSettings()).toMatchObject({ ...changed, max_bytes: 1000, ttl_days: 0 });
      await set(tenant, { max_bytes: 5000 });
      expect(await readSettings()).toMatchObject({ max_bytes: 1000 });
      expect(problem(await set(draft.id, { secrets: 'store' }))).toStrictEqual([
        409,
        'rejected',
        `${draft.id} is a draft of tenant ${tenant} and follows the settings of that tenant. Change them there.`,
      ]);
    });

    it('makes a draft read-only when its tenant is archived', async () => {
      const tenant = await newTenant(service());
      const draft = await drafting.create(tenant);
      const { key } = await makeKey(service(), { managesStores: true });
      const headers = { authorization: `Bearer ${key}` };
      const url = `/v1/memory_stores/${tenant}/archive`;
      expect((await service().app.inject({ method: 'POST', url, headers })).statusCode).toBe(200);
      const inDraft = await newClient(service(), { tenant: draft.id });
      expect((await inDraft.send(cmd.create(notes, 'x'))).content).toBe('Error: This memory is read-only');
    });

    it('rejects a merge or replacement that would add a secret if the tenant now rejects secrets', async () => {
      const tenant = await newTenant(service());
      const draft = await drafting.create(tenant);
      const inDraft = await newClient(service(), { tenant: draft.id });
      await inDraft.send(cmd.create(notes, `token: ${token}\n`));
      await inDraft.send(cmd.create('/memories/fine.md', 'fine\n'));
      await new Tenants(service().database).set(tenant, { secrets: 'reject' });
      const why = `The draft would add what looks like a secret (github_token) to ${notes}. Nothing was changed. Remove the secret in the draft, or resolve each of these files with \`original\` or a text.`;
      await expect(drafting.merge(draft)).rejects.toThrow(why);
      await expect(drafting.replace(draft)).rejects.toThrow(why);
      expect(await service().query('SELECT path FROM entries WHERE tenant_id = $1', [tenant])).toStrictEqual(
        [],
      );
      const { changes } = await drafting.merge(draft, { [notes]: 'original' });
      expect(changes.map(({ outcome }) => outcome?.path)).toStrictEqual(['/memories/fine.md']);
    });

    it('masks only the secret that the merge adds if the tenant now masks secrets', async () => {
      const tenant = await newTenant(service());
      const owner = await newClient(service(), { tenant });
      const old = token.replace('16C7', '27D8');
      await owner.send(cmd.create(notes, `old: ${old}\nend\n`));
      const draft = await drafting.create(tenant);
      const inDraft = await newClient(service(), { tenant: draft.id });
      await inDraft.send(cmd.replace(notes, 'end\n', `new: ${token}\n`));
      await new Tenants(service().database).set(tenant, { secrets: 'mask' });
      await drafting.merge(draft);
      const [file] = await service().query('SELECT content FROM entries WHERE tenant_id = $1 AND path = $2', [
        tenant,
        notes,
      ]);
      expect(file).toStrictEqual({ content: `old: ${old}\nnew: [REDACTED:github_token]\n` });
    });

    it.each(['mask', 'reject'] as const)(
      'rejects a merge that moves a file to a path with a secret if the secrets setting is %s',
      async (secrets) => {
        const tenant = await newTenant(service());
        const owner = await newClient(service(), { tenant });
        await owner.send(cmd.create('/memories/d/f.md', 'x'));
        const draft = await drafting.create(tenant);
        const inDraft = await newClient(service(), { tenant: draft.id });
        await inDraft.send(cmd.rename('/memories/d', `/memories/${token}`));
        await new Tenants(service().database).set(tenant, { secrets });
        await expect(drafting.merge(draft)).rejects.toThrow(
          'The path contains what looks like a secret (github_token). Choose another path.',
        );
      },
    );

    it('rejects creating a propose-only key for a draft', async () => {
      const tenant = await newTenant(service());
      const draft = await drafting.create(tenant);
      const body = { kind: 'tenant', tenant: draft.id, access: 'propose' };
      expect(problem(await admin().call('POST', '/keys', { body }))).toStrictEqual([
        409,
        'rejected',
        `${draft.id} is a draft of tenant ${tenant}, and a propose-only key writes into a draft of its own. Create the key for tenant ${tenant}, or with another access.`,
      ]);
    });
  },
  { AUTH: 'keys' },
);
