/** @module-tag long-on-pglite */
import { afterEach, expect, it, vi } from 'vitest';
import { listenOn, readAll, sdk, storeKey } from '../support/memory-stores.ts';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

describeService(
  'import --from-store',
  (service) => {
    it("copies a store's memories page by page", async () => {
      const key = await storeKey(service());
      const { memoryStores } = sdk(service(), key).beta;
      const [from, to] = [
        await memoryStores.create({ name: 'from' }),
        await memoryStores.create({ name: 'to' }),
      ];
      for (let i = 0; i < 21; i++)
        await memoryStores.memories.create(from.id, { path: `/d/${i}.md`, content: `é${i}` });
      const url = await listenOn(service());
      vi.stubEnv('ANTHROPIC_API_KEY', key);
      const run = (...args: string[]) =>
        runOn(service(), ['import', to.id, '--store-url', `${url}/`, ...args]);

      const tried = await run('--from-store', from.id, '--dry-run');
      expect(tried.stdout.split('\n')).toContain('/memories/d/20.md');
      expect(await readAll(memoryStores.memories.list(to.id))).toStrictEqual([]);
      const done = await run('--from-store', from.id);
      expect(done.stderr).toContain('Imported 21 files (');
      const contents = async (id: string) =>
        (await readAll(memoryStores.memories.list(id, { view: 'full' }))).map((each) => [
          'content' in each && each.content,
          each.path,
        ]);
      expect(await contents(to.id)).toStrictEqual(await contents(from.id));

      const missing = await run('--from-store', 'memstore_none');
      expect(missing.code).toBe(1);
      expect(missing.stderr).toContain(
        '(/v1/memory_stores/memstore_none/memories): 404, There is no such memory store.\nNothing was imported.',
      );
      const both = await run('directory', '--from-store', from.id);
      expect(both.stderr).toContain('Name either a source or a store (--from-store).');
    });
  },
  { AUTH: 'keys' },
);
