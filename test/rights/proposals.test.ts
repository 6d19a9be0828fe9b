/**
 * Rights with `propose` for a key that writes other paths directly: its changes to these paths collect in a draft, which
 * only the key sees.
 *
 * @module-tag long-on-pglite
 */
import { afterEach, expect, it, vi } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Stores } from '../../src/core/tenants/stores.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { closeDraft, closeLocked } from '../../src/features/drafts/close.ts';
import { drafts as draftsFeature } from '../../src/features/drafts/feature.ts';
import { Proposals } from '../../src/features/drafts/proposals.ts';
import { blockIn, INCLUDE } from '../provenance/provenance-reader.ts';
import { useAdmin } from '../support/admin.ts';
import { assertInvariants } from '../support/invariants.ts';
import { message, requestHeaders } from '../support/mcp.ts';
import { type KeyClient, keyClient, type RightsByPath, tenantWithFiles } from '../support/rights-client.ts';
import { cmd, type Files } from '../support/step-table.ts';
import { describeService, freshTenant, startSharedService } from '../support/test-service.ts';

const file = '/memories/policies/a.md';
const CREATED = `File created successfully at: ${file}`;
const MISSING = `The path ${file} does not exist. Please provide a valid path.`;
const BY = { state: 'rejected', by: { type: 'operator', name: 'ada' } } as const;

const content = (text: string, path = file) =>
  `Here's the content of ${path} with line numbers:\n     1\t${text}`;
const listing = (directory: string, lines: readonly string[]) =>
  [
    `Here're the files and directories up to 2 levels deep in ${directory}, excluding hidden items and node_modules:`,
    `4.0K\t${directory}`,
    ...lines,
  ].join('\n');
const run = async (client: KeyClient, input: object) => (await client.send(input)).content;

