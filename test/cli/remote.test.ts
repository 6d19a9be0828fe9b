/** The command line through the admin API: the same output and exit codes as on the database. */
import { beforeAll, describe, expect, it } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { runOn } from '../support/program.ts';
import { describeService, freshTenant } from '../support/service.ts';

describeService('the command line through the admin API', (service) => {
  const admin = useAdmin(service);
  let url: string;
  beforeAll(async () => {
    url = await admin().app.listen({ port: 0, host: '127.0.0.1' });
  });
  const onDatabase = (...args: string[]) => runOn(service(), args);
  const remotely = (...args: string[]) => runOn(service(), args, { admin: { url, key: admin().key.key } });

  const twoTenants = async () => {
    const [tenant, mounted] = [freshTenant(), freshTenant()];
    for (const id of [tenant, mounted]) await onDatabase('tenants', 'create', id);
    return { tenant, mounted };
  };

  it('mounts, lists, and unmounts', async () => {
    const { tenant, mounted } = await twoTenants();
    expect(await remotely('tenants', 'mount', tenant, mounted, '--name', 'team')).toStrictEqual({
      code: 0,
      stdout: `Mounted tenant ${mounted} as /memories/team of tenant ${tenant}. It takes effect within AUTH_CACHE_SECONDS.\n`,
      stderr: '',
    });
    for (const args of [
      ['tenants', 'mounts', tenant],
      ['tenants', 'mounts', mounted, '--json'],
    ]) {
      const { code, stdout } = await onDatabase(...args);
      expect(await remotely(...args)).toMatchObject({ code, stdout });
    }
    expect((await remotely('tenants', 'unmount', tenant, 'team')).code).toBe(0);
  });

  it('prints the message and the hint of an error', async () => {
    const { tenant } = await twoTenants();
    for (const args of [
      ['tenants', 'unmount', tenant, 'nowhere'],
      ['tenants', 'mounts', 'no-such-tenant'],
    ]) {
      const { code, stderr } = await onDatabase(...args);
      expect(stderr).toMatch(/See: memory-service tenants/);
      expect(await remotely(...args)).toMatchObject({ code, stderr });
    }
  });

  describe('without success', () => {
    it('says that a command needs the database', async () => {
      expect(await remotely('expire')).toStrictEqual({
        code: 1,
        stdout: '',
        stderr:
          'memory-service: This command works on the database. Leave out --url, --profile, MEMORY_ADMIN_URL and MEMORY_PROFILE, and set DATABASE_URL or DATA_DIR.\n',
      });
    });

    it('says why the admin API rejected the key, cannot be reached, or is something else', async () => {
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
