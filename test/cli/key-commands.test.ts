/**
 * The commands for keys and for tenant descriptions.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { runOn } from '../support/run-program.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService(
  'the commands for keys',
  (service) => {
    const run = (...args: string[]) => runOn(service(), args);
    const json = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect([code, stderr]).toStrictEqual([0, expect.any(String)]);
      return JSON.parse(stdout);
    };
    const tenant = async () => {
      const id = freshTenant('cli-keys');
      expect((await run('tenants', 'create', id)).code).toBe(0);
      return id;
    };

    it('shows a key, changes its label and expiry, and rotates it', async () => {
      const id = await tenant();
      const made = await json('keys', 'create', '--tenant', id, '--label', 'worker');
      expect((await run('keys', 'update', made.id, '--label', 'batch', '--expires', '90d')).stdout).toBe(
        `Changed key ${made.id}. It takes effect within AUTH_CACHE_SECONDS.\n`,
      );
      const rotated = await run('keys', 'rotate', made.id, '--overlap', '1h');
      expect(rotated.stderr).toContain(`Rotated key ${made.id}. The new secret cannot be shown again:\n`);
      expect(rotated.stdout).toMatch(/^msk_[A-Za-z0-9_-]{49}\n$/);
      expect(rotated.stdout).not.toContain(made.key);
      expect(await json('keys', 'show', made.id)).toMatchObject({
        id: made.id,
        tenant: id,
        kind: 'tenant',
        label: 'batch',
        tenants: null,
        expires_at: expect.any(String),
        previous: { expires_at: expect.any(String), last_used_at: null },
      });
      expect((await run('keys', 'show', made.id)).stdout).toMatch(/^previous secret until +\d{4}-/m);
      expect((await run('keys', 'update', made.id, '--expires', 'never')).code).toBe(0);
      expect((await json('keys', 'show', made.id)).expires_at).toBeNull();
      const events = await run('audit', '--key', made.id, '--json');
      const changes = events.stdout
        .trim()
        .split('\n')
        .map((line): { action: string; tenant: string } => JSON.parse(line));
      expect(changes.map(({ action, tenant: of }) => [action, of])).toStrictEqual([
        ['updateKey', id],
        ['rotateKey', id],
        ['updateKey', id],
        ['createKey', id],
      ]);
      expect((await run('keys', 'update', made.id)).code).toBe(2);
      expect((await run('keys', 'rotate', made.id, '--overlap', '8d')).code).toBe(2);
      expect((await run('keys', 'rotate', 'key_none')).stderr).toContain(
        'Key key_none does not exist or is already revoked.',
      );
    });

    it('creates a key with rights by path, shows them, and replaces and removes them', async () => {
      const id = await tenant();
      const given = ['--right', '/memories/z=none', '--right', '/memories/a=b=read_only'];
      const made = await json('keys', 'create', '--tenant', id, ...given);
      expect(made.rights).toStrictEqual([
        { path: '/memories/a=b', access: 'read_only' },
        { path: '/memories/z', access: 'none' },
      ]);
      expect((await run('keys', 'show', made.id)).stdout).toMatch(/^right +read_only for \/memories\/a=b$/m);
      const update = (...options: string[]) => run('keys', 'update', made.id, ...options);
      const rights = async () => (await json('keys', 'show', made.id)).rights;
      expect((await update('--right', '/memories=read_only')).code).toBe(0);
      expect(await rights()).toStrictEqual([{ path: '/memories', access: 'read_only' }]);
      expect((await update('--remove-rights')).code).toBe(0);
      expect(await rights()).toStrictEqual([]);
      const wrong = [
        await update('--right', '/etc=none'),
        await update('--right', '/memories/a=all'),
        await update('--right', '/memories/a=none', '--remove-rights'),
      ];
      expect(wrong.map(({ code }) => code)).toStrictEqual([2, 2, 2]);
      expect((await run('keys', 'create', '--admin', '--right', '/memories=none')).code).toBe(1);
    });

    it('creates admin keys with limited access, and lists keys by kind, status, and label', async () => {
      const [a, b] = [await tenant(), await tenant()];
      const label = `support ${a}`;
      const scoped = ['--access', 'operate', '--only-tenants', `${a},${b}`, '--label', label];
      const { id } = await json('keys', 'create', '--admin', ...scoped);
      expect((await run('keys', 'create', '--service', ...scoped)).stderr).toContain(
        'error: --only-tenants and --access operate require --admin',
      );
      const list = async (...args: string[]) =>
        ((await json('keys', 'list', ...args)) as { id: string }[]).map((each) => each.id);
      expect(await json('keys', 'list', '--search', label.toUpperCase())).toMatchObject([
        { id, kind: 'admin', access: 'operate', tenants: [a, b] },
      ]);
      expect(await list('--search', label, '--kind', 'service')).toStrictEqual([]);
      expect(await list('--search', label, '--status', 'active')).toStrictEqual([id]);
      await run('keys', 'revoke', id);
      expect(await list('--search', label, '--status', 'revoked', '--kind', 'admin')).toStrictEqual([id]);
      expect(await list('--search', label, '--status', 'active')).toStrictEqual([]);
    });

    it('revokes all active keys with a label, but several only after a confirmation', async () => {
      const id = await tenant();
      const create = (label: string) => json('keys', 'create', '--tenant', id, '--label', label);
      const label = `crawler ${id}`;
      const first = (await create(label)).id;
      const similar = (await create(`${label} 2`)).id;
      expect((await run('keys', 'revoke', '--label', label)).stdout).toBe(
        `Revoked key ${first}. It stops working everywhere within AUTH_CACHE_SECONDS.\n`,
      );
      const again = await run('keys', 'revoke', '--label', label);
      expect([again.code, again.stderr]).toStrictEqual([
        1,
        'memory-service: No active key has this label. See: memory-service keys list\n',
      ]);
      const two = [(await create(label)).id, (await create(label)).id];
      const asked = await run('keys', 'revoke', '--label', label);
      expect([asked.code, asked.stdout, asked.stderr]).toStrictEqual([
        1,
        '',
        expect.stringContaining('Add --yes to confirm. No key was revoked.'),
      ]);
      const revoked = await run('keys', 'revoke', '--label', label, '--yes');
      expect(revoked.stdout.match(/key_\w+/g)?.sort()).toStrictEqual(two.sort());
      const active = await json('keys', 'list', '--search', label, '--status', 'active');
      expect(active.map((key: { id: string }) => key.id)).toStrictEqual([similar]);
      expect((await run('keys', 'revoke')).code).toBe(2);
      expect((await run('keys', 'revoke', first, '--label', label)).code).toBe(2);
    });

    it("sets and shows a tenant's name, description, and metadata", async () => {
      const id = freshTenant('cli-described');
      await run(
        'tenants',
        'create',
        id,
        '--name',
        'Acme Inc.',
        '--metadata',
        'plan=pro',
        '--metadata',
        'myKey=1',
      );
      expect((await run('tenants', 'set', id, '--description', 'Notes', '--metadata', 'plan=')).code).toBe(0);
      expect(await json('tenants', 'show', id)).toMatchObject({
        name: 'Acme Inc.',
        description: 'Notes',
        metadata: { myKey: '1' },
      });
      expect((await run('tenants', 'show', id)).stdout).toMatch(/^metadata myKey +1$/m);
      const usage = await run('tenants', 'set', id, '--metadata', 'plan');
      expect([usage.code, usage.stderr]).toStrictEqual([2, expect.stringContaining('such as plan=pro.')]);
    });
  },
  { AUTH: 'keys' },
);
