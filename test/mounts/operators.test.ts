/**
 * Mount management by operators: the admin API, the command line, and `BOOTSTRAP`.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { applyBootstrap, loadBootstrap } from '../../src/core/tenants/initial-data.ts';
import { mountStatuses } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { tenantWithMounts } from '../support/tenant-with-mounts.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('mounts in the admin API', (service) => {
  const admin = useAdmin(service);
  const tenant = async (label?: string) => {
    const id = freshTenant(label);
    await new Tenants(service().database).create(id);
    return id;
  };
  const put = (own: string, name: string, body: object, key?: string) =>
    admin().call('PUT', `/tenants/${own}/mounts/${encodeURIComponent(name)}`, { body, ...(key && { key }) });

  it('lists the mounts in the instructions for an agent', async () => {
    const [own, team, wiki] = [await tenant(), await tenant('team'), await tenant('wiki')];
    await put(own, 'team', { tenant: team, access: 'read_write', instructions: 'Ask first.' });
    await put(own, 'wiki', { tenant: wiki });
    await new Tenants(service().database).suspend(wiki, true);
    const read = async (query = '', key?: string) =>
      (await admin().call('GET', `/tenants/${own}/instructions${query}`, key ? { key } : {})).body;
    const mounts = (access: string, state: string) =>
      `These directories of your memory are memories of their own, which others may use too:
- /memories/team (${access}): Ask first.
- /memories/wiki (${state})`;
    const canWrite = 'you can write; view a file right before you change it';
    const written = await read();
    expect(String(written.content)).toMatch(
      /^IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE\.\n/,
    );
    expect(String(written.content).split('\n\n').at(-1)).toBe(
      mounts(canWrite, 'not available at the moment'),
    );
    expect(written.mounts).toStrictEqual([
      { path: '/memories/team', access: 'read_write', instructions: 'Ask first.' },
      { path: '/memories/wiki', access: 'read_only', instructions: '' },
    ]);
    expect((await read('?access=read_only')).content).toBe(
      `Your memory is read-only: view it before doing anything else, and do not try to change it.\n\n${mounts('read-only', 'not available at the moment')}`,
    );
    // A key for certain tenants does not learn other tenants' state.
    const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: [own] });
    expect(
      String((await read('', key)).content)
        .split('\n\n')
        .at(-1),
    ).toBe(mounts(canWrite, 'read-only'));
  });

  it('adds, changes, lists, and removes mounts through the admin API', async () => {
    const [own, team, wiki] = [await tenant(), await tenant('team'), await tenant('wiki')];
    const mount = { name: 'wïki', tenant: wiki, access: 'read_only', instructions: 'Read it.' };
    expect(await put(own, 'wïki', { tenant: wiki, instructions: 'Read it.' })).toMatchObject({
      status: 200,
      body: mount,
    });
    await put(own, 'team', { tenant: team, access: 'read_only' });
    const access = { access: 'read_write', prefix: '/memories/a' };
    const changed = { name: 'team', tenant: team, ...access, instructions: '' };
    expect((await put(own, 'team', { tenant: team, ...access })).body).toStrictEqual(changed);
    expect((await admin().call('GET', `/tenants/${own}/mounts`)).body).toStrictEqual({
      mounts: [
        { ...changed, status: 'ok' },
        { ...mount, status: 'ok' },
      ],
      mounted_by: [],
      more: false,
    });
    expect((await admin().call('GET', `/tenants/${own}`)).body.mounts).toStrictEqual([changed, mount]);
    expect((await admin().call('GET', `/tenants/${team}/mounts`)).body).toStrictEqual({
      mounts: [],
      more: false,
      mounted_by: [{ tenant: own, name: 'team', access: 'read_write' }],
    });
    expect((await admin().call('DELETE', `/tenants/${own}/mounts/team`)).body).toStrictEqual(changed);
    expect(problem(await admin().call('DELETE', `/tenants/${own}/mounts/team`))).toStrictEqual([
      404,
      'not_found',
      `Tenant ${own} has no mount team.`,
    ]);
    const events = await admin().call('GET', `/audit?tenant=${own}`);
    expect(
      (events.body.events as { action: string; details: object }[]).map(({ action, details }) => [
        action,
        details,
      ]),
    ).toStrictEqual([
      ['removeMount', {}],
      [
        'removeMount',
        { name: 'team', old: { tenant: team, access: 'read_write', is_partial: true }, new: null },
      ],
      [
        'setMount',
        {
          name: 'team',
          old: { tenant: team, access: 'read_only' },
          new: { tenant: team, access: 'read_write', is_partial: true },
        },
      ],
      ['setMount', { name: 'team', old: null, new: { tenant: team, access: 'read_only' } }],
      ['setMount', { name: 'wïki', old: null, new: { tenant: wiki, access: 'read_only' } }],
    ]);
  });

  it('rejects a mount with invalid input, a missing tenant, or a name that is taken', async () => {
    const [own, team] = [await tenant(), await tenant('team')];
    const invalid = 'invalid_parameter';
    expect(problem(await put(own, 'me', { tenant: own }))).toStrictEqual([
      409,
      'rejected',
      `Tenant ${own} cannot mount itself.`,
    ]);
    expect(problem(await put(own, 'x', { tenant: 'nobody' }))).toStrictEqual([
      404,
      'not_found',
      'Tenant nobody does not exist.',
    ]);
    expect(problem(await put('nobody', 'x', { tenant: team }))).toStrictEqual([
      404,
      'not_found',
      'Tenant nobody does not exist.',
    ]);
    for (const name of ['.x', 'a/b', 'node_modules', 'a\\b', 'x'.repeat(256), 'e\u0301', 'a\u200b']) {
      const { status, body } = await put(own, name, { tenant: team });
      expect([name, status, body.code]).toStrictEqual([name, 400, invalid]);
    }
    for (const body of [
      {},
      { tenant: team, access: 'write' },
      { tenant: team, more: 1 },
      { tenant: team, instructions: 'x'.repeat(4097) },
      { tenant: team, instructions: 'a\0' },
    ])
      expect((await put(own, 'x', body)).body.code).toBe(invalid);
    await service().execute(cmd.create('/memories/taken/f', ''), { tenant: own });
    expect(problem(await put(own, 'taken', { tenant: team }))).toStrictEqual([
      409,
      'rejected',
      `Tenant ${own} already has /memories/taken. Rename or delete it, or choose another name for the mount.`,
    ]);
    for (let i = 0; i < 16; i++) expect((await put(own, `m${i}`, { tenant: team })).status).toBe(200);
    expect(problem(await put(own, 'm16', { tenant: team }))).toStrictEqual([
      409,
      'rejected',
      `Tenant ${own} already has 16 mounts, the maximum.`,
    ]);
    expect((await put(own, 'm15', { tenant: team, access: 'read_write' })).status).toBe(200);
    const [row] = await service().query('SELECT jsonb_array_length(mounts) AS n FROM tenants WHERE id = $1', [
      own,
    ]);
    expect(row).toStrictEqual({ n: 16 });
  });

  it('limits a scoped key to mounts between its own tenants', async () => {
    const [own, team, foreign] = [await tenant(), await tenant('team'), await tenant('foreign')];
    const purpose = { isAdmin: true, label: '' } as const;
    const { key } = await makeKey(service(), { ...purpose, onlyTenants: [own, team] });
    const operator = await makeKey(service(), { ...purpose, access: 'operate' });
    expect((await put(own, 'team', { tenant: team }, key)).status).toBe(200);
    expect((await put(own, 'x', { tenant: foreign }, key)).body.code).toBe('outside_scope');
    expect((await put(foreign, 'x', { tenant: team }, key)).body.code).toBe('outside_scope');
    expect((await put(own, 'x', { tenant: team }, operator.key)).body.code).toBe('operate_only_key');
    await put(foreign, 'team', { tenant: team });
    const seen = await admin().call('GET', `/tenants/${team}/mounts`, { key });
    expect(seen.body.mounted_by).toStrictEqual([{ tenant: own, name: 'team', access: 'read_only' }]);
  });

  it('rejects deleting a mounted tenant without force, and keeps its mounts after a rename', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    await service().execute(cmd.create('/memories/team/f', 'x'), { tenant: own });
    expect(problem(await admin().call('DELETE', `/tenants/${team}`))).toStrictEqual([
      409,
      'rejected',
      `Tenant ${team} is mounted by ${own}. Without it, these mounts would be unavailable.`,
    ]);
    const renamed = freshTenant('renamed');
    const answer = await admin().call('POST', `/tenants/${team}/rename`, { body: { to: renamed } });
    expect([answer.status, answer.body]).toMatchObject([200, { id: renamed, mounted_by: [own] }]);
    const mount = { name: 'team', tenant: renamed, access: 'read_write', instructions: '' };
    expect((await admin().call('GET', `/tenants/${own}`)).body.mounts).toStrictEqual([mount]);
    const copy = freshTenant('copy');
    await admin().call('POST', `/tenants/${own}/copy`, { body: { to: copy } });
    expect((await admin().call('GET', `/tenants/${copy}`)).body.mounts).toStrictEqual([mount]);
    expect((await admin().call('DELETE', `/tenants/${renamed}?force=true`)).status).toBe(200);
    expect((await admin().call('GET', `/tenants/${own}/mounts`)).body.mounts).toStrictEqual([
      { ...mount, status: 'missing' },
    ]);
    // A later tenant with the same ID is a different tenant.
    await new Tenants(service().database).create(renamed);
    expect((await admin().call('GET', `/tenants/${own}/mounts`)).body.mounts).toStrictEqual([
      { ...mount, status: 'missing' },
    ]);
    expect((await service().execute(cmd.view('/memories/team/f'), { tenant: copy })).content).toBe(
      'Error: /memories/team is not available: the memory mounted there does not exist. You can still use the rest of /memories.',
    );
    expect((await admin().call('DELETE', `/tenants/${renamed}`)).status).toBe(200);
    // A copy with a mounted tenant's ID does not mount itself.
    await admin().call('POST', `/tenants/${own}/copy`, { body: { to: renamed } });
    expect((await admin().call('GET', `/tenants/${renamed}`)).body.mounts).toStrictEqual([]);
  });

  it("reports a mount's status if its tenant is suspended or its name is taken", async () => {
    const { own, a, b } = await tenantWithMounts(service(), { a: {}, b: {} });
    await new Tenants(service().database).suspend(a, true);
    await admin().call('PUT', `/tenants/${own}/file?path=/memories/b/f`, {
      body: 'x',
      type: 'text/plain',
      headers: { 'if-none-match': '*' },
    });
    const row = await new Tenants(service().database).find(own);
    const statuses = row && (await mountStatuses(service().database, row));
    expect(statuses?.map(({ tenant, status }) => [tenant, status])).toStrictEqual([
      [a, 'suspended'],
      [b, 'name_taken'],
    ]);
  });
});

describeService('the commands for mounts', (service) => {
  const run = (...args: string[]) => runOn(service(), args);

  it('mounts and unmounts a tenant, and lists mounts, on the command line', async () => {
    const [own, team] = [freshTenant('own'), freshTenant('team')];
    for (const id of [own, team]) await run('tenants', 'create', id);
    expect(await run('tenants', 'mount', own, team, '--instructions', 'Shared.\nBy all.')).toStrictEqual({
      code: 0,
      stdout: `Mounted tenant ${team} as /memories/${team} of tenant ${own}. It takes effect within AUTH_CACHE_SECONDS.\n`,
      stderr: '',
    });
    const options = ['--name', 'x', '--access', 'read_write', '--prefix', '/memories/a/'];
    expect((await run('tenants', 'mount', own, team, ...options)).code).toBe(0);
    const listed = await run('tenants', 'mounts', own);
    expect(listed.stdout.split('\n').map((line) => line.split(/ {2,}/))).toStrictEqual([
      ['DIRECTORY', 'TENANT', 'ACCESS', 'PREFIX', 'STATUS', 'INSTRUCTIONS'],
      [`/memories/${team}`, team, 'read_only', '-', 'ok', 'Shared.'],
      ['/memories/x', team, 'read_write', '/memories/a', 'ok', '-'],
      [''],
    ]);
    expect(JSON.parse((await run('tenants', 'mounts', team, '--json')).stdout)).toStrictEqual({
      mounts: [],
      more: false,
      mounted_by: [
        { tenant: own, name: team, access: 'read_only' },
        { tenant: own, name: 'x', access: 'read_write' },
      ],
    });
    expect((await run('tenants', 'mounts', team)).stdout).toMatch(/^MOUNTED BY +AS +ACCESS\n/m);
    expect((await run('tenants', 'show', own)).stdout).toMatch(/^mounts +team-\d+, x$/m);
    expect((await run('tenants', 'unmount', own, 'x')).stdout).toBe(
      `Unmounted tenant ${team} from tenant ${own}. It takes effect within AUTH_CACHE_SECONDS.\n`,
    );
    expect((await run('tenants', 'unmount', own, 'x')).stderr).toBe(
      `memory-service: Tenant ${own} has no mount x. See: memory-service tenants mounts ${own}\n`,
    );
    expect((await run('tenants', 'mount', own, team, '--name', '.x')).stderr).toContain(
      "error: --name cannot be '.x'.",
    );
    expect((await run('tenants', 'mount', own, '.x')).stderr).toContain(
      "error: the ID .x cannot be the directory's name; choose one with --name\n",
    );
    expect((await run('tenants', 'delete', team, '--yes')).stderr).toBe(
      `memory-service: Tenant ${team} is mounted by ${own}. Without it, these mounts would be unavailable. Unmount it there first, or add --force.\n`,
    );
    expect((await run('tenants', 'delete', team, '--yes', '--force')).code).toBe(0);
  });

  it('names the mounting tenants when a mounted tenant is renamed', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    const [second, third] = [freshTenant('second'), freshTenant('third')];
    expect((await run('tenants', 'rename', team, second)).stdout).toBe(
      `Renamed tenant ${team} to ${second}: 0 files (0 bytes), 0 keys. Keys work for the new ID at once.\nIt is mounted by ${own}, whose mounts show it as before.\n`,
    );
    const { stdout } = await run('tenants', 'rename', second, third, '--json');
    expect(JSON.parse(stdout).mounted_by).toStrictEqual([own]);
  });

  it('shows the mounting tenant in the log if a change was made through a mount', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    await service().execute(cmd.create('/memories/team/f', 'x'), { tenant: own });
    expect((await run('log', team)).stdout).toContain('  anonymous via agent…  /memories/f\n');
    const { id, via_tenant } = JSON.parse((await run('log', team, '--json')).stdout);
    expect(via_tenant).toBe(own);
    expect((await run('show', team, id)).stdout).toMatch(new RegExp(`^via +${own}$`, 'm'));
  });
});

describeService('BOOTSTRAP with mounts', (service) => {
  const load = (bootstrap: object) => loadBootstrap(loadConfig({ BOOTSTRAP: JSON.stringify(bootstrap) }));

  it("creates mounts only for new tenants, and leaves existing tenants' mounts unchanged", async () => {
    const [own, team] = [freshTenant('own'), freshTenant('team')];
    const bootstrap = load({
      tenants: [
        { id: own, mounts: [{ name: 'team', tenant: team, access: 'read_write' }] },
        { id: team, max_files: 5 },
      ],
    });
    const { database } = service();
    const mount = { name: 'team', tenant: team, access: 'read_write', instructions: '' };
    for (const changed of [[mount], []]) {
      await applyBootstrap(database, bootstrap);
      expect(await new Tenants(database).find(own)).toMatchObject({ mounts: changed });
      await service().query('UPDATE tenants SET mounts = NULL WHERE id = $1', [own]);
    }
    expect(await new Tenants(database).find(team)).toMatchObject({ mounts: [], maxFiles: 5 });
  });

  it('explains an invalid mount, and creates no tenant if a mount is invalid', async () => {
    const own = freshTenant('own');
    const mounts = (...names: string[]) => names.map((name) => ({ name, tenant: 'nobody' }));
    await expect(
      applyBootstrap(service().database, load({ tenants: [{ id: own, mounts: mounts('team') }] })),
    ).rejects.toThrow(
      `The configuration is not valid:\n  BOOTSTRAP: tenant ${own} mounts nobody as team, and there is no such tenant`,
    );
    expect(await new Tenants(service().database).find(own)).toBeUndefined();
    expect(() => load({ tenants: [{ id: own, mounts: mounts('a', 'a') }] })).toThrow(
      'tenants.0.mounts: has a name more than once',
    );
    expect(() => load({ tenants: [{ id: 'nobody', mounts: mounts('a') }] })).toThrow(
      'tenants.0: mounts itself',
    );
    expect(() => load({ tenants: [{ id: own, mounts: mounts('.a') }] })).toThrow(
      'tenants.0.mounts.0.name: must be',
    );
  });
});
