/**
 * `memory_search` over mounts, and the text for the system prompt.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { cmd } from '../support/step-table.ts';
import { tenantWithMounts } from '../support/tenant-with-mounts.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('a search with mounts', (service) => {
  const search = async (tenant: string, query: object) => {
    const headers = { 'x-tenant-id': tenant };
    const response = await service().app.inject({ method: 'POST', url: '/search', headers, payload: query });
    expect(response.statusCode).toBe(200);
    const { content, is_error } = response.json();
    return is_error ? `! ${content}` : content;
  };
  const write = async (tenant: string, ...paths: string[]) => {
    for (const path of paths) await service().execute(cmd.create(path, `needle in ${path}`), { tenant });
  };

  it("finds the agent's own files and mounted files, sorted by path", async () => {
    const { own, team, 'team-x': other } = await tenantWithMounts(service(), { team: {}, 'team-x': {} });
    await write(
      own,
      '/memories/a',
      '/memories/team.md',
      '/memories/team0',
      '/memories/teams/f',
      '/memories/z',
    );
    await write(team, '/memories/b', '/memories/.c/d', '/memories/é');
    await write(other, '/memories/e');
    expect(await search(own, { query: 'needle', mode: 'literal' })).toBe(
      [
        'Found 9 matches in 9 files in /memories:',
        '/memories/a:1: needle in /memories/a',
        '/memories/team-x/e:1: needle in /memories/e',
        '/memories/team.md:1: needle in /memories/team.md',
        '/memories/team/.c/d:1: needle in /memories/.c/d',
        '/memories/team/b:1: needle in /memories/b',
        '/memories/team/é:1: needle in /memories/é',
        '/memories/team0:1: needle in /memories/team0',
        '/memories/teams/f:1: needle in /memories/teams/f',
        '/memories/z:1: needle in /memories/z',
      ].join('\n'),
    );
    expect(await search(own, { query: 'needle', mode: 'literal', path: '/memories/team/' })).toBe(
      [
        'Found 3 matches in 3 files in /memories/team:',
        '/memories/team/.c/d:1: needle in /memories/.c/d',
        '/memories/team/b:1: needle in /memories/b',
        '/memories/team/é:1: needle in /memories/é',
      ].join('\n'),
    );
    expect(await search(own, { query: 'needle memories', path: '/memories/team/b' })).toBe(
      'Found 1 file in /memories/team/b, the best first:\n/memories/team/b:1: needle in /memories/b',
    );
    const best = await search(own, { query: 'needle team' });
    expect(best.split('\n').sort()).toStrictEqual([
      '/memories/a:1: needle in /memories/a',
      '/memories/team-x/e:1: needle in /memories/e',
      '/memories/team.md:1: needle in /memories/team.md',
      '/memories/team/.c/d:1: needle in /memories/.c/d',
      '/memories/team/b:1: needle in /memories/b',
      '/memories/team/é:1: needle in /memories/é',
      '/memories/team0:1: needle in /memories/team0',
      '/memories/teams/f:1: needle in /memories/teams/f',
      '/memories/z:1: needle in /memories/z',
      'Found 7 files in /memories with all of the words, and 2 with some of them, the best first:',
    ]);
    expect(await search(own, { query: 'haystack' })).toBe(
      'Nothing matches in /memories (9 files searched). Try other or fewer words, or view /memories to see what is there.',
    );
    expect(await search(own, { query: 'x', path: '/memories/team/none' })).toBe(
      '! The path /memories/team/none does not exist. Please provide a valid path.',
    );
    expect(await search(team, { query: 'needle', mode: 'literal', path: '/memories/b' })).toBe(
      'Found 1 match in 1 file in /memories/b:\n/memories/b:1: needle in /memories/b',
    );
    const empty = await tenantWithMounts(service(), { m: {} });
    expect(await search(empty.own, { query: 'x' })).toBe('There are no files in /memories.');
    expect(await search(empty.own, { query: 'x', path: '/memories/m' })).toBe(
      'There are no files in /memories/m.',
    );
  });

  it('returns the same error for an invalid search path as without mounts', async () => {
    const { own } = await tenantWithMounts(service(), { team: {} });
    for (const path of [5, ['/memories/team'], { toString: 1 }])
      expect(await search(own, { query: 'x', path })).toBe(
        '! Error: Invalid input for memory_search: `path` must be a string',
      );
  });

  it("searches all files even if a memory's files fill several pages", async () => {
    const { own, m } = await tenantWithMounts(service(), { m: {} });
    const calls = (prefix: string) =>
      Array.from({ length: 120 }, (_, i) =>
        cmd.create(`/memories/${prefix}${String(i).padStart(3, '0')}`, 'needle'),
      );
    await Promise.all(
      [...calls('a'), ...calls('z')].map((input) => service().execute(input, { tenant: own })),
    );
    await Promise.all(calls('f').map((input) => service().execute(input, { tenant: m })));
    expect(await search(own, { query: 'needle', mode: 'literal', max_results: 1 })).toBe(
      'Found 360 matches in 360 files in /memories:\n/memories/a000:1: needle\n[359 more matches. Use a more specific query, or search a directory with `path`.]',
    );
  });

  it('names the unavailable mounts in the search results, and finds files in the other mounts', async () => {
    const { own, team, gone } = await tenantWithMounts(service(), { team: {}, gone: {} });
    await write(own, '/memories/f');
    await service().query('UPDATE tenants SET suspended_at = now() WHERE id = $1', [team]);
    await new Tenants(service().database).delete(gone);
    // A reading tenant without cached policies for the mounted tenants.
    const reader = freshTenant('reader');
    const { database } = service();
    await new Tenants(database).create(reader);
    const elsewhere = freshTenant('elsewhere');
    await new Tenants(database).create(elsewhere);
    await write(elsewhere, '/memories/f');
    const mounts = [
      { name: 'gone', tenant: gone, access: 'read_only', instructions: '' },
      { name: 'team', tenant: team, access: 'read_only', instructions: '' },
    ];
    await service().query('UPDATE tenants SET mounts = $2::text::jsonb WHERE id = $1', [
      reader,
      JSON.stringify(mounts),
    ]);
    await setMount(database, reader, { name: 'own', tenant: own, access: 'read_only', instructions: '' });
    expect(await search(reader, { query: 'needle', mode: 'literal' })).toBe(
      [
        'Found 1 match in 1 file in /memories:',
        '/memories/own/f:1: needle in /memories/f',
        '[/memories/gone is not available: the memory mounted there does not exist.]',
        '[/memories/team is not available: the memory mounted there is suspended.]',
      ].join('\n'),
    );
    expect(await search(reader, { query: 'needle', path: '/memories/team' })).toMatch(
      /^! Error: \/memories\/team is not available: the memory mounted there /,
    );
    expect(await search(reader, { query: '', path: '/memories' })).toBe(
      '! Error: Invalid `query` parameter: it must not be empty',
    );
  });
});

const PROTOCOL = `IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE.
MEMORY PROTOCOL:
1. Use the \`view\` command of your \`memory\` tool to check for earlier progress.
2. ... (work on the task) ...
     - As you make progress, record status / progress / thoughts etc in your memory.
ASSUME INTERRUPTION: Your context window might be reset at any moment, so you risk losing any progress that is not recorded in your memory directory.`;

describeService('GET /instructions', (service) => {
  const get = (headers: Record<string, string>) => service().app.inject({ url: '/instructions', headers });

  it('returns the memory protocol for a tenant without mounts', async () => {
    const response = await get({ 'x-tenant-id': freshTenant() });
    expect(response.json()).toStrictEqual({ content: PROTOCOL, mounts: [] });
  });

  it('lists the mounts with their instructions in GET /instructions', async () => {
    const { own, broken } = await tenantWithMounts(service(), {
      handbook: { access: 'read_only', instructions: 'The rules.\nRead them first.' },
      team: { instructions: 'What all have learned.' },
      plain: {},
      broken: {},
    });
    await new Tenants(service().database).suspend(broken, true);
    const content = `${PROTOCOL}

These directories of your memory are memories of their own, which others may use too:
- /memories/broken (not available at the moment)
- /memories/handbook (read-only): The rules.
Read them first.
- /memories/plain (you can write; view a file right before you change it)
- /memories/team (you can write; view a file right before you change it): What all have learned.`;
    const response = await get({ 'x-tenant-id': own });
    expect(response.json()).toStrictEqual({
      content,
      mounts: [
        { path: '/memories/broken', access: 'read_write', instructions: '' },
        { path: '/memories/handbook', access: 'read_only', instructions: 'The rules.\nRead them first.' },
        { path: '/memories/plain', access: 'read_write', instructions: '' },
        { path: '/memories/team', access: 'read_write', instructions: 'What all have learned.' },
      ],
    });
    const without = await service().app.inject({
      url: '/instructions?protocol=false',
      headers: { 'x-tenant-id': own },
    });
    expect(`${PROTOCOL}\n\n${without.json().content}`).toBe(content);
    const wrong = await service().app.inject({
      url: '/instructions?protocol=no',
      headers: { 'x-tenant-id': own },
    });
    expect([wrong.statusCode, wrong.json().detail]).toStrictEqual([
      400,
      'The query parameter protocol must be true or false.',
    ]);
    const text = await get({ 'x-tenant-id': own, accept: 'text/plain' });
    expect([text.headers['content-type'], text.body]).toStrictEqual(['text/plain; charset=utf-8', content]);
  });
});

describeService(
  'GET /instructions with a key',
  (service) => {
    it('tells the agent that its key is read-only, and returns 401 for a request without a key', async () => {
      const { own } = await tenantWithMounts(service(), { team: {} });
      const { key, hash, id } = newApiKey();
      const stored = { hash, id, tenant: own, access: 'read_only', label: '', expiresAt: null } as const;
      await new Keys(service().database).create(stored);
      const headers = { authorization: `Bearer ${key}` };
      const { content } = (await service().app.inject({ url: '/instructions', headers })).json();
      expect(content).toBe(
        'Your memory is read-only: view it before doing anything else, and do not try to change it.\n\nThese directories of your memory are memories of their own, which others may use too:\n- /memories/team (read-only)',
      );
      expect((await service().app.inject({ url: '/instructions' })).statusCode).toBe(401);
    });
  },
  { AUTH: 'keys' },
);
