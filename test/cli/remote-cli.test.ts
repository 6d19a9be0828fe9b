/**
 * The command line through the admin API: the same output and exit codes as on the database.
 *
 * @module-tag long-on-pglite
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('the command line through the admin API', (service) => {
  const admin = useAdmin(service);
  let url: string;
  beforeAll(async () => {
    url = await admin().app.listen({ port: 0, host: '127.0.0.1' });
  });
  const runOnDatabase = (...args: string[]) => runOn(service(), args);
  const runRemotely = (...args: string[]) => runOn(service(), args, { admin: { url, key: admin().key.key } });

  const twoTenants = async () => {
    const [tenant, mounted] = [freshTenant(), freshTenant()];
    for (const id of [tenant, mounted]) await runOnDatabase('tenants', 'create', id);
    return { tenant, mounted };
  };

  it('mounts a tenant, lists its mounts, and unmounts it', async () => {
    const { tenant, mounted } = await twoTenants();
    expect(await runRemotely('tenants', 'mount', tenant, mounted, '--name', 'team')).toStrictEqual({
      code: 0,
      stdout: `Mounted tenant ${mounted} as /memories/team of tenant ${tenant}. It takes effect within AUTH_CACHE_SECONDS.\n`,
      stderr: '',
    });
    for (const args of [
      ['tenants', 'mounts', tenant],
      ['tenants', 'mounts', mounted, '--json'],
    ]) {
      const { code, stdout } = await runOnDatabase(...args);
      expect(await runRemotely(...args)).toMatchObject({ code, stdout });
    }
    expect((await runRemotely('tenants', 'unmount', tenant, 'team')).code).toBe(0);
  });

  const expectSameOutput = async (...args: string[]) => {
    const { code, stdout } = await runOnDatabase(...args);
    expect([args, await runRemotely(...args)]).toMatchObject([args, { code, stdout }]);
  };

  it('creates, changes, lists, copies, renames, suspends, and deletes tenants', async () => {
    const [tenant, copy, renamed] = [freshTenant('remote'), freshTenant('remote'), freshTenant('remote')];
    const done = async (args: string[], stdout: string) =>
      expect(await runRemotely(...args)).toStrictEqual({ code: 0, stdout, stderr: '' });
    const settings = ['--max-files', '7', '--metadata', 'plan=pro'];
    await done(['tenants', 'create', tenant, ...settings], `Created tenant ${tenant}.\n`);
    await done(
      ['tenants', 'set', tenant, '--max-files', 'default', '--name', 'Acme'],
      `Changed tenant ${tenant}. It takes effect within AUTH_CACHE_SECONDS.\n`,
    );
    await done(['tenants', 'copy', tenant, copy], `Copied tenant ${tenant} to ${copy}: 0 files (0 bytes).\n`);
    await runRemotely('keys', 'create', '--tenant', copy);
    await done(
      ['tenants', 'rename', copy, renamed],
      `Renamed tenant ${copy} to ${renamed}: 0 files (0 bytes), 1 key. Keys work for the new ID at once.\n`,
    );
    await done(
      ['tenants', 'suspend', renamed],
      `Suspended tenant ${renamed}. It takes effect within AUTH_CACHE_SECONDS.\n`,
    );
    await expectSameOutput('tenants', 'list', '--prefix', tenant);
    await expectSameOutput('tenants', 'list', '--prefix', tenant, '--json', '--sort', 'activity');
    await expectSameOutput('tenants', 'list', '--prefix', tenant.toUpperCase(), '--status', 'suspended');
    await expectSameOutput(
      'tenants',
      'list',
      '--metadata',
      'plan=pro',
      '--status',
      'active',
      '--search',
      tenant,
    );
    await expectSameOutput('tenants', 'show', renamed, '--json');
    await done(
      ['tenants', 'resume', renamed],
      `Resumed tenant ${renamed}. It takes effect within AUTH_CACHE_SECONDS.\n`,
    );
    expect((await runRemotely('tenants', 'delete', renamed)).stderr).toBe(
      `memory-service: Permanently delete tenant ${renamed} with 0 files (0 bytes)? Add --yes to confirm. Nothing was deleted.\n`,
    );
    expect((await runRemotely('tenants', 'delete', renamed, '--yes')).stdout).toMatch(
      /^Deleted tenant .*: 1 row of tenants, 0 rows of entries, .* 1 row of api_keys\.\n$/,
    );
    await expectSameOutput('tenants', 'delete', renamed, '--yes');
  });

  it("accepts --url after the command's name", async () => {
    const { tenant } = await twoTenants();
    const variables = { MEMORY_ADMIN_KEY: admin().key.key };
    const shown = await runOn(service(), ['tenants', 'show', tenant, '--url', url, '--json'], { variables });
    expect([shown.code, JSON.parse(shown.stdout).id]).toStrictEqual([0, tenant]);
    const missing = await runOn(service(), ['tenants', 'show', tenant, '--url'], { variables });
    expect(missing.code).toBe(2);
  });

  it('names the variable for the key if the key is missing or invalid', async () => {
    const list = (variables: object) =>
      runOn(service(), ['tenants', 'list'], { variables: { MEMORY_ADMIN_URL: url, ...variables } });
    expect(await list({})).toMatchObject({
      code: 1,
      stderr: `memory-service: The admin API at ${url} requires an admin key. Set MEMORY_ADMIN_KEY, or "key" in the profile.\n`,
    });
    expect(await list({ MEMORY_ADMIN_KEY: 'msk_unknown' })).toMatchObject({
      code: 1,
      stderr: `memory-service: The admin API at ${url} does not accept the admin key: it is unknown, expired, or revoked. Change MEMORY_ADMIN_KEY, or "key" in the profile.\n`,
    });
  });

  it("suggests the admin API's port if the URL has the port for agents", async () => {
    const agents = await service().app.listen({ port: 0, host: '127.0.0.1' });
    const variables = { MEMORY_ADMIN_URL: agents, MEMORY_ADMIN_KEY: admin().key.key };
    for (const args of [
      ['tenants', 'list'],
      ['find', '--all', 'x'],
    ])
      expect(await runOn(service(), args, { variables })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          'this may be the port for agents (PORT). Use the URL of the admin API (ADMIN_PORT).\n',
        ),
      });
  });

  it('archives a tenant after a confirmation', async () => {
    const { tenant } = await twoTenants();
    expect((await runRemotely('tenants', 'archive', tenant)).stderr).toBe(
      `memory-service: Archive tenant ${tenant} permanently? Add --yes to confirm. The tenant is unchanged.\n`,
    );
    for (let times = 0; times < 2; times++)
      expect(await runRemotely('tenants', 'archive', tenant, '--yes')).toStrictEqual({
        code: 0,
        stdout: `Archived tenant ${tenant}.\n`,
        stderr: '',
      });
    expect(
      (await runOnDatabase('tenants', 'list', '--prefix', tenant, '--status', 'archived')).stdout,
    ).toContain(tenant);
    expect((await runRemotely('tenants', 'set', tenant, '--name', 'Acme')).stderr).toContain('is archived');
    await expectSameOutput('tenants', 'archive', 'no-such-tenant', '--yes');
  });

  it('marks settings that a tenant inherits from the service', async () => {
    const { tenant } = await twoTenants();
    const { stdout, stderr } = await runRemotely('tenants', 'show', tenant);
    expect(stdout).toMatch(/^max_files +10000 +service$/m);
    expect(stderr).toBe('');
  });

  it('creates, shows, changes, rotates, lists, and revokes keys', async () => {
    const { tenant } = await twoTenants();
    const created = await runRemotely('keys', 'create', '--tenant', tenant, '--label', 'worker', '--json');
    const { id } = JSON.parse(created.stdout);
    expect((await runRemotely('keys', 'update', id, '--label', 'batch')).stdout).toBe(
      `Changed key ${id}. It takes effect within AUTH_CACHE_SECONDS.\n`,
    );
    expect((await runRemotely('keys', 'rotate', id, '--overlap', '1h')).stdout).toMatch(
      /^msk_[A-Za-z0-9_-]{49}\n$/,
    );
    await expectSameOutput('keys', 'show', id);
    await expectSameOutput('keys', 'list', '--tenant', tenant, '--json');
    expect(await runRemotely('keys', 'revoke', id)).toStrictEqual({
      code: 0,
      stdout: `Revoked key ${id}. It stops working everywhere within AUTH_CACHE_SECONDS.\n`,
      stderr: '',
    });
    await expectSameOutput('keys', 'revoke', id);
    expect((await runRemotely('keys', 'generate')).stdout).toMatch(/^msk_/);
    const invalid = await runRemotely('keys', 'create', '--admin', '--only-tenants', freshTenant('nobody'));
    expect([invalid.code, invalid.stderr]).toStrictEqual([
      1,
      expect.stringContaining('See: memory-service tenants list'),
    ]);
  });

  it('lists keys from all pages', async () => {
    const { tenant } = await twoTenants();
    await service().query(
      `INSERT INTO api_keys (hash, id, tenant_id, access, label)
       SELECT $1 || i, $1 || i, $1, 'read_write', '' FROM generate_series(1, 450) AS i`,
      [tenant],
    );
    const { stdout } = await runRemotely('keys', 'list', '--tenant', tenant, '--json');
    expect(new Set(JSON.parse(stdout).map(({ id }: { id: string }) => id)).size).toBe(450);
  });

  it('shows usage and audit events with the same output as directly on the database', async () => {
    const { tenant } = await twoTenants();
    await expectSameOutput('usage', tenant);
    await expectSameOutput('usage', tenant, '--json');
    await expectSameOutput('usage', tenant, '--days', '30');
    await expectSameOutput('usage', '--days', '30', '--json');
    expect((await runRemotely('usage')).stdout).toMatch(/^TENANTS {2}FILES +SIZE /);
    await runRemotely('tenants', 'suspend', tenant);
    await expectSameOutput('audit', '--tenant', tenant);
    await expectSameOutput('audit', '--tenant', tenant, '--limit', '1', '--json', '--since', '1h');
    const [last] = (await runRemotely('audit', '--tenant', tenant, '--json')).stdout.split('\n');
    expect(JSON.parse(String(last))).toMatchObject({
      action: 'suspendTenant',
      channel: 'admin_api',
      actor: { type: 'admin_key', id: admin().key.id },
    });
  });

  it('prints the same error message and hint as directly on the database', async () => {
    const { tenant } = await twoTenants();
    for (const args of [
      ['tenants', 'unmount', tenant, 'nowhere'],
      ['tenants', 'mounts', 'no-such-tenant'],
    ]) {
      const { code, stderr } = await runOnDatabase(...args);
      expect(stderr).toMatch(/See: memory-service tenants/);
      expect(await runRemotely(...args)).toMatchObject({ code, stderr });
    }
  });

  describe('a command failure through the admin API', () => {
    it('explains that a command works only directly on the database', async () => {
      expect(await runRemotely('migrate')).toStrictEqual({
        code: 1,
        stdout: '',
        stderr:
          'memory-service: This command works on the database. Leave out --url, --profile, MEMORY_ADMIN_URL and MEMORY_PROFILE, and set DATABASE_URL or DATA_DIR.\n',
      });
    });

    it('explains that a key is rejected or that an address cannot be reached', async () => {
      const call = (base: string, key = admin().key.key) =>
        runOn(service(), ['tenants', 'mounts', 'acme'], { admin: { url: base, key } });
      expect((await call(url, 'wrong')).stderr).toContain('memory-service: ');
      expect((await call(url, 'wrong')).code).toBe(1);
      expect((await call('http://127.0.0.1:2')).stderr).toBe(
        'memory-service: The admin API at http://127.0.0.1:2 cannot be reached: ECONNREFUSED.\n',
      );
      expect((await runOn(service(), ['--url', 'ftp://x', 'tenants', 'list'])).code).toBe(2);
    });
  });
});
