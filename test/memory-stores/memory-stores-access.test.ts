/** @module-tag long-on-pglite */
import { beforeAll, expect, it } from 'vitest';
import { expectError, readAll, sdk, storeKey } from '../support/memory-stores.ts';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';

describeService(
  'access to memory stores',
  (service) => {
    const keys = { manager: '', service: '', reader: '', tenant: '', tenantReader: '' };
    let id = '';
    const storesWithKey = (key: string) => sdk(service(), key).beta.memoryStores;
    beforeAll(async () => {
      keys.manager = await storeKey(service());
      ({ id } = await storesWithKey(keys.manager).create({ name: 'x' }));
      keys.service = await storeKey(service(), { managesStores: false });
      keys.reader = await storeKey(service(), { managesStores: false, access: 'read_only' });
      keys.tenant = await storeKey(service(), { managesStores: false, tenant: id });
      keys.tenantReader = await storeKey(service(), {
        managesStores: false,
        tenant: id,
        access: 'read_only',
      });
    });

    it('requires a key with --manage-stores to change stores and to redact versions', async () => {
      for (const key of [keys.service, keys.tenant, keys.reader]) {
        const stores = storesWithKey(key);
        const calls = [
          () => stores.create({ name: 'y' }),
          () => stores.update(id, { name: 'y' }),
          () => stores.archive(id),
          () => stores.delete(id),
          () => stores.memoryVersions.redact('memver_0', { memory_store_id: id }),
        ];
        for (const call of calls) {
          const { apiMessage } = await expectError(call(), 403, 'permission_error');
          expect(apiMessage).toBe(
            'This requires a key that manages stores: memory-service keys create --service --manage-stores',
          );
        }
      }
      expect(await storesWithKey(keys.manager).retrieve(id)).toMatchObject({ name: 'x', archived_at: null });
    });

    it('lets a service key write to every store, and lets a read-only key only read', async () => {
      const memory = await storesWithKey(keys.service).memories.create(id, { path: '/a', content: 'x' });
      const of = { memory_store_id: id };
      for (const key of [keys.reader, keys.tenantReader]) {
        const { memories, memoryVersions } = storesWithKey(key);
        expect(await memories.retrieve(memory.id, of)).toMatchObject({ content: 'x' });
        expect((await readAll(memoryVersions.list(id))).length).toBeGreaterThan(0);
        await expectError(memories.create(id, { path: '/b', content: '' }), 403, 'permission_error');
        await expectError(memories.update(memory.id, { ...of, content: '' }), 403, 'permission_error');
        await expectError(memories.delete(memory.id, of), 403, 'permission_error');
      }
      await storesWithKey(keys.tenant).memories.delete(memory.id, of);
    });

    it('rejects a request whose anthropic-beta header names two API versions', async () => {
      const betas = (value: string) => ({ headers: { 'anthropic-beta': value } });
      const both = await expectError(
        storesWithKey(keys.manager).retrieve(id, { betas: ['managed-agents-2026-04-01'] }),
        400,
        'invalid_request_error',
      );
      expect(both.apiMessage).toBe(
        'anthropic-beta: it has both agent-memory-2026-07-22 and managed-agents-2026-04-01. Remove one of them: either gives this API.',
      );
      const spaced = betas('managed-agents-2026-04-01 , other-2026-01-01,agent-memory-2026-07-22');
      await expectError(
        storesWithKey(keys.manager).create({ name: 'y' }, spaced),
        400,
        'invalid_request_error',
      );
      await expectError(storesWithKey('msk_wrong').retrieve(id, {}, spaced), 401, 'authentication_error');
      for (const one of [
        'agent-memory-2026-07-22',
        'managed-agents-2026-04-01,agent-memory-2026-07-23',
        'no-agent-memory-2026-07-22,managed-agents-2026-04-01',
        '',
      ])
        expect((await storesWithKey(keys.manager).retrieve(id, {}, betas(one))).id).toBe(id);
    });

    it('limits a tenant key to its own store', async () => {
      const other = await storesWithKey(keys.manager).create({ name: 'other' });
      const { memories, ...stores } = storesWithKey(keys.tenant);
      expect((await readAll(storesWithKey(keys.tenant).list())).map((store) => store.id)).toStrictEqual([id]);
      expect((await readAll(storesWithKey(keys.service).list())).map((store) => store.id)).toContain(
        other.id,
      );
      expect(stores).toBeDefined();
      await expectError(storesWithKey(keys.tenant).retrieve(other.id), 404, 'not_found_error');
      await expectError(memories.create(other.id, { path: '/a', content: '' }), 404, 'not_found_error');
      await expectError(memories.list(other.id), 404, 'not_found_error');
    });

    it('selects the store by the URL, and ignores the x-tenant-id header', async () => {
      const client = sdk(service(), keys.service, { defaultHeaders: { 'x-tenant-id': 'another' } });
      expect(await client.beta.memoryStores.retrieve(id)).toMatchObject({ id });
    });

    it('rejects an admin key and an unknown key', async () => {
      const admin = await storeKey(service(), { isAdmin: true, managesStores: false });
      await expectError(storesWithKey(admin).list(), 403, 'permission_error');
      await expectError(storesWithKey('msk_wrong').list(), 401, 'authentication_error');
    });

    it('records the key that made each version, and filters versions by key', async () => {
      const made = await storesWithKey(keys.manager).create({ name: 'x' });
      await storesWithKey(keys.service).memories.create(made.id, { path: '/a', content: 'x' });
      await storesWithKey(keys.manager).memories.create(made.id, { path: '/b', content: 'x' });
      const [b, a] = await readAll(storesWithKey(keys.manager).memoryVersions.list(made.id));
      const by = a?.created_by;
      if (by?.type !== 'api_actor') throw new Error('the author is a key');
      expect(by).not.toStrictEqual(b?.created_by);
      const listed = await readAll(
        storesWithKey(keys.manager).memoryVersions.list(made.id, { api_key_id: by.api_key_id }),
      );
      expect(listed.map(({ path }) => path)).toStrictEqual(['/a']);
      await runOn(service(), ['rm', made.id, '/memories/a']);
      const [deleted] = await readAll(storesWithKey(keys.manager).memoryVersions.list(made.id));
      expect(deleted?.created_by).toStrictEqual({ type: 'user_actor', user_id: expect.any(String) });
    });

    it('records changes to stores in the audit trail', async () => {
      const made = await storesWithKey(keys.manager).create({ name: 'x' });
      await storesWithKey(keys.manager).update(made.id, { name: 'y' });
      await expectError(
        storesWithKey(keys.manager).update(made.id, { name: '' }),
        400,
        'invalid_request_error',
      );
      await storesWithKey(keys.manager).archive(made.id);
      await expectError(
        storesWithKey(keys.manager).update(made.id, { name: 'z' }),
        400,
        'invalid_request_error',
      );
      await storesWithKey(keys.manager).delete(made.id);
      const events = await service().query(
        'SELECT action, outcome, channel FROM audit_events WHERE tenant_id = $1 ORDER BY at, id',
        [made.id],
      );
      expect(events.map(({ action, outcome }) => `${action} ${outcome}`)).toStrictEqual([
        'createMemoryStore ok',
        'updateMemoryStore ok',
        'archiveMemoryStore ok',
        'updateMemoryStore tenant_archived',
        'deleteMemoryStore ok',
      ]);
      expect(new Set(events.map(({ channel }) => channel))).toStrictEqual(new Set(['memory_stores_api']));
    });

    it('rejects requests to a suspended store, except its deletion', async () => {
      const made = await storesWithKey(keys.manager).create({ name: 'x' });
      await runOn(service(), ['tenants', 'suspend', made.id]);
      await expectError(storesWithKey(keys.manager).retrieve(made.id), 403, 'permission_error');
      await expectError(storesWithKey(keys.manager).memories.list(made.id), 403, 'permission_error');
      await storesWithKey(keys.manager).delete(made.id);
      expect((await readAll(storesWithKey(keys.manager).list())).map((store) => store.id)).not.toContain(
        made.id,
      );
    });

    it('creates and lists a key that manages stores if keys create has --manage-stores', async () => {
      const made = await runOn(service(), ['keys', 'create', '--service', '--manage-stores', '--json']);
      const { key, id: keyId, manages_stores } = JSON.parse(made.stdout);
      expect(manages_stores).toBe(true);
      expect(await storesWithKey(key).create({ name: 'by the CLI' })).toMatchObject({ name: 'by the CLI' });
      const listed = await runOn(service(), ['keys', 'list']);
      expect(listed.stdout).toMatch(new RegExp(`${keyId} +\\(service\\) +read_write, manages stores`));
      for (const args of [['--tenant', id], ['--admin'], ['--service', '--read-only']]) {
        const rejected = await runOn(service(), ['keys', 'create', '--manage-stores', ...args]);
        expect(rejected.stderr).toContain('--manage-stores requires --service, without --read-only');
      }
    });
  },
  { AUTH: 'keys' },
);