describeService(
  'paths with propose of a key that writes',
  (service) => {
    const admin = useAdmin(service);
    afterEach(() => vi.restoreAllMocks());

    const withRights = async (
      files: Files = {},
      rights: RightsByPath = { '/memories/policies': 'propose' },
    ) => {
      const owner = await tenantWithFiles(service(), files);
      const { tenant } = owner;
      return { tenant, owner, agent: await keyClient(service(), tenant, rights, { label: 'agent' }) };
    };
    const drafts = async (tenant: string) =>
      (await admin().call('GET', `/tenants/${tenant}/drafts`)).body.drafts as { id: string }[];
    const openDraft = async (tenant: string) => (await drafts(tenant))[0]?.id ?? '';
    const merge = async (tenant: string) => {
      const path = `/tenants/${tenant}/drafts/${await openDraft(tenant)}`;
      const { review } = (await admin().call('GET', `${path}/changes`)).body;
      return (await admin().call('POST', `${path}/merge`, { body: { review } })).status;
    };

    it('writes other paths directly, and the path in a draft, which a merge applies without other files', async () => {
      const { tenant, owner, agent } = await withRights({ [file]: 'one', '/memories/notes.md': 'n' });
      expect(await run(agent, cmd.view(file))).toBe(content('one'));
      expect(await run(agent, cmd.replace('/memories/notes.md', 'n', 'n1'))).toContain('has been edited');
      expect(await drafts(tenant)).toStrictEqual([]);

      expect(await run(agent, cmd.replace(file, 'one', 'two'))).toContain('has been edited');
      expect(await run(agent, cmd.create('/memories/policies/b.md', 'b'))).toContain('successfully');
      expect(await run(agent, cmd.replace('/memories/notes.md', 'n1', 'n2'))).toContain('has been edited');
      expect(await run(agent, cmd.create('/memories/new.md', 'new'))).toContain('successfully');
      expect(await run(agent, cmd.view(file))).toBe(content('two'));
      expect(await run(owner, cmd.view(file))).toBe(content('one'));
      expect(await drafts(tenant)).toMatchObject([
        { title: 'Proposed by agent', via_tenant: null, changed_files: 2 },
      ]);
      const shown = listing('/memories', [
        '3B\t/memories/new.md',
        '2B\t/memories/notes.md',
        '4.0K\t/memories/policies/',
        '3B\t/memories/policies/a.md',
        '1B\t/memories/policies/b.md',
      ]);
      expect(await run(agent, cmd.view('/memories'))).toBe(shown);
      expect(await run(owner, cmd.view('/memories'))).toBe(
        shown.replace('\n1B\t/memories/policies/b.md', ''),
      );

      expect(await merge(tenant)).toBe(200);
      for (const each of [agent, owner]) {
        expect(await run(each, cmd.view('/memories'))).toBe(shown);
        expect(await run(each, cmd.view(file))).toBe(content('two'));
        expect(await run(each, cmd.view('/memories/notes.md'))).toBe(content('n2', '/memories/notes.md'));
      }
      await assertInvariants(service());
    });

    it('writes a path below directly if its right is read_write, and lists it next to proposed files', async () => {
      const rights = {
        '/memories': 'propose',
        '/memories/a/me': 'read_write',
        '/memories/x': 'none',
      } as const;
      const { tenant, owner, agent } = await withRights({ '/memories/a/me/1.md': '1' }, rights);
      await run(agent, cmd.create('/memories/a/p.md', 'pp'));
      await run(agent, cmd.create('/memories/a/me/2.md', '222'));
      await run(owner, cmd.create('/memories/a/later.md', 'later'));
      await run(owner, cmd.create('/memories/x/hidden.md', 'x'));
      expect(await run(agent, cmd.view('/memories/a'))).toBe(
        listing('/memories/a', [
          '4.0K\t/memories/a/me/',
          '1B\t/memories/a/me/1.md',
          '3B\t/memories/a/me/2.md',
          '2B\t/memories/a/p.md',
        ]),
      );
      expect(await run(agent, cmd.view('/memories'))).toBe(
        listing('/memories', ['4.0K\t/memories/a/', '4.0K\t/memories/a/me/', '2B\t/memories/a/p.md']),
      );
      expect(await run(owner, cmd.view('/memories/a'))).toBe(
        listing('/memories/a', [
          '5B\t/memories/a/later.md',
          '4.0K\t/memories/a/me/',
          '1B\t/memories/a/me/1.md',
          '3B\t/memories/a/me/2.md',
        ]),
      );
      expect(await drafts(tenant)).toMatchObject([{ changed_files: 1 }]);
    });

    it('rejects a rename or deletion that involves proposed paths and others', async () => {
      const rights = { '/memories/a/p': 'propose', '/memories/p': 'propose' } as const;
      const files = { '/memories/a/f.md': 'f', '/memories/a/p/g.md': 'g', '/memories/b.md': 'b' };
      const { tenant, agent } = await withRights(files, rights);
      const inputs = [
        cmd.rename('/memories/b.md', '/memories/p/b.md'),
        cmd.rename('/memories/a/p/g.md', '/memories/g.md'),
        cmd.rename('/memories/a', '/memories/c'),
        cmd.rename('/memories/b.md', '/memories/a'),
        cmd.delete('/memories/a'),
      ];
      const results = [];
      for (const input of inputs) results.push(await run(agent, input));
      expect(results).toStrictEqual([
        'Error: Cannot rename /memories/b.md to /memories/p/b.md: changes to only one of them wait for a reviewer. Create /memories/p/b.md with the same content, then delete /memories/b.md.',
        'Error: Cannot rename /memories/a/p/g.md to /memories/g.md: changes to only one of them wait for a reviewer. Create /memories/g.md with the same content, then delete /memories/a/p/g.md.',
        'Error: Cannot change /memories/a: changes to only some of its files wait for a reviewer. Change the files in /memories/a one by one instead.',
        'Error: Cannot change /memories/a: changes to only some of its files wait for a reviewer. Change the files in /memories/a one by one instead.',
        'Error: Cannot change /memories/a: changes to only some of its files wait for a reviewer. Change the files in /memories/a one by one instead.',
      ]);
      expect(await drafts(tenant)).toStrictEqual([]);
      expect(await run(agent, cmd.rename('/memories/a/p', '/memories/p'))).toBe(
        'Successfully renamed /memories/a/p to /memories/p',
      );
      expect(await run(agent, cmd.view('/memories'))).toBe(
        listing('/memories', [
          '4.0K\t/memories/a/',
          '1B\t/memories/a/f.md',
          '1B\t/memories/b.md',
          '4.0K\t/memories/p/',
          '1B\t/memories/p/g.md',
        ]),
      );
    });

    it('shows the draft in searches, the context, resources, array calls, and provenance, without its ID', async () => {
      const { tenant, owner, agent } = await withRights({ [file]: 'needle 1\n', '/memories/n.md': 'needle' });
      await new Tenants(service().database).set(tenant, { provenance: 'on_request' });
      service().app.services.policies.forget(tenant);
      const blocks = [cmd.insert(file, 1, 'needle 2\n'), cmd.view(file)].map((input, i) => ({
        type: 'tool_use',
        id: `toolu_${i}`,
        name: 'memory',
        input,
      }));
      const [, viewed] = (await agent.send(blocks)).body as unknown as { content: string }[];
      expect(viewed?.content).toContain('     2\tneedle 2');
      await run(agent, cmd.create('/memories/policies/new.md', 'needle 3'));
      await run(owner, cmd.create('/memories/policies/later.md', 'needle 4'));
      const search = async (client: KeyClient, path?: string) => {
        const { matches } = (await client.request('POST', '/search', { query: 'needle', path })) as {
          matches: { path: string; text: string }[];
        };
        return matches.map(({ path, text }) => `${path} ${text}`).sort();
      };
      const proposed = [
        '/memories/policies/a.md needle 1',
        '/memories/policies/a.md needle 2',
        '/memories/policies/new.md needle 3',
      ];
      expect(await search(agent)).toStrictEqual(['/memories/n.md needle', ...proposed]);
      expect(await search(agent, '/memories/policies')).toStrictEqual(proposed);
      expect(await search(owner, '/memories/policies')).toStrictEqual([
        '/memories/policies/a.md needle 1',
        '/memories/policies/later.md needle 4',
      ]);
      const context = (await agent.request('GET', '/context')) as { snapshot: string; version: string };
      for (const path of ['/memories/n.md', file, '/memories/policies/new.md'])
        expect(context.snapshot.split(path)).toHaveLength(2);
      expect(context.snapshot).not.toContain('later.md');
      await run(agent, cmd.create('/memories/policies/newer.md', 'n'));
      const next = await agent.request('GET', `/context?since=${context.version}`);
      expect(JSON.stringify(next)).toContain('/memories/policies/newer.md');
      const mcp = async (method: string, params: object = {}) => {
        const request = { method: 'POST', url: '/mcp', headers: requestHeaders(agent.key) } as const;
        return (await service().app.inject({ ...request, payload: message(method, params) })).body;
      };
      const list = await mcp('resources/list');
      expect(list).toContain('memory:///memories/policies/new.md');
      expect(list).not.toContain('later.md');
      const read = await mcp('resources/read', { uri: `memory://${file}` });
      expect(read).toContain('needle 2');
      const lines = blockIn((await agent.send(cmd.view(file), INCLUDE)).content).slice(1);
      expect(lines.map((line) => line.replace(/key_\w+/, 'OWNER'))).toStrictEqual([
        '1: key OWNER, DAY',
        '2: key agent, DAY, unreviewed',
        '3: key OWNER, DAY]',
      ]);
      const instructions = (await agent.request('GET', '/instructions?protocol=false')) as {
        content: string;
      };
      expect(instructions.content).toBe(
        'Your access depends on the path. The longest path applies:\n' +
          '- /memories (you can write)\n- /memories/policies (your changes wait for a reviewer)',
      );
      const whoami = await agent.request('GET', '/whoami');
      for (const seen of [viewed, context, next, list, read, whoami])
        expect(JSON.stringify(seen)).not.toContain(await openDraft(tenant));
    });

    it('never exceeds the access of a read-only and of a propose-only key', async () => {
      const { tenant, owner } = await withRights();
      const rights: RightsByPath = { '/memories/policies': 'propose', '/memories/me': 'read_write' };
      const reader = await keyClient(service(), tenant, rights, { access: 'read_only' });
      const proposer = await keyClient(service(), tenant, rights, { access: 'propose' });
      for (const path of [file, '/memories/me/n.md'])
        expect(await run(reader, cmd.create(path, 'x'))).toBe('Error: This memory is read-only');
      for (const path of [file, '/memories/me/n.md', '/memories/o.md'])
        expect(await run(proposer, cmd.create(path, 'x'))).toBe(`File created successfully at: ${path}`);
      expect(await run(proposer, cmd.rename(file, '/memories/me/a.md'))).toContain('Successfully');
      expect(await run(owner, cmd.view('/memories'))).toBe(listing('/memories', []));
      expect(await drafts(tenant)).toMatchObject([{ changed_files: 3 }]);
    });

    it.each(['closed', 'deleted'] as const)(
      'proposes a write again, and reads the memory, if the draft was %s meanwhile',
      async (how) => {
        const { tenant, agent } = await withRights({ '/memories/n.md': 'n' });
        await run(agent, cmd.create(file, 'x'));
        const draft = await openDraft(tenant);
        if (how === 'deleted') await closeDraft(service().database, { tenant, draft }, BY);
        else await service().database.transaction((query) => closeLocked(query, { tenant, draft }, BY));
        // Simulates a request that found the draft before it was closed.
        const find = vi.spyOn(Proposals.prototype, 'find');
        if (how === 'deleted') {
          find.mockResolvedValueOnce(draft);
          expect(await run(agent, cmd.view('/memories'))).toBe(listing('/memories', ['1B\t/memories/n.md']));
          find.mockResolvedValueOnce(draft);
          expect(await run(agent, cmd.view(file))).toBe(MISSING);
          find.mockResolvedValueOnce(draft);
          expect(await agent.request('POST', '/search', { query: 'x' })).toMatchObject({ matches: [] });
        }
        find.mockResolvedValueOnce(draft).mockResolvedValueOnce(draft);
        const idempotency = { 'idempotency-key': 'k1' };
        const { body } = await agent.send(cmd.create(file, 'y'), idempotency);
        expect(body).toStrictEqual({ content: CREATED, is_error: false });
        vi.restoreAllMocks();
        expect(await drafts(tenant)).toMatchObject([{ changed_files: 1 }]);
        expect(await openDraft(tenant)).not.toBe(draft);
        const replayed = await agent.send(cmd.create(file, 'y'), idempotency);
        expect([replayed.content, replayed.headers['idempotency-replayed']]).toStrictEqual([CREATED, 'true']);
        expect((await agent.send(cmd.create('/memories/f', 'y'), idempotency)).body.code).toBe(
          'idempotency_key_reused',
        );
        const direct = { 'idempotency-key': 'k2' };
        await agent.send(cmd.create('/memories/f', 'y'), direct);
        expect((await agent.send(cmd.create(file, 'y'), direct)).body.code).toBe('idempotency_key_reused');
        // A retry of a write in a closed draft proposes the change again.
        await closeDraft(service().database, { tenant, draft: await openDraft(tenant) }, BY);
        expect(await run(agent, cmd.view(file))).toBe(MISSING);
        const again = await agent.send(cmd.create(file, 'y'), idempotency);
        expect([again.content, again.headers['idempotency-replayed']]).toStrictEqual([CREATED, undefined]);
        await assertInvariants(service());
      },
    );

    it('returns an error to the model if no draft can be opened, and still writes other paths', async () => {
      const { tenant, agent } = await withRights();
      const tenants = new Tenants(service().database);
      await admin().call('POST', `/tenants/${tenant}/drafts`, { body: { title: 't' } });
      await tenants.set(tenant, { maxDrafts: 1 });
      const create = async (path: string) => {
        const { status, content, is_error } = await agent.send(cmd.create(path, 'x'));
        return [status, content, is_error];
      };
      expect(await create(file)).toStrictEqual([
        200,
        'Error: Changes to /memories/policies are proposed in a draft, and a reviewer has to resolve the open drafts first. You can still use the rest of /memories.',
        true,
      ]);
      expect((await create('/memories/b.md'))[2]).toBe(false);
      await tenants.set(tenant, { maxDrafts: 2 });
      expect(await create(file)).toStrictEqual([200, CREATED, false]);
      await new Stores(service().database).archive(tenant);
      for (const path of ['/memories/policies/c.md', '/memories/c.md'])
        expect(await create(path)).toStrictEqual([200, 'Error: This memory is read-only', true]);
    });

    it('opens one draft for concurrent first writes', async () => {
      const { tenant, agent } = await withRights();
      const writes = Array.from({ length: 6 }, (_, i) =>
        run(agent, cmd.create(`/memories/policies/${i}`, 'x')),
      );
      for (const text of await Promise.all(writes)) expect(text).toContain('successfully');
      expect(await drafts(tenant)).toMatchObject([{ changed_files: 6 }]);
    });

    it('separates the drafts of a service key by tenant, and reads the path only in a draft', async () => {
      const [one, two] = [await withRights(), await withRights()];
      const rights = { '/memories/policies': 'propose' } as const;
      const all = await keyClient(service(), '', rights, { tenant: null, label: 'all' });
      const send = async (tenant: string, input: object) =>
        (await all.send(input, { 'x-tenant-id': tenant })).content;
      for (const { tenant } of [one, two]) expect(await send(tenant, cmd.create(file, 'x'))).toBe(CREATED);
      for (const { tenant, owner } of [one, two]) {
        expect(await drafts(tenant)).toMatchObject([{ title: 'Proposed by all', changed_files: 1 }]);
        expect(await run(owner, cmd.view(file))).toBe(MISSING);
        expect(await send(tenant, cmd.view(file))).toBe(content('x'));
      }
      const draft = await openDraft(one.tenant);
      expect(await send(draft, cmd.view(file))).toBe(content('x'));
      expect(await send(draft, cmd.delete(file))).toBe(
        'Error: /memories/policies is read-only. Write to other directories under /memories instead.',
      );
      expect((await all.send(cmd.create(file, 'x'), { 'x-tenant-id': freshTenant('no') })).status).toBe(403);
    });

    it('proposes changes to a whole writable mount that has a proposed path', async () => {
      const { tenant, agent } = await withRights({}, { '/memories/team/policies': 'propose' });
      const team = await tenantWithFiles(service(), {});
      const mount = { name: 'team', tenant: team.tenant, access: 'read_write', instructions: '' } as const;
      await setMount(service().database, tenant, mount);
      service().app.services.policies.forget(tenant);
      for (const path of ['/memories/team/policies/a.md', '/memories/team/b.md']) {
        expect(await run(agent, cmd.create(path, 'x'))).toContain('successfully');
        expect(await run(agent, cmd.view(path))).toBe(content('x', path));
      }
      expect(await run(team, cmd.view('/memories'))).toBe(listing('/memories', []));
      expect(await drafts(team.tenant)).toMatchObject([{ via_tenant: tenant, changed_files: 2 }]);
      expect(await drafts(tenant)).toStrictEqual([]);
    });

    it('reads the memory itself, and writes no proposed path, in the Memory Stores API', async () => {
      const { tenant, agent } = await withRights({ [file]: 'one' });
      await run(agent, cmd.replace(file, 'one', 'two'));
      const memories = `/v1/memory_stores/${tenant}/memories`;
      const { data } = (await agent.request('GET', `${memories}?view=full`)) as {
        data: { id: string; path: string; content: string }[];
      };
      expect(data).toMatchObject([{ path: '/policies/a.md', content: 'one' }]);
      const forbidden = { error: { type: 'permission_error' } };
      const create = (path: string) => agent.request('POST', memories, { path, content: 'x' });
      expect(await create('/policies/b.md')).toMatchObject(forbidden);
      expect(await create('/b.md')).toMatchObject({ path: '/b.md' });
      expect(await agent.request('DELETE', `${memories}/${data[0]?.id}`)).toMatchObject(forbidden);
      expect(await agent.request('POST', `${memories}/${data[0]?.id}`, { content: 'x' })).toMatchObject(
        forbidden,
      );
    });
  },
  { AUTH: 'keys', AUTH_CACHE_SECONDS: '30' },
);

describeService(
  'a path with propose in a service without drafts',
  (service, kind) => {
    it('rejects writes to the path', async () => {
      const owner = await tenantWithFiles(service(), {});
      const { key } = await keyClient(service(), owner.tenant, { '/memories/policies': 'propose' });
      const start = vi.spyOn(draftsFeature, 'start').mockResolvedValue({});
      const without = await startSharedService(kind, { AUTH: 'keys' });
      start.mockRestore();
      try {
        const headers = { authorization: `Bearer ${key}` };
        expect((await without.execute(cmd.create(file, 'x'), { headers })).content).toBe(
          'Error: /memories/policies is read-only. Write to other directories under /memories instead.',
        );
        expect((await without.execute(cmd.create('/memories/b', 'x'), { headers })).is_error).toBe(false);
      } finally {
        await without.close();
      }
    });
  },
  { AUTH: 'keys' },
);
