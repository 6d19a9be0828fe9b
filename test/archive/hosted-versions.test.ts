/** @module-tag long-on-pglite */
import type Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { assertInvariants } from '../support/invariants.ts';
import { listenOn, readAll, sdk, storeKey } from '../support/memory-stores.ts';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

describeService(
  'import --from-store with versions',
  (service) => {
    let stores: Anthropic['beta']['memoryStores'];
    let key = '';
    let url = '';
    beforeAll(async () => {
      key = await storeKey(service());
      stores = sdk(service(), key).beta.memoryStores;
      url = await listenOn(service());
    });
    const run = (...args: string[]) => {
      vi.stubEnv('ANTHROPIC_API_KEY', key);
      return runOn(service(), [...args, '--store-url', url]);
    };
    const memories = (id: string) => readAll(stores.memories.list(id, { view: 'full' }));
    const versions = (id: string) => readAll(stores.memoryVersions.list(id, { view: 'full' }));
    const withoutStoreIds = <T extends object>(rows: T[]) =>
      rows.map((row) => ({ ...row, memory_store_id: undefined }));

    /** Creates a store with a memory in every possible state. */
    async function createUsedStore(): Promise<string> {
      const { id } = await stores.create({ name: 'from' });
      const of = { memory_store_id: id };
      const a = await stores.memories.create(id, { path: '/a', content: 'one\n'.repeat(40) });
      for (let i = 0; i < 25; i++)
        await stores.memories.update(a.id, { ...of, content: `${'one\n'.repeat(40)}é${i}` });
      const b = await stores.memories.create(id, { path: '/x/y/b', content: 'b' });
      await stores.memories.update(b.id, { ...of, path: '/z/b' });
      const gone = await stores.memories.create(id, { path: '/x', content: 'a file where a directory was' });
      await stores.memories.delete(gone.id, of);
      const secret = await stores.memories.create(id, { path: '/secret', content: 'hunter2' });
      await stores.memories.update(secret.id, { ...of, content: '' });
      await stores.memoryVersions.redact(secret.memory_version_id, of);
      await service().execute(
        { command: 'create', path: '/memories/x/agent.md', file_text: 'by an agent' },
        { tenant: id, headers: { authorization: `Bearer ${key}` } },
      );
      return id;
    }

    it('imports each version with its original content, ID, time, and actor', async () => {
      const from = await createUsedStore();
      const { id: to } = await stores.create({ name: 'to' });
      const tried = await run('import', to, '--from-store', from, '--dry-run');
      expect(tried.stdout).toBe(
        '/memories/a\n/memories/secret\n/memories/x/\n/memories/x/agent.md\n/memories/z/\n/memories/z/b\n',
      );
      expect(tried.stderr).toContain('with 33 versions.');
      expect(await memories(to)).toStrictEqual([]);

      const done = await run('import', to, '--from-store', from);
      expect(done).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^Imported 4 files .* with 33 versions\.\n$/),
      });
      expect(withoutStoreIds(await memories(to))).toStrictEqual(withoutStoreIds(await memories(from)));
      const brought = await versions(to);
      expect(brought.length).toBe(33);
      expect(withoutStoreIds(brought)).toStrictEqual(withoutStoreIds(await versions(from)));
      expect(brought.filter(({ redacted_at }) => redacted_at !== null)).toMatchObject([
        { path: null, content: null, operation: 'created', redacted_by: { type: 'api_actor' } },
      ]);
      await assertInvariants(service());

      const [moved] = brought.filter(({ path }) => path === '/x/y/b');
      const past = await runOn(service(), ['ls', to, '--at', moved?.created_at ?? '', '--json']);
      expect(JSON.parse(past.stdout).map(({ path }: { path: string }) => path)).toContain('/memories/x/y/b');
      const kept = await service().query(
        `SELECT count(*)::integer AS splices FROM versions WHERE tenant_id = '${to}' AND splice_start IS NOT NULL`,
      );
      expect(kept).toStrictEqual([{ splices: 24 }]);
    });

    it('creates no duplicates if an import is repeated, and keeps files that were changed since', async () => {
      const from = await createUsedStore();
      const { id: to } = await stores.create({ name: 'to' });
      await run('import', to, '--from-store', from);
      const before = [await memories(to), await versions(to)];
      const again = await run('import', to, '--from-store', from);
      expect(again).toStrictEqual({
        code: 0,
        stdout: '',
        stderr: `Already in ${to}: 4 memories of ${from}.\nThe versions of ${from} were not imported: ${to} has files or its own history.\n`,
      });
      expect([await memories(to), await versions(to)]).toStrictEqual(before);

      // Changes a file in the destination, creates one in the store, and creates one in the destination that blocks
      // another file.
      const [own] = (await memories(to)).filter(({ path }) => path === '/a');
      await stores.memories.update((own as { id: string }).id, { memory_store_id: to, content: 'mine' });
      await stores.memories.create(from, { path: '/new', content: 'new' });
      await stores.memories.create(to, { path: '/way', content: '' });
      await stores.memories.create(from, { path: '/way/below', content: 'x' });
      const third = await run('import', to, '--from-store', from);
      expect(third.code).toBe(1);
      expect(third.stderr).toContain('Imported 1 file (3 bytes)');
      expect(third.stderr).toContain('were left unchanged:\n  /a\n  /way/below\n');
      const contents = (await memories(to)).map((each) => 'content' in each && each.content);
      expect(contents).toStrictEqual(['mine', 'new', '', '', 'by an agent', 'b']);
    });

    it('imports no versions with --no-history, or into a tenant that has files or keeps no history', {
      tags: 'long',
    }, async () => {
      const from = await createUsedStore();
      const { id: to } = await stores.create({ name: 'to' });
      const plain = await run('import', to, '--from-store', from, '--no-history');
      expect(plain.stderr).toMatch(
        /^Imported 4 files \([0-9]+ bytes\) and 2 directories into memstore_[0-9a-f]+\.\n$/,
      );
      expect((await versions(to)).map(({ operation }) => operation)).toStrictEqual(Array(4).fill('created'));

      const below = await run('import', to, '--from-store', from, '--into', '/memories/old');
      expect(below.stderr).toContain(`were not imported: ${to} has files or its own history.`);
      expect((await memories(to)).map(({ path }) => path)).toContain('/old/x/agent.md');

      const { id: forgetful } = await stores.create({ name: 'forgetful' });
      await runOn(service(), ['tenants', 'set', forgetful, '--history-days', '0']);
      const kept = await run('import', forgetful, '--from-store', from);
      expect(kept.stderr).toContain(`were not imported: ${forgetful} keeps no history.`);
      const stripped = await run('import', to, '--from-store', from, '--strip', '1');
      expect(stripped.stderr).toContain('--strip works only with archives.');
    });

    it('masks secrets in versions, and recognizes masked memories on the next import', {
      tags: 'long',
    }, async () => {
      const token = `ghp_${'Aa1'.repeat(12)}`;
      const { id: from } = await stores.create({ name: 'from' });
      const { id } = await stores.memories.create(from, { path: '/a', content: `token ${token}` });
      await stores.memories.update(id, { memory_store_id: from, content: `two ${token}` });
      const { id: to } = await stores.create({ name: 'to' });
      await runOn(service(), ['tenants', 'set', to, '--secrets', 'mask']);
      expect((await run('import', to, '--from-store', from)).code).toBe(0);
      const contents = (await versions(to)).map(({ content }) => content);
      expect(contents).toStrictEqual([
        expect.stringMatching(/^two \[.*\]$/),
        expect.stringMatching(/^token \[.*\]$/),
      ]);
      expect((await run('import', to, '--from-store', from)).stderr).toContain(`Already in ${to}: 1 memory`);

      await stores.memories.create(from, { path: '/b', content: 'at 12 Elm Street, twice 12 ELM street' });
      await runOn(service(), ['keep-out', 'add', to, '--from', '-'], { stdin: '12 elm street' });
      expect((await run('import', to, '--from-store', from)).code).toBe(0);
      const again = await run('import', to, '--from-store', from);
      expect([again.code, again.stderr]).toStrictEqual([
        0,
        expect.stringContaining(`Already in ${to}: 2 memories`),
      ]);
      await stores.memories.update(id, { memory_store_id: from, content: `three ${token}` });
      expect((await run('import', to, '--from-store', from)).stderr).toContain('/a');
    });
  },
  { AUTH: 'keys' },
);
