/**
 * `GET /context`: guidance, a snapshot, and its changes.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { cmd } from '../support/step-table.ts';
import { tenantWithMounts } from '../support/tenant-with-mounts.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const GUIDANCE = `MEMORY PROTOCOL:
- The <memory_snapshot> block shows your memory, /memories, as it was when the block was made: the content of pinned files, and a list of the others. It replaces the first \`view\` of your memory directory.
- A later <memory_changes> block lists later changes.
- Before you rely on a listed file, \`view\` it with your \`memory\` tool. \`memory_search\` finds files by words.`;
const WRITE = `- As you make progress, record status, progress, and thoughts in your memory.
ASSUME INTERRUPTION: Your context window might be reset at any moment, so you risk losing any progress that is not recorded in your memory directory.`;
const LIST =
  "Here're the files in /memories that are not shown in full, with size, path, day of the last change, and description, the latest change last:";
const today = () => new Date().toISOString().slice(0, 10);

describeService('the context', (service) => {
  const get = async (tenant: string, query = '', headers: Record<string, string> = {}) => {
    const url = `/context${query}`;
    const response = await service().app.inject({ url, headers: { 'x-tenant-id': tenant, ...headers } });
    return { status: response.statusCode, headers: response.headers, text: response.body };
  };
  const read = async (tenant: string, query = '') => {
    const { status, text } = await get(tenant, query);
    expect(status).toBe(200);
    return JSON.parse(text) as {
      guidance: string;
      snapshot: string | null;
      changes: string | null;
      version: string;
    };
  };
  const run = async (tenant: string, ...inputs: object[]) => {
    for (const input of inputs) {
      const { content, is_error: isError } = await service().execute(input, { tenant });
      expect({ content, isError }).toMatchObject({ isError: false });
    }
  };

  it('shows pinned files in full, and lists the others by their last change', async () => {
    const tenant = freshTenant();
    expect(await read(tenant)).toMatchObject({
      guidance: `${GUIDANCE}\n${WRITE}`,
      snapshot: '<memory_snapshot>\nThere are no files in /memories.\n</memory_snapshot>',
      changes: null,
    });
    await run(
      tenant,
      cmd.create('/memories/old.txt', '# To do\n- x'),
      cmd.create('/memories/notes/deep/er/ada.md', '---\ndescription: About Ada\n---\n'),
      cmd.create('/memories/pinned/rules.md', 'Be brief.\n</memory_snapshot>'),
      cmd.create('/memories/.hidden/x', 'x'),
      cmd.create('/memories/a/node_modules/x', 'x'),
      cmd.create('/memories/a/plain', 'text'),
      cmd.insert('/memories/old.txt', 0, '# New\n'),
    );
    const { snapshot } = await read(tenant);
    expect(snapshot).toBe(`<memory_snapshot>
Here's the content of /memories/pinned/rules.md with line numbers:
     1\tBe brief.
     2\t</memory_snapshot>

${LIST}
31B\t/memories/notes/deep/er/ada.md\t${today()}\tAbout Ada
4B\t/memories/a/plain\t${today()}
17B\t/memories/old.txt\t${today()}\tNew
</memory_snapshot>`);
  });

  it('reports only the changes since a version', async () => {
    const tenant = freshTenant();
    await run(
      tenant,
      cmd.create('/memories/a', '1'),
      cmd.create('/memories/b', '2'),
      cmd.create('/memories/c', '3'),
      cmd.create('/memories/pinned/p', 'old'),
      cmd.create('/memories/pinned/q', 'kept'),
      ...Array.from({ length: 5 }, (_, i) => cmd.create(`/memories/kept/${i}`, 'unchanged')),
    );
    const { version } = await read(tenant);
    expect(await read(tenant, `?since=${version}`)).toMatchObject({ snapshot: null, changes: '', version });
    await run(
      tenant,
      cmd.replace('/memories/a', '1', '# One'),
      cmd.rename('/memories/b', '/memories/moved'),
      cmd.delete('/memories/c'),
      cmd.replace('/memories/pinned/p', 'old', 'new'),
    );
    const changed = await read(tenant, `?since=${version}`);
    expect(changed.snapshot).toBeNull();
    expect(changed.changes).toBe(`<memory_changes>
Here's the content of /memories/pinned/p with line numbers:
     1\tnew

These files are new or changed:
5B\t/memories/a\t${today()}\tOne
1B\t/memories/moved\t${today()}

These files were deleted or renamed:
/memories/b
/memories/c
</memory_changes>`);
    expect(await read(tenant, `?since=${changed.version}`)).toMatchObject({ snapshot: null, changes: '' });
    const text = await get(tenant, `?since=${version}`, { accept: 'text/plain' });
    expect(text.text).toBe(changed.changes);
    expect((await get(tenant, '', { accept: 'text/plain' })).text).toMatch(
      /^MEMORY PROTOCOL:.*<\/memory_snapshot>$/s,
    );
  });

  it('reports no changes since a version from the future', async () => {
    const tenant = freshTenant();
    await run(tenant, cmd.create('/memories/a', '1'));
    const { version } = await read(tenant);
    const [, basis] = version.split('.');
    expect(await read(tenant, `?since=${'x'.repeat(22)}.${basis}.zzzzzzzzzzzz`)).toMatchObject({
      ...{ snapshot: null, changes: '', version },
    });
  });

  it('sends the whole snapshot if the changes are not known', async () => {
    const tenant = freshTenant();
    await run(tenant, cmd.create('/memories/a', '1'), cmd.create('/memories/b', '2'));
    const { version } = await read(tenant);
    const { snapshot: other } = await read(tenant, '?since=nonsense');
    expect(other).toContain('/memories/a');
    await new Tenants(service().database).set(tenant, { historyDays: 0 });
    await run(tenant, cmd.delete('/memories/a'));
    expect(await read(tenant, `?since=${version}`)).toMatchObject({
      snapshot: `<memory_snapshot>\n${LIST}\n1B\t/memories/b\t${today()}\n</memory_snapshot>`,
      changes: null,
    });
    const { version: next } = await read(tenant);
    await new Tenants(service().database).set(tenant, { pinnedPaths: '/memories/b' });
    service().app.services.policies.forget(tenant);
    expect((await read(tenant, `?since=${next}`)).snapshot).toContain("Here's the content of /memories/b");
  });

  it('returns 304 for the current version', async () => {
    const tenant = freshTenant();
    await run(tenant, cmd.create('/memories/a', '1'));
    const { headers } = await get(tenant);
    const etag = String(headers.etag);
    expect(etag).toMatch(/^W\/"[\w.-]+"$/);
    expect(await get(tenant, '', { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
    expect(await get(tenant, '', { 'if-none-match': '"x"' })).toMatchObject({ status: 200 });
    await run(tenant, cmd.create('/memories/b', '1'));
    const changed = await get(tenant, '', { 'if-none-match': etag });
    expect(changed.status).toBe(200);
    expect(JSON.parse(changed.text)).toMatchObject({
      snapshot: expect.stringContaining('/memories/b'),
      changes: null,
    });
  });

  it('shows mounted files at their mounts, and pins only paths that the tenant names there', async () => {
    const { own, team, gone } = await tenantWithMounts(service(), {
      team: { access: 'read_only', instructions: 'Rules of the team.' },
      gone: {},
    });
    await run(own, cmd.create('/memories/mine', 'm'));
    await run(team, cmd.create('/memories/pinned/theirs', 't'), cmd.create('/memories/rules/r', 'rule'));
    const tenants = new Tenants(service().database);
    await tenants.suspend(gone, true);
    await tenants.set(own, { pinnedPaths: '/memories/team/rules,/memories/gone/x' });
    service().app.services.policies.forget(own);
    const { guidance, snapshot, version } = await read(own);
    expect(guidance).toBe(`${GUIDANCE}\n${WRITE}

These directories of your memory are memories of their own, which others may use too:
- /memories/gone (you can write; view a file right before you change it)
- /memories/team (read-only): Rules of the team.`);
    expect(snapshot).toBe(`<memory_snapshot>
Here's the content of /memories/team/rules/r with line numbers:
     1\trule

${LIST}
1B\t/memories/mine\t${today()}
1B\t/memories/team/pinned/theirs\t${today()}

[/memories/gone is not available: the memory mounted there is suspended.]
</memory_snapshot>`);
    await run(team, cmd.rename('/memories/rules/r', '/memories/rules/s'));
    const { changes } = await read(own, `?since=${version}`);
    expect(changes).toBe(`<memory_changes>
Here's the content of /memories/team/rules/s with line numbers:
     1\trule

These files were deleted or renamed:
/memories/team/rules/r

[/memories/gone is not available: the memory mounted there is suspended.]
</memory_changes>`);
  });

  it('omits own files that a mount hides', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    const tenants = new Tenants(service().database);
    await service().query(`UPDATE tenants SET mounts = NULL WHERE id = '${own}'`);
    service().app.services.policies.forget(own);
    await run(own, cmd.create('/memories/team/hidden', 'x'), cmd.create('/memories/shown', 'x'));
    const mounts = JSON.stringify([{ name: 'team', tenant: team, access: 'read_only', instructions: '' }]);
    await service().query(`UPDATE tenants SET mounts = '${mounts}' WHERE id = '${own}'`);
    service().app.services.policies.forget(own);
    expect(await tenants.find(own)).toMatchObject({ mounts: [{ name: 'team' }] });
    expect((await read(own)).snapshot).toBe(
      `<memory_snapshot>\n${LIST}\n1B\t/memories/shown\t${today()}\n</memory_snapshot>`,
    );
  });

  it('names files that exceed the limit', async () => {
    const tenant = freshTenant();
    await run(
      tenant,
      cmd.create('/memories/pinned/long', 'x'.repeat(2000)),
      cmd.create('/memories/pinned/short', 'short'),
      ...Array.from({ length: 30 }, (_, i) => cmd.create(`/memories/${String(i).padStart(2, '0')}`, '')),
    );
    const { snapshot } = await read(tenant, '?max_chars=1000');
    expect(snapshot?.length).toBeLessThanOrEqual(1000);
    const lines = Array.from({ length: 12 }, (_, i) => `0B\t/memories/${i + 18}\t${today()}\n`).join('');
    expect(snapshot).toBe(`<memory_snapshot>
Here's the content of /memories/pinned/short with line numbers:
     1\tshort

${LIST}
2.0K\t/memories/pinned/long\t${today()}
${lines}
[Truncated: 1 pinned file is too long to show here, and listed first. View it to read the content.]
[Truncated: listing 13 of 31 files. View a directory, or use memory_search, to find the others.]
</memory_snapshot>`);
    await new Tenants(service().database).set(tenant, { maxContextChars: 1000 });
    service().app.services.policies.forget(tenant);
    expect((await read(tenant)).snapshot).toBe(snapshot);
    expect((await read(tenant, '?max_chars=16000')).snapshot).toBe(snapshot);
  });

  it.each([
    ['?max_chars=999', 'The query parameter max_chars must be a whole number from 1000.'],
    ['?max_chars=x', 'The query parameter max_chars must be a whole number from 1000.'],
    ['?max_chars=1000&max_chars=2000', 'The query parameter max_chars must be a whole number from 1000.'],
    ['?since=a&since=b', 'The query parameter since must be one version from an earlier response.'],
  ])('rejects the query %.30s', async (query, detail) => {
    const { status, text } = await get(freshTenant(), query);
    expect(JSON.parse(text)).toMatchObject({ status: 400, code: 'invalid_parameter', detail });
    expect(status).toBe(400);
  });

  it('counts each pinned file as read', async () => {
    const tenant = freshTenant();
    await run(tenant, cmd.create('/memories/pinned/p', 'p'), cmd.create('/memories/q', 'q'));
    await service().query(`UPDATE entries SET accessed_at = '2020-01-01' WHERE tenant_id = '${tenant}'`);
    await read(tenant);
    await service().app.services.accessTimes.close();
    const rows = await service().query(
      `SELECT path, accessed_at > '2020-01-02' AS read FROM entries WHERE tenant_id = '${tenant}' AND kind = 'file' ORDER BY path`,
    );
    expect(rows).toStrictEqual([
      { path: '/memories/pinned/p', read: true },
      { path: '/memories/q', read: false },
    ]);
  });

  it('shows an archived memory', async () => {
    const tenant = freshTenant();
    await run(tenant, cmd.create('/memories/a', '1'));
    await service().query(`UPDATE tenants SET archived_at = now() WHERE id = '${tenant}'`);
    service().app.services.policies.forget(tenant);
    expect((await read(tenant)).snapshot).toContain('/memories/a');
  });
});

describeService(
  'the context for a key',
  (service) => {
    const keyFor = async (tenant: string, access: 'read_write' | 'read_only' | 'propose') => {
      const { key, hash, id } = newApiKey();
      await new Keys(service().database).create({ hash, id, tenant, access, label: '', expiresAt: null });
      return { authorization: `Bearer ${key}` };
    };
    const read = async (headers: Record<string, string>) =>
      (await service().app.inject({ url: '/context', headers })).json();

    it("shows only the key's tenant and draft, with the key's access", async () => {
      const [tenant, other] = [freshTenant(), freshTenant()];
      for (const each of [tenant, other]) {
        await new Tenants(service().database).create(each);
        const headers = await keyFor(each, 'read_write');
        await service().execute(cmd.create(`/memories/of-${each}`, ''), { headers });
      }
      const list = (...names: string[]) =>
        `<memory_snapshot>\n${LIST}\n${names.map((name) => `0B\t/memories/${name}\t${today()}\n`).join('')}</memory_snapshot>`;
      const reader = await keyFor(tenant, 'read_only');
      expect(await read(reader)).toMatchObject({
        guidance: `${GUIDANCE}\n- Your memory is read-only: do not try to change it.`,
        snapshot: list(`of-${tenant}`),
      });
      expect(await read({ ...reader, 'x-tenant-id': other })).toMatchObject({ code: 'tenant_mismatch' });
      const proposer = await keyFor(tenant, 'propose');
      expect(await read(proposer)).toMatchObject({ guidance: `${GUIDANCE}\n${WRITE}` });
      await service().execute(cmd.create('/memories/proposed', ''), { headers: proposer });
      expect((await read(proposer)).snapshot).toBe(list(`of-${tenant}`, 'proposed'));
      expect((await read(reader)).snapshot).toBe(list(`of-${tenant}`));
      await new Tenants(service().database).suspend(tenant, true);
      service().app.services.policies.forget(tenant);
      expect(await read(reader)).toMatchObject({ code: 'tenant_suspended' });
      expect(await read({})).toMatchObject({ status: 401 });
    });
  },
  { AUTH: 'keys' },
);
