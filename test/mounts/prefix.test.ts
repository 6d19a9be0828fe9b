/**
 * Mounts with a prefix: nothing outside the prefix exists, for everything that agents can reach.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import type { Mount } from '../../src/core/memory/mount.ts';
import type { MemoryPath } from '../../src/core/memory/path.ts';
import { forgetTenant } from '../../src/core/tenants/forget.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { compareCalls, compareDoors, FILES, listReads, PATHS } from '../support/agent-doors.ts';
import { type KeyClient, keyClient, type RightsByPath, tenantWithFiles } from '../support/rights-client.ts';
import { cmd, type Files } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const toSeen = (path: string) => path.replace('/memories', '/memories/team');

describeService(
  'a mount with a prefix',
  (service) => {
    /** Creates a memory with files, and a client for a tenant that mounts it as `team`. */
    const mountFiles = async (files: Files, mount: Partial<Mount>, rights: RightsByPath = {}) => {
      const team = await tenantWithFiles(service(), files);
      const own = freshTenant('agent');
      await new Tenants(service().database).create(own);
      await setMount(service().database, own, {
        ...{ name: 'team', tenant: team.tenant, access: 'read_write', instructions: '' },
        ...mount,
      });
      return { team, agent: await keyClient(service(), own, rights) };
    };
    const below = (prefix: string) =>
      Object.fromEntries(
        Object.entries(FILES).filter(([path]) => path === prefix || path.startsWith(`${prefix}/`)),
      );

    const compare = async (path: string, access: Mount['access'], rights?: RightsByPath) => {
      const prefix = path as MemoryPath;
      const [all, only] = [
        await mountFiles(FILES, { prefix, access }, rights),
        await mountFiles(below(prefix), { prefix, access }, rights),
      ];
      const paths = [...PATHS, prefix, `${prefix}/new`].map(toSeen);
      const whole = (await mountFiles(below(prefix), { access }, rights)).agent;
      const { 'GET /instructions': _, 'GET /whoami': __, ...reads } = listReads(paths);
      for (const [route, each] of Object.entries(reads))
        for (const [i, read] of each.entries())
          await compareCalls([whole, only.agent], `${route} ${i}`, async (client) => {
            const result = JSON.stringify(await read(client, service()));
            return JSON.parse(result.replaceAll(`- ${toSeen(prefix)} (`, '- /memories/team ('));
          });
      await compareDoors(service(), [all.agent, only.agent], paths);
      const views = async ({ send }: KeyClient) => {
        const results = [];
        for (const file of Object.keys(FILES)) results.push((await send(cmd.view(file))).content);
        return results;
      };
      const before = await views(await tenantWithFiles(service(), FILES));
      const after = await views(all.team);
      const outside = Object.keys(FILES).map((file) => !(file in below(prefix)));
      expect(after.filter((_, i) => outside[i])).toStrictEqual(before.filter((_, i) => outside[i]));
    };

    const TITLE = 'gives the same responses as a memory with only the files at %s, with %s';
    it.each<[string, Mount['access'], RightsByPath?]>([
      ['/memories/a/b', 'read_write'],
      ['/memories/a', 'read_write', { '/memories/team/a/b': 'none', '/memories/team/h': 'read_only' }],
    ])(TITLE, { timeout: 120_000 }, compare);
    it.each<[string, Mount['access']]>([
      ['/memories/a', 'propose'],
      ['/memories/h/i', 'read_only'],
      ['/memories/a/b/f.md', 'read_write'],
      ['/memories/missing/x', 'read_write'],
    ])(TITLE, { timeout: 120_000, tags: 'long' }, compare);

    it('creates the prefix, and rejects other writes with a message that names it', async () => {
      const prefix = '/memories/a/b' as MemoryPath;
      const { agent, team } = await mountFiles({ '/memories/a/f.md': 'x' }, { prefix });
      const run = async (input: object) => (await agent.send(input)).content;
      const elsewhere =
        'Error: You cannot write to /memories/team. Write to other directories under /memories or /memories/team/a/b instead.';
      expect(await run(cmd.view('/memories/team'))).not.toContain('/memories/team/a');
      expect(await run(cmd.create('/memories/team/a/f.md', 'y'))).toBe(elsewhere);
      expect(await run(cmd.delete('/memories/team'))).toBe(elsewhere);
      expect(await run(cmd.create('/memories/team/a/b/g.md', 'y'))).toBe(
        'File created successfully at: /memories/team/a/b/g.md',
      );
      expect(await run(cmd.rename('/memories/team/a/b', '/memories/team/a/c'))).toBe(elsewhere);
      expect((await team.send(cmd.view('/memories/a/b/g.md'))).content).toContain('y');
      expect(await agent.request('GET', '/instructions')).toMatchObject({
        mounts: [{ path: '/memories/team', access: 'read_write', prefix }],
        content: expect.stringContaining('- /memories/team/a/b (you can write; view'),
      });
    });

    it('removes the prefix when the mounted tenant is forgotten', async () => {
      const { agent, team } = await mountFiles({}, { prefix: '/memories/people/ada' as MemoryPath });
      await forgetTenant(service().database, team.tenant);
      expect((await new Tenants(service().database).find(agent.tenant))?.mounts).toStrictEqual([
        expect.not.objectContaining({ prefix: expect.anything() }),
      ]);
    });

    it('keeps the error of a read-only mount, and names the prefixes of writable mounts in it', async () => {
      const prefix = '/memories/a' as MemoryPath;
      const { agent } = await mountFiles(FILES, { prefix, access: 'read_only' });
      const wiki = await tenantWithFiles(service(), {});
      await setMount(service().database, agent.tenant, {
        ...{ name: 'wiki', tenant: wiki.tenant, access: 'read_write', prefix, instructions: '' },
      });
      for (const path of ['/memories/team/a/f.md', '/memories/team/z/f.md'])
        expect((await agent.send(cmd.delete(path))).content).toBe(
          'Error: /memories/team is read-only. Write to your own directories under /memories or /memories/wiki/a instead.',
        );
    });
  },
  { AUTH: 'keys', PROVENANCE: 'on_request' },
);
