/** @module-tag long-on-pglite */
import type Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { listenOn, readAll, sdk, storeKey } from '../support/memory-stores.ts';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

describeService(
  'push',
  (service) => {
    const admin = useAdmin(service);
    let stores: Anthropic['beta']['memoryStores'];
    let key = '';
    let url = '';
    let adminUrl = '';
    let from = '';
    let to = '';
    beforeAll(async () => {
      key = await storeKey(service());
      stores = sdk(service(), key).beta.memoryStores;
      url = await listenOn(service());
      adminUrl = await admin().app.listen({ port: 0, host: '127.0.0.1' });
    });
    beforeEach(async () => {
      from = (await stores.create({ name: 'from', description: 'About Ada', metadata: { user: 'ada' } })).id;
      to = (await stores.create({ name: 'to' })).id;
    });
    const push = (...args: string[]) => {
      vi.stubEnv('ANTHROPIC_API_KEY', key);
      return runOn(service(), ['push', from, '--store-url', url, ...args]);
    };
    const runRemotely = (...args: string[]) => {
      vi.stubEnv('ANTHROPIC_API_KEY', key);
      return runOn(service(), [...args, '--store-url', url], {
        admin: { url: adminUrl, key: admin().key.key },
      });
    };
    const create = (store: string, path: string, content = path) =>
      stores.memories.create(store, { path, content });
    const contents = async (store: string) =>
      Object.fromEntries(
        (await readAll(stores.memories.list(store, { view: 'full' }))).map((each) => [
          each.path,
          'content' in each && each.content,
        ]),
      );

    it('pushes and imports through the admin API with the same results as directly on the database', async () => {
      const old = await create(from, '/old', 'one');
      await stores.memories.update(old.id, { memory_store_id: from, content: 'two' });
      await create(from, '/changed', 'here');
      await create(from, '/new', '\u2028ü');
      await create(to, '/old', 'one');
      await create(to, '/changed', 'there');
      expect(await runRemotely('push', from, '--to-store', to, '--dry-run')).toStrictEqual(
        await push('--to-store', to, '--dry-run'),
      );
      expect(await runRemotely('push', from, '--to-store', to)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^Memories: 1 created, 1 updated, 0 unchanged\.\n.*\n {2}\/changed\n$/),
      });
      expect(await contents(to)).toStrictEqual({ '/old': 'two', '/changed': 'there', '/new': '\u2028ü' });

      const copy = (await stores.create({ name: 'copy' })).id;
      expect(await runRemotely('import', copy, '--from-store', to)).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(
          /^Imported 3 files \(.*\) and 0 directories into .*, with 4 versions\.\n$/,
        ),
      });
      expect(await runRemotely('import', copy, '--from-store', from)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^Already in .*: 2 memories of .*\n {2}\/changed\n$/s),
      });
      const { body } = await admin().call('GET', `/audit?tenant=${copy}&action=importMemory`);
      expect(body.events).toMatchObject([{ details: { store: from } }, { details: { store: to } }]);
    });

    it('creates missing memories, updates outdated ones, and keeps memories that were changed in the store', async () => {
      await create(from, '/same');
      await create(from, '/new');
      const edited = await create(from, '/edited', 'old');
      await create(to, '/same');
      await create(to, '/edited', 'old');
      await create(to, '/more', 'x');
      await stores.memories.update(edited.id, { memory_store_id: from, content: 'new' });

      const tried = await push('--to-store', to, '--dry-run');
      expect(tried).toStrictEqual({
        code: 0,
        stdout: 'update /edited\ncreate /new\n',
        stderr: 'Memories: 1 to create, 1 to update, 1 unchanged.\n',
      });
      expect(await contents(to)).toStrictEqual({ '/same': '/same', '/edited': 'old', '/more': 'x' });
      expect((await push('--to-store', to)).code).toBe(0);
      const pushed = { '/edited': 'new', '/more': 'x', '/new': '/new', '/same': '/same' };
      expect(await contents(to)).toStrictEqual(pushed);
      expect((await push('--to-store', to)).stderr).toBe('Memories: 0 created, 0 updated, 3 unchanged.\n');

      // Changes a file in the store and creates a file that another file blocks.
      const [there] = await readAll(stores.memories.list(to));
      await stores.memories.update((there as { id: string }).id, { memory_store_id: to, content: 'theirs' });
      await create(from, '/more/below');
      const rejected = await push('--to-store', to);
      expect(rejected.code).toBe(1);
      expect(rejected.stderr).toContain(
        'were left unchanged. To replace changed ones, add --overwrite:\n  /edited\n  /more/below\n',
      );
      expect(await contents(to)).toStrictEqual({ ...pushed, '/edited': 'theirs' });
      expect((await push('--to-store', to, '--overwrite', '--dry-run')).stdout).toBe(
        'overwrite /edited\ncreate /more/below\n',
      );
      const overwritten = await push('--to-store', to, '--overwrite');
      expect(overwritten.stderr).toContain('Memories: 0 created, 0 updated, 2 unchanged, 1 overwritten.');
      expect(overwritten.stderr).toContain(
        'were left unchanged. To replace changed ones, add --overwrite:\n  /more/below\n',
      );
      expect(await contents(to)).toStrictEqual(pushed);
    });

    it("pushes through the admin API, while the store's key stays on the client", async () => {
      const remotePush = (...args: string[]) => runRemotely('push', from, ...args);
      await create(from, '/new', '\uFEFFwith a byte order mark');
      const edited = await create(from, '/edited', 'old');
      await create(to, '/edited', 'old');
      await stores.memories.update(edited.id, { memory_store_id: from, content: 'new' });
      await create(from, '/changed');
      await create(to, '/changed', 'theirs');
      const dryRun = await remotePush('--to-store', to, '--dry-run');
      expect(dryRun).toStrictEqual({
        code: 1,
        stdout: 'update /edited\ncreate /new\n',
        stderr:
          'Memories: 1 to create, 1 to update, 0 unchanged.\nmemory-service: These were changed in the store, or are blocked by other memories, and were left unchanged. To replace changed ones, add --overwrite:\n  /changed\n',
      });
      expect(await push('--to-store', to, '--dry-run')).toStrictEqual(dryRun);
      await remotePush('--to-store', to, '--overwrite');
      expect(await contents(to)).toStrictEqual(await contents(from));
      expect((await remotePush('--create-store')).stderr).toMatch(
        /^Created the store memstore_\w+\.\nMemories: 3 created, 0 updated, 0 unchanged\.\n$/,
      );
      expect((await push('--create-store')).stderr).toMatch(
        /^Continuing with memstore_\w+, which an earlier push created\.\nMemories: 0 created, 0 updated, 3 unchanged\.\n$/,
      );
      from = 'no-such-tenant';
      expect(await remotePush('--to-store', to)).toStrictEqual(await push('--to-store', to));
    });

    it('continues a push if the store rejects a memory, and names the rejected memories', async () => {
      // Sets the limit before the first request, because the policy is cached.
      await runOn(service(), ['tenants', 'set', to, '--max-file-bytes', '10']);
      const edited = await create(from, '/a', 'old');
      await create(from, '/b', 'x'.repeat(11));
      await create(from, '/c');
      await create(to, '/a', 'old');
      await stores.memories.update(edited.id, { memory_store_id: from, content: 'x'.repeat(12) });
      const pushed = await push('--to-store', to);
      const reason = 'content: it is larger than 10 bytes, the limit of this memory store.';
      expect(pushed).toStrictEqual({
        code: 1,
        stdout: '',
        stderr: `Memories: 1 created, 0 updated, 0 unchanged.\nmemory-service: The store rejected these:\n  /a: ${reason}\n  /b: ${reason}\n`,
      });
      expect(await contents(to)).toStrictEqual({ '/a': 'old', '/c': '/c' });
    });

    it('creates a store on the first push, and reuses it on the next', async () => {
      await create(from, '/a');
      const tried = await push('--create-store', 'Ada', '--dry-run');
      expect(tried.stdout).toBe('create the store Ada\ncreate /a\n');
      const first = await push('--create-store', 'Ada');
      const [, id = ''] = /^Created the store (memstore_[0-9a-f]+)\.\n/.exec(first.stderr) ?? [];
      expect(await stores.retrieve(id)).toMatchObject({
        name: 'Ada',
        description: 'About Ada',
        metadata: { user: 'ada', memory_service_tenant: expect.stringContaining(from) },
      });
      await create(from, '/b');
      const again = await push('--create-store', 'Ada');
      expect(again).toStrictEqual({
        code: 0,
        stdout: '',
        stderr: `Continuing with ${id}, which an earlier push created.\nMemories: 1 created, 0 updated, 1 unchanged.\n`,
      });
      expect(await contents(id)).toStrictEqual({ '/a': '/a', '/b': '/b' });

      // The name defaults to the tenant ID, and other tenants' stores are not changed.
      expect((await push('--create-store')).stderr).toMatch(/^Created the store memstore_/);
      from = to;
      expect((await push('--create-store', 'Ada')).stderr).toMatch(/^Created the store memstore_/);
      expect(await contents(id)).toStrictEqual({ '/a': '/a', '/b': '/b' });
    });

    it('requires either --to-store or --create-store for a push, and a store that exists', async () => {
      for (const args of [[], ['--to-store', to, '--create-store', 'x']]) {
        const rejected = await push(...args);
        expect([rejected.code, rejected.stderr]).toStrictEqual([
          1,
          'memory-service: Push requires --to-store or --create-store, not both.\n',
        ]);
      }
      const missing = await push('--to-store', 'memstore_none');
      expect(missing.stderr).toContain('404, There is no such memory store.\nThe push is not complete.');
    });
  },
  { AUTH: 'keys' },
);
