/**
 * Tenants and keys from the environment, so that a deployment needs no command after its start.
 *
 * @module-tag long-on-pglite
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { applyBootstrap, loadBootstrap } from '../../src/core/tenants/initial-data.ts';
import { ALL_KEYS, hashKey, Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { post, startCli, startServer } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

const load = (bootstrap: unknown) =>
  loadBootstrap({ BOOTSTRAP: typeof bootstrap === 'string' ? bootstrap : JSON.stringify(bootstrap) });

describeServiceOnOwnDatabase('the bootstrap', (service) => {
  it('creates missing tenants and keys once, and keeps changes made after the bootstrap', async () => {
    const { key } = newApiKey();
    const service2 = newApiKey();
    const admin = newApiKey();
    const bootstrap = load({
      tenants: [
        { id: 'acme', max_files: 5, secrets: 'mask' },
        // The settings' former spelling.
        { id: 'older', maxFiles: 6 },
      ],
      keys: [
        { key, tenant: 'globex', access: 'read_only', label: 'ci' },
        { key: service2.key, service: true },
        { key: admin.key, admin: true, access: 'read_only' },
      ],
    });
    const database = service().database;
    const twice = await Promise.all([
      applyBootstrap(database, bootstrap),
      applyBootstrap(database, bootstrap),
    ]);
    const sum = twice.reduce((a, b) => ({ tenants: a.tenants + b.tenants, keys: a.keys + b.keys }));
    expect(sum).toStrictEqual({ tenants: 3, keys: 3 });
    const tenants = new Tenants(database);
    expect(await tenants.find('acme')).toMatchObject({ maxFiles: 5, secrets: 'mask', ttlDays: null });
    expect(await tenants.find('older')).toMatchObject({ maxFiles: 6 });
    const keys = new Keys(database);
    const [made] = await keys.list({ ...ALL_KEYS, tenant: 'globex' });
    expect(made).toMatchObject({ access: 'read_only', label: 'ci', expiresAt: null, isAdmin: false });
    expect(await keys.find(hashKey(service2.key))).toMatchObject({
      tenant: null,
      isAdmin: false,
      expiresInMs: null,
    });
    expect(await keys.find(hashKey(admin.key))).toMatchObject({ isAdmin: true, access: 'read_only' });

    await tenants.set('acme', { maxFiles: 9 });
    await keys.revoke(made?.id ?? '');
    expect(await applyBootstrap(database, bootstrap)).toStrictEqual({ tenants: 0, keys: 0 });
    expect(await tenants.find('acme')).toMatchObject({ maxFiles: 9 });
    expect((await keys.list({ ...ALL_KEYS, tenant: 'globex' }))[0]?.revokedAt).not.toBe(null);
  });
});

describe('an invalid bootstrap', () => {
  const { key } = newApiKey();
  const NEEDS_ONE = 'keys.0: needs one of "tenant", "service": true, and "admin": true';
  it.each([
    ['not json', 'The configuration is not valid:\n  BOOTSTRAP must be JSON'],
    [
      { tenants: [{ id: '-x' }] },
      '  BOOTSTRAP tenants.0.id: must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -, without "-" or "draft_" at the start',
    ],
    [{ tenants: [{ id: 'a', max_files: -1 }] }, 'tenants.0.max_files: '],
    [{ keys: [{ key, tenant: 'a', service: true }] }, NEEDS_ONE],
    [{ keys: [{ key, service: true, admin: true }] }, NEEDS_ONE],
    [{ keys: [{ key }] }, NEEDS_ONE],
    [
      { keys: [{ key: 'hunter2', tenant: 'a' }] },
      'keys.0.key: is not a key: create one with `memory-service keys generate`',
    ],
    [
      { keys: [{ [key]: 'a' }] },
      'BOOTSTRAP keys.0: has an unknown field (allowed: key, tenant, service, admin, manage_stores, share, access, rights, label, source)',
    ],
    [{ tenant: [] }, 'BOOTSTRAP: has an unknown field (allowed: tenants, keys)'],
    [
      { tenants: [{ id: 'a', max_file: 1 }] },
      'tenants.0: has an unknown field (allowed: id, mounts, max_file_bytes, ',
    ],
    [
      { tenants: [{ id: 'a', mounts: [{ name: 'b', tenant: 'c', mode: 'rw' }] }] },
      'tenants.0.mounts.0: has an unknown field (allowed: name, tenant, access, prefix, instructions)',
    ],
    [
      { tenants: [{ id: 'a' }], keys: [{ key, tenant: 'a', label: 'a\u0000b' }] },
      'keys.0.label: must be Unicode text without U+0000',
    ],
    [{ keys: [{ key, tenant: 'a', label: 'x'.repeat(256) }] }, 'keys.0.label: '],
  ])('rejects an invalid bootstrap: %j', (bootstrap, message) => {
    expect(() => load(bootstrap)).toThrow(message);
    try {
      load(bootstrap);
    } catch (error) {
      expect(String(error)).not.toMatch(/msk_|hunter2/);
    }
  });

  it('rejects BOOTSTRAP together with BOOTSTRAP_FILE, and a BOOTSTRAP_FILE that cannot be read', () => {
    const both = { BOOTSTRAP: '{}', BOOTSTRAP_FILE: '/x' };
    expect(() => loadBootstrap(both)).toThrow('BOOTSTRAP and BOOTSTRAP_FILE must not both be set');
    const missing = { BOOTSTRAP_FILE: '/nowhere/bootstrap.json' };
    expect(() => loadBootstrap(missing)).toThrow(
      'BOOTSTRAP_FILE /nowhere/bootstrap.json cannot be read (ENOENT)',
    );
  });
});

describe('the service with a bootstrap', { tags: 'long' }, () => {
  it('accepts a key from BOOTSTRAP_FILE and does not log it', async () => {
    const own = await createTestDatabase({ migrated: false });
    const { key } = newApiKey();
    const file = join(await mkdtemp(join(inject('scratch'), 'bootstrap-')), 'bootstrap.json');
    await writeFile(file, JSON.stringify({ keys: [{ key, tenant: 'acme' }] }));
    const env = { DATABASE_URL: own.url, AUTH: 'keys', BOOTSTRAP_FILE: file, LOG_LEVEL: 'trace' };
    const server = await startServer(env);
    await server.line(/"tenants":1,"keys":1.*created the initial tenants and keys/);
    const headers = { authorization: `Bearer ${key}` };
    expect((await post(server.url, cmd.create('/memories/a', 'x'), headers)).content).toBe(
      'File created successfully at: /memories/a',
    );
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(0);
    expect(server.output()).not.toContain(key);
    await own.drop();
  });

  it('prints the reason and exits with 1 if the bootstrap is invalid', async () => {
    const cli = startCli(['serve'], { PORT: 'x', BOOTSTRAP: '{"keys":[{"key":"hunter2","tenant":"a"}]}' });
    expect(await cli.exit).toBe(1);
    expect(cli.output()).toBe(
      'memory-service: The configuration is not valid:\n  PORT must be a whole number\n  BOOTSTRAP keys.0.key: is not a key: create one with `memory-service keys generate`',
    );
  });
});
