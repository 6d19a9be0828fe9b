/**
 * Searches in all tenants.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { searchTenants } from '../../src/features/search/fleet-search.ts';
import { MemorySearch } from '../../src/features/search/search.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('a search in all tenants', (service) => {
  const admin = useAdmin(service);
  const never = new AbortController().signal;
  let engine: MemorySearch;
  beforeAll(() => {
    engine = new MemorySearch();
  });
  afterAll(() => engine.close());
  const newTenant = async (files: Record<string, string>) => {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    for (const [path, text] of Object.entries(files))
      await service().execute(cmd.create(path, text), { tenant });
    return tenant;
  };
  const search = (
    query: string,
    options: { limit?: number; scope?: string[]; deadline?: AbortSignal } = {},
  ) =>
    searchTenants(
      engine,
      { database: service().database, config: loadConfig({}) },
      { query, mode: 'words', limit: 20, scope: null, signal: never, deadline: never, ...options },
    );

  it("finds files in each tenant in the key's scope, the latest changed tenant first", async () => {
    const first = await newTenant({ '/memories/a.md': 'one\nzebra stripes\nzebra\n' });
    const second = await newTenant({ '/memories/b.md': 'a zebra', '/memories/c.md': 'a horse' });
    await newTenant({});
    const inFirst = { tenant: first, path: '/memories/a.md', line: 2, text: 'zebra stripes' };
    const { matches, searched, isComplete } = await search('zebra');
    expect(matches).toStrictEqual([
      { tenant: second, path: '/memories/b.md', line: 1, text: 'a zebra' },
      inFirst,
    ]);
    expect(searched).toBeGreaterThanOrEqual(3);
    expect(isComplete).toBe(true);
    expect(await search('zebra', { scope: [first] })).toStrictEqual({
      matches: [inFirst],
      searched: 1,
      isComplete: true,
    });
  });

  it('stops when enough files are found, or the time is over', async () => {
    const tenant = await newTenant({ '/memories/a.md': 'giraffe', '/memories/b.md': 'giraffe' });
    const last = await newTenant({ '/memories/a.md': 'giraffe' });
    const { matches, isComplete } = await search('giraffe', { limit: 2 });
    expect(matches.map((match) => match.tenant)).toStrictEqual([last, tenant]);
    expect(isComplete).toBe(false);
    expect(await search('giraffe', { deadline: AbortSignal.abort() })).toStrictEqual({
      matches: [],
      searched: 0,
      isComplete: false,
    });
  });

  it('rejects an invalid expression', async () => {
    await newTenant({});
    const { signal } = new AbortController();
    const query = { query: '(a', mode: 'regex' as const, limit: 1, scope: null, signal, deadline: signal };
    const found = searchTenants(engine, { database: service().database, config: loadConfig({}) }, query);
    await expect(found).rejects.toMatchObject({ reason: 'invalid_search' });
  });

  it("searches only the tenants in an admin key's scope", async () => {
    const tenant = await newTenant({});
    const { key } = await makeKey(service(), { isAdmin: true, access: 'read_only', onlyTenants: [tenant] });
    const { status, body } = await admin().call('GET', '/search?query=any', { key });
    expect([status, body.matches]).toStrictEqual([200, []]);
    expect(body.searched).toBeLessThanOrEqual(1);
  });
});
