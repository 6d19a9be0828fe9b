import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { all, sdk, storeKey } from '../support/memory-stores.ts';
import { runOn } from '../support/program.ts';
import { describeService } from '../support/service.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

describeService(
  'import --from-store',
  (service) => {
    it('copies the memories of a store, and overwrites none', async () => {
      const key = await storeKey(service());
      const { memoryStores } = sdk(service(), key).beta;
      const [from, to] = [
        await memoryStores.create({ name: 'from' }),
        await memoryStores.create({ name: 'to' }),
      ];
      for (let i = 0; i < 21; i++)
        await memoryStores.memories.create(from.id, { path: `/d/${i}.md`, content: `é${i}` });
      if (!service().app.server.listening) await service().app.listen({ host: '127.0.0.1', port: 0 });
      const { port } = service().app.server.address() as AddressInfo;
      vi.stubEnv('ANTHROPIC_API_KEY', key);
      const run = (...args: string[]) =>
        runOn(service(), ['import', to.id, '--store-url', `http://127.0.0.1:${port}/`, ...args]);

      const tried = await run('--from-store', from.id, '--dry-run');
      expect(tried.stdout.split('\n')).toContain('/memories/d/20.md');
      expect(await all(memoryStores.memories.list(to.id))).toStrictEqual([]);
      const done = await run('--from-store', from.id);
      expect(done.stderr).toContain('Imported 21 files (');
      const contents = async (id: string) =>
        (await all(memoryStores.memories.list(id, { view: 'full' }))).map((each) => [
          'content' in each && each.content,
          each.path,
        ]);
      expect(await contents(to.id)).toStrictEqual(await contents(from.id));

      const again = await run('--from-store', from.id);
      expect([again.code, again.stderr]).toStrictEqual([1, expect.stringContaining('Nothing was imported.')]);
      const missing = await run('--from-store', 'memstore_none');
      expect(missing.stderr).toContain(
        'The memory store memstore_none refused a request: 404, There is no such memory store.',
      );
      const both = await run('folder', '--from-store', from.id);
      expect(both.stderr).toContain('Name either a source or a store (--from-store).');
    });

    it('push writes what is missing or differs, and leaves alone what changed meanwhile', async () => {
      const key = await storeKey(service());
      const { memoryStores } = sdk(service(), key).beta;
      const [from, to] = [
        await memoryStores.create({ name: 'from' }),
        await memoryStores.create({ name: 'to' }),
      ];
      for (const path of ['/same', '/new', '/other']) {
        await memoryStores.memories.create(from.id, { path, content: path });
      }
      await memoryStores.memories.create(to.id, { path: '/same', content: '/same' });
      await memoryStores.memories.create(to.id, { path: '/other', content: 'old' });
      await memoryStores.memories.create(to.id, { path: '/more', content: 'x' });
      if (!service().app.server.listening) await service().app.listen({ host: '127.0.0.1', port: 0 });
      const { port } = service().app.server.address() as AddressInfo;
      vi.stubEnv('ANTHROPIC_API_KEY', key);
      const push = (...args: string[]) =>
        runOn(service(), [
          'push',
          from.id,
          '--to-store',
          to.id,
          '--store-url',
          `http://127.0.0.1:${port}`,
          ...args,
        ]);
      const contents = async () =>
        (await all(memoryStores.memories.list(to.id, { view: 'full' }))).map((each) => [
          'content' in each && each.content,
          each.path,
        ]);

      expect((await push('--dry-run')).stdout).toBe('create /new\nupdate /other\n');
      expect((await contents()).length).toBe(3);
      expect((await push()).code).toBe(0);
      const pushed = [
        ['x', '/more'],
        ['/new', '/new'],
        ['/other', '/other'],
        ['/same', '/same'],
      ];
      expect(await contents()).toStrictEqual(pushed);
      const again = await push();
      expect(again.stderr).toContain('Created 0 and updated 0 memories; 3 unchanged.');

      await memoryStores.memories.create(from.id, { path: '/more/below', content: 'x' });
      const refused = await push();
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('their path is occupied:\n  /more/below\n');
      expect(await contents()).toStrictEqual(pushed);
    });
  },
  { AUTH: 'keys' },
);