describeService(
  'memory stores without authentication',
  (service) => {
    it('lets any caller create and delete stores if authentication is off', async () => {
      const { beta } = sdk(service(), 'none');
      const { id } = await beta.memoryStores.create({ name: 'x' });
      await beta.memoryStores.delete(id);
      await expectError(beta.memoryStores.retrieve('default-none'), 404, 'not_found_error');
    });
  },
  { AUTH: 'none' },
);

describeService(
  "a store's limits",
  (service) => {
    const stores = () => sdk(service(), 'none').beta.memoryStores;
    it("applies a tenant's quotas to its store", async () => {
      const { id } = await stores().create({ name: 'x' });
      await runOn(service(), [
        'tenants',
        'set',
        id,
        '--max-files',
        '2',
        '--max-bytes',
        '10',
        '--max-file-bytes',
        '8',
      ]);
      const of = { memory_store_id: id };
      const { id: memory } = await stores().memories.create(id, { path: '/a', content: '12345678' });
      const rejected: [() => Promise<unknown>, string][] = [
        [
          () => stores().memories.create(id, { path: '/b', content: '123456789' }),
          'content: it is larger than 8 bytes, the limit of this memory store.',
        ],
        [
          () => stores().memories.update(memory, { ...of, content: '123456789' }),
          'content: it is larger than 8 bytes, the limit of this memory store.',
        ],
        [
          () => stores().memories.create(id, { path: '/b', content: '123' }),
          'The memory store is full: it has 8 of 10 bytes, and this needs 3 more.',
        ],
        [
          () => stores().memories.create(id, { path: '/b/c/d/e', content: '' }),
          'The memory store is full: it has 0 of 2 directories, and this needs 3 more.',
        ],
        [
          () => stores().memories.update(memory, { ...of, path: '/b/c/d/e', content: '' }),
          'The memory store is full: it has 0 of 2 directories, and this needs 3 more.',
        ],
      ];
      for (const [call, message] of rejected) {
        expect((await expectError(call(), 400, 'invalid_request_error')).apiMessage).toBe(message);
      }
      expect(await readAll(stores().memories.list(id))).toMatchObject([
        { path: '/a', content_size_bytes: 8 },
      ]);
      expect((await readAll(stores().memoryVersions.list(id))).length).toBe(1);
    });

    it("applies a tenant's rate limit to its store", async () => {
      const { id } = await stores().create({ name: 'x' });
      await runOn(service(), ['tenants', 'set', id, '--rate-per-minute', '1']);
      await stores().retrieve(id);
      const limited = await expectError(stores().retrieve(id), 429, 'rate_limit_error');
      expect(Number(limited.headers?.get('retry-after'))).toBeGreaterThan(0);
    });

    it("masks or rejects secrets in a store according to the tenant's secrets setting", async () => {
      const { id } = await stores().create({ name: 'x' });
      const token = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
      await runOn(service(), ['tenants', 'set', id, '--secrets', 'mask']);
      const memory = await stores().memories.create(id, {
        path: '/a',
        content: `key ${token}!`,
        view: 'full',
      });
      expect(memory.content).toMatch(/^key \[REDACTED:[a-z_]+\]!$/);
      const of = { memory_store_id: id };
      const updated = await stores().memories.update(memory.id, {
        ...of,
        content: `new ${token}`,
        view: 'full',
      });
      expect(updated.content).toMatch(/^new \[REDACTED:[a-z_]+\]$/);
      await expectError(
        stores().memories.create(id, { path: `/${token}`, content: '' }),
        400,
        'invalid_request_error',
      );
      const strict = await stores().create({ name: 'x' });
      await runOn(service(), ['tenants', 'set', strict.id, '--secrets', 'reject']);
      const create = stores().memories.create(strict.id, { path: '/a', content: token });
      const rejected = await expectError(create, 400, 'invalid_request_error');
      expect(JSON.stringify(rejected.error)).not.toContain(token);
      expect((await readAll(stores().memoryVersions.list(id))).length).toBe(2);
    });
  },
  { AUTH: 'none' },
);
