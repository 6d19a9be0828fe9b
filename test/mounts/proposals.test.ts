/**
 * Mounts with `propose`: writes collect in the caller's draft of the mounted memory, which only the caller sees.
 *
 * @module-tag long-on-pglite
 */
import { afterEach, expect, it, vi } from 'vitest';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { removeMount, setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { closeDraft, closeLocked, expireDrafts } from '../../src/features/drafts/close.ts';
import { drafts as draftsFeature } from '../../src/features/drafts/feature.ts';
import { Proposals } from '../../src/features/drafts/proposals.ts';
import { blockIn, INCLUDE } from '../provenance/provenance-reader.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { tenantWithMounts } from '../support/tenant-with-mounts.ts';
import { describeService, startSharedService } from '../support/test-service.ts';

const file = '/memories/team/notes.md';
const READ_ONLY =
  'Error: /memories/team is read-only. Write to your own directories under /memories instead.';
const CREATED = `File created successfully at: ${file}`;
const MISSING = `The path ${file} does not exist. Please provide a valid path.`;

const content = (text: string) => `Here's the content of ${file} with line numbers:\n     1\t${text}`;

describeService(
  'mounts with propose',
  (service) => {
    const admin = useAdmin(service);
    afterEach(() => vi.restoreAllMocks());

    const client = async (purpose: Partial<KeyPurpose>, headers: Record<string, string> = {}) => {
      const { key, id } = await makeKey(service(), purpose);
      const authorization = `Bearer ${key}`;
      const send = (input: unknown, more: Record<string, string> = {}) =>
        service().execute(input, { headers: { authorization, ...headers, ...more } });
      return {
        id,
        send,
        run: async (input: object) => (await send(input)).content,
        call: async (method: 'GET' | 'POST', url: string, payload?: object) =>
          (
            await service().app.inject({
              method,
              url,
              headers: { authorization, ...headers },
              ...(payload && { payload }),
            })
          ).json(),
      };
    };

    /** A tenant with a mount, and a key for each of the two tenants. */
    const proposing = async () => {
      const { own, team } = await tenantWithMounts(service(), {
        team: { access: 'propose', instructions: 'Ask first.' },
      });
      const agent = await client({ tenant: own, label: 'builder-1', source: 'web' });
      return { own, team, agent, owner: await client({ tenant: team, label: 'owner' }) };
    };

    const drafts = async (tenant: string) =>
      (await admin().call('GET', `/tenants/${tenant}/drafts`)).body.drafts as {
        id: string;
        key_id: string;
        via_tenant: string;
      }[];
    const openDraft = async (tenant: string) => (await drafts(tenant))[0]?.id ?? '';
    const merge = async (tenant: string) => {
      const path = `/tenants/${tenant}/drafts/${await openDraft(tenant)}`;
      const { review } = (await admin().call('GET', `${path}/changes`)).body;
      return admin().call('POST', `${path}/merge`, { body: { review } });
    };

    it('collects writes in a draft, which only the caller and the reviewers see until it is merged', async () => {
      const { own, team, agent, owner } = await proposing();
      const sibling = await client({ tenant: own, label: 'builder-2' });
      await owner.run(cmd.create('/memories/notes.md', 'one'));
      expect(await agent.run(cmd.view(file))).toBe(content('one'));
      expect(await drafts(team)).toStrictEqual([]);

      expect(await agent.run(cmd.replace(file, 'one', 'two'))).toContain('has been edited');
      expect(await agent.run(cmd.view(file))).toBe(content('two'));
      expect(await sibling.run(cmd.view(file))).toBe(content('one'));
      expect(await owner.run(cmd.view('/memories/notes.md'))).toContain('one');
      expect(await drafts(team)).toMatchObject([
        {
          key_id: agent.id,
          via_tenant: own,
          title: 'Proposed by builder-1',
          author: { type: 'api_key', id: agent.id, label: 'builder-1', source: 'web' },
          changed_files: 1,
        },
      ]);
      const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: [team] });
      expect((await admin().call('GET', `/tenants/${team}/drafts`, { key })).body.drafts).toMatchObject([
        { via_tenant: null },
      ]);

      await sibling.run(cmd.create('/memories/team/other.md', 'x'));
      expect(await drafts(team)).toHaveLength(2);
      expect(await agent.run(cmd.view('/memories/team/other.md'))).toContain('does not exist');

      await admin().call('POST', `/tenants/${team}/drafts/${await openDraft(team)}/close`);
      const merged = await merge(team);
      expect(merged.status).toBe(200);
      expect(await owner.run(cmd.view('/memories/notes.md'))).toContain('two');
      const { versions } = (await admin().call('GET', `/tenants/${team}/versions?path=/memories/notes.md`))
        .body;
      expect(versions).toMatchObject([
        {
          via_tenant: own,
          actor: { id: agent.id },
          approved_by: { type: 'admin_key' },
        },
        { via_tenant: null },
      ]);
      await owner.run(cmd.replace('/memories/notes.md', 'two', 'three'));
      for (const each of [agent, sibling]) expect(await each.run(cmd.view(file))).toBe(content('three'));
      await assertInvariants(service());
    });

    it('shows the draft in the root, searches, the context, and array calls, without its ID', async () => {
      const { team, agent, owner } = await proposing();
      await owner.run(cmd.create('/memories/notes.md', 'needle one'));
      const blocks = [cmd.create('/memories/team/new.md', 'needle two'), cmd.view('/memories/team')].map(
        (input, i) => ({ type: 'tool_use', id: `toolu_${i}`, name: 'memory', input }),
      );
      const [, viewed] = (await agent.send(blocks)).body as unknown as { content: string }[];
      expect(viewed?.content.split('\n').slice(1)).toStrictEqual([
        '4.0K\t/memories/team',
        '10B\t/memories/team/new.md',
        '10B\t/memories/team/notes.md',
      ]);
      expect((await agent.run(cmd.view('/memories'))).split('\n').slice(1)).toStrictEqual([
        '4.0K\t/memories',
        '4.0K\t/memories/team/',
        '10B\t/memories/team/new.md',
        '10B\t/memories/team/notes.md',
      ]);
      for (const [reader, paths] of [
        [agent, ['/memories/team/new.md', '/memories/team/notes.md']],
        [owner, ['/memories/notes.md']],
      ] as const) {
        const { matches } = await reader.call('POST', '/search', { query: 'needle' });
        expect(matches.map(({ path }: { path: string }) => path).sort()).toStrictEqual(paths);
      }
      const context = await agent.call('GET', '/context');
      expect(context.snapshot).toContain('/memories/team/new.md');
      const instructions = await agent.call('GET', '/instructions?protocol=false');
      expect(instructions).toStrictEqual({
        content:
          'These directories of your memory are memories of their own, which others may use too:\n' +
          '- /memories/team (your changes wait for a reviewer; view a file right before you change it): Ask first.',
        mounts: [{ path: '/memories/team', access: 'propose', instructions: 'Ask first.' }],
      });
      const whoami = await agent.call('GET', '/whoami');
      expect(whoami.mounts).toStrictEqual(instructions.mounts);
      for (const seen of [viewed, context, instructions, whoami])
        expect(JSON.stringify(seen)).not.toContain(await openDraft(team));
    });

    it('names the proposer of a line to its own tenant only, before and after the merge', async () => {
      const { own, team, agent, owner } = await proposing();
      const tenants = new Tenants(service().database);
      for (const tenant of [own, team]) await tenants.set(tenant, { provenance: 'on_request' });
      await owner.run(cmd.create('/memories/notes.md', 'one\n'));
      await agent.run(cmd.insert(file, 1, 'two\n'));
      const rows = async (reader: typeof agent, path: string) =>
        blockIn((await reader.send(cmd.view(path), INCLUDE)).content).slice(1);
      expect(await rows(agent, file)).toStrictEqual([
        '1: a key, in a mounted memory, DAY',
        '2: key builder-1, source web, in a mounted memory, DAY, unreviewed',
        '3: a key, in a mounted memory, DAY]',
      ]);
      await merge(team);
      expect(await rows(agent, file)).toStrictEqual([
        '1: a key, in a mounted memory, DAY',
        '2: key builder-1, source web, in a mounted memory, DAY, approved',
        '3: a key, in a mounted memory, DAY]',
      ]);
      expect(await rows(owner, '/memories/notes.md')).toStrictEqual([
        '1: key owner, DAY',
        '2: a key, source web, through a mount, DAY, approved by admin key control plane',
        '3: key owner, DAY]',
      ]);
    });

    it('keeps the draft of a propose-only key, and rejects a read-only key and a key without the right', async () => {
      const { own, team } = await proposing();
      const proposer = await client({ tenant: own, access: 'propose' });
      const reader = await client({ tenant: own, access: 'read_only' });
      const limited = await client({
        tenant: own,
        rights: [{ path: '/memories/team/notes.md', access: 'read_only' }],
      } as never);
      const limitedProposer = await client({
        tenant: own,
        access: 'propose',
        rights: [{ path: '/memories/team/notes.md', access: 'read_only' }],
      } as never);
      expect(await reader.run(cmd.create(file, 'x'))).toBe('Error: This memory is read-only');
      for (const each of [limited, limitedProposer])
        expect(await each.run(cmd.create(file, 'x'))).toBe(
          `Error: ${file} is read-only. Write to other directories under /memories instead.`,
        );
      expect(await drafts(team)).toStrictEqual([]);

      expect(await proposer.run(cmd.create(file, 'x'))).toBe(CREATED);
      // A write below the mount opens no draft of the proposer's own memory.
      expect(await drafts(own)).toStrictEqual([]);
      expect(await drafts(team)).toMatchObject([{ key_id: proposer.id, via_tenant: own }]);
      expect(await proposer.run(cmd.create('/memories/mine', 'x'))).toContain('successfully');
      expect(await proposer.run(cmd.view(file))).toBe(content('x'));
      expect(await proposer.run(cmd.replace(file, 'x', 'y'))).toContain('edited');
      expect(await drafts(team)).toMatchObject([{ changed_files: 1 }]);
      expect(await reader.run(cmd.view(file))).toBe(MISSING);
      expect(await limited.run(cmd.create('/memories/team/other', 'x'))).toContain('successfully');
    });

    it.each(['closed', 'deleted'] as const)(
      'writes to a new draft if its draft was %s meanwhile',
      async (how) => {
        const { own, team, agent } = await proposing();
        await agent.run(cmd.create(file, 'x'));
        const draft = await openDraft(team);
        const ids = { tenant: team, draft };
        const closing = { state: 'rejected', by: { type: 'operator', name: 'ada' } } as const;
        if (how === 'deleted') await closeDraft(service().database, ids, closing);
        else await service().database.transaction((query) => closeLocked(query, ids, closing));
        // Simulates a request that found the draft before it was closed.
        vi.spyOn(Proposals.prototype, 'find').mockResolvedValueOnce(draft).mockResolvedValueOnce(draft);
        const idempotency = { 'idempotency-key': 'k1' };
        const { body } = await agent.send(cmd.create(file, 'y'), idempotency);
        expect(body).toStrictEqual({ content: CREATED, is_error: false });
        vi.restoreAllMocks();
        const [next] = await drafts(team);
        expect(next).toMatchObject({ changed_files: 1, via_tenant: own });
        expect(next?.id).not.toBe(draft);
        const replayed = await agent.send(cmd.create(file, 'y'), idempotency);
        expect([replayed.content, replayed.headers['idempotency-replayed']]).toStrictEqual([CREATED, 'true']);
        expect((await agent.send(cmd.create('/memories/f', 'y'), idempotency)).body.code).toBe(
          'idempotency_key_reused',
        );
        // A retry of a write in a closed draft proposes the change again.
        await closeDraft(service().database, { tenant: team, draft: await openDraft(team) }, closing);
        expect(await agent.run(cmd.view(file))).toBe(MISSING);
        const again = await agent.send(cmd.create(file, 'y'), idempotency);
        expect([again.content, again.headers['idempotency-replayed']]).toStrictEqual([CREATED, undefined]);
        await assertInvariants(service());
      },
    );

    it('opens one draft for concurrent first writes', async () => {
      const { team, agent } = await proposing();
      const writes = Array.from({ length: 6 }, (_, i) => agent.run(cmd.create(`/memories/team/f${i}`, 'x')));
      for (const text of await Promise.all(writes)) expect(text).toContain('successfully');
      expect(await drafts(team)).toMatchObject([{ changed_files: 6 }]);
    });

    it('separates the drafts of a service key that calls for two tenants', async () => {
      const { own, team } = await proposing();
      const { own: second } = await tenantWithMounts(service(), {});
      await setMount(service().database, second, {
        name: 'team',
        tenant: team,
        access: 'propose',
        instructions: '',
      });
      const [one, two] = [
        await client({ tenant: null }, { 'x-tenant-id': own }),
        await client({ tenant: null }, { 'x-tenant-id': second }),
      ];
      const first = { 'x-tenant-id': own };
      await one.run(cmd.create(file, 'x'));
      expect((await one.send(cmd.view(file), { 'x-tenant-id': second })).content).toBe(MISSING);
      expect((await two.send(cmd.view(file), first)).content).toBe(MISSING);
      await one.send(cmd.create('/memories/team/g', 'x'), { 'x-tenant-id': second });
      expect((await drafts(team)).map(({ key_id, via_tenant }) => [key_id, via_tenant]).sort()).toStrictEqual(
        [
          [one.id, own],
          [one.id, second],
        ].sort(),
      );
    });

    it('returns an error to the model if no draft can be opened', async () => {
      const { team, agent } = await proposing();
      const tenants = new Tenants(service().database);
      const { body } = await admin().call('POST', `/tenants/${team}/drafts`, { body: { title: 't' } });
      await tenants.set(team, { maxDrafts: 1 });
      const create = async () => {
        const { status, content, is_error } = await agent.send(cmd.create(file, 'x'));
        return [status, content, is_error];
      };
      expect(await create()).toStrictEqual([
        200,
        'Error: Changes to /memories/team are proposed in a draft, and a reviewer has to resolve the open drafts first. You can still use the rest of /memories.',
        true,
      ]);
      await admin().call('POST', `/tenants/${team}/drafts/${body.id}/close`);
      await service().query('UPDATE tenants SET archived_at = now() WHERE id = $1 RETURNING id', [team]);
      expect(await create()).toStrictEqual([200, READ_ONLY, true]);
      await service().query('UPDATE tenants SET archived_at = NULL WHERE id = $1 RETURNING id', [team]);
      expect(await create()).toStrictEqual([200, CREATED, false]);
      await tenants.suspend(team, true);
      service().app.services.policies.forget(team);
      service().app.services.policies.forget(await openDraft(team));
      expect(await create()).toStrictEqual([
        200,
        'Error: /memories/team is not available: the memory mounted there is suspended. You can still use the rest of /memories.',
        true,
      ]);
      expect(await agent.run(cmd.view('/memories'))).toContain(
        '[/memories/team is not available: the memory mounted there is suspended.]',
      );
      await tenants.delete(team);
      service().app.services.policies.forget(team);
      expect(await create()).toStrictEqual([
        200,
        'Error: /memories/team is not available: the memory mounted there does not exist. You can still use the rest of /memories.',
        true,
      ]);
    });

    it('applies the mount rules to the mount itself and to renames between memories', async () => {
      const { agent } = await proposing();
      await agent.run(cmd.create('/memories/mine', 'x'));
      await agent.run(cmd.create(file, 'x'));
      expect(await agent.run(cmd.rename(file, '/memories/f'))).toBe(
        `Error: Cannot rename ${file} to /memories/f: they are in different memories. Create /memories/f with the same content, then delete ${file}.`,
      );
      expect(await agent.run(cmd.delete('/memories/team'))).toBe(
        'Error: Cannot delete /memories/team: another memory is mounted there',
      );
      expect(await agent.run(cmd.rename(file, '/memories/team/moved.md'))).toBe(
        `Successfully renamed ${file} to /memories/team/moved.md`,
      );
      expect(await agent.run(cmd.delete('/memories/team/moved.md'))).toBe(
        'Successfully deleted /memories/team/moved.md',
      );
    });

    it('ends the access to a draft with its mount, and rejects the draft in the hourly job', async () => {
      const { own, team, agent } = await proposing();
      await agent.run(cmd.create(file, 'x'));
      const id = await openDraft(team);
      const run = () => expireDrafts(service().database, { DRAFT_DAYS: 30 });
      await run();
      expect(await openDraft(team)).toBe(id);
      await removeMount(service().database, own, 'team');
      service().app.services.policies.forget(own);
      expect(await agent.run(cmd.view(file))).toBe(MISSING);
      expect(await run()).toMatchObject({ expired: 0, rejected: 1 });
      const { body } = await admin().call('GET', `/tenants/${team}/drafts/${id}`);
      expect(body).toMatchObject({ state: 'rejected', closed_by: { type: 'system', job: 'drafts' } });
    });

    it('keeps the draft when the mounting or the mounted tenant is renamed', async () => {
      const { own, team, agent } = await proposing();
      await agent.run(cmd.create(file, 'x'));
      const id = await openDraft(team);
      for (const tenant of [own, team])
        await admin().call('POST', `/tenants/${tenant}/rename`, { body: { to: `${tenant}-renamed` } });
      for (const tenant of [own, team]) service().app.services.policies.forget(tenant);
      expect(await drafts(`${team}-renamed`)).toMatchObject([{ id, via_tenant: `${own}-renamed` }]);
      await expireDrafts(service().database, { DRAFT_DAYS: 30 });
      expect(await drafts(`${team}-renamed`)).toMatchObject([{ id }]);
    });
  },
  { AUTH: 'keys', AUTH_CACHE_SECONDS: '30' },
);

describeService('mounts with propose without authentication', (service, kind) => {
  it("collects each tenant's writes in one draft", async () => {
    const { own, team } = await tenantWithMounts(service(), { team: { access: 'propose' } });
    const run = async (tenant: string, input: object) => (await service().execute(input, { tenant })).content;
    expect(await run(own, cmd.create(file, 'x'))).toBe(CREATED);
    expect(await run(own, cmd.view(file))).toBe(content('x'));
    expect(await run(team, cmd.view('/memories/notes.md'))).toContain('does not exist');
  });

  it('rejects writes in a service without drafts', async () => {
    const { own } = await tenantWithMounts(service(), { team: { access: 'propose' } });
    const start = vi.spyOn(draftsFeature, 'start').mockResolvedValue({});
    const without = await startSharedService(kind);
    start.mockRestore();
    try {
      const { content } = await without.execute(cmd.create(file, 'x'), { tenant: own });
      expect(content).toBe(READ_ONLY);
    } finally {
      await without.close();
    }
  });
});
