/** Rights by path in the Memory Stores API, whose requests name files and versions by ID. */
import { expect, it } from 'vitest';
import { expectError, sdk } from '../support/memory-stores.ts';
import { keyClient, tenantWithFiles } from '../support/rights-client.ts';
import { cmd } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';

describeService(
  'the Memory Stores API for a key with rights by path',
  (service) => {
    const open = async () => {
      const all = await tenantWithFiles(service(), {
        '/memories/secret/a.md': 'secret',
        '/memories/wiki/b.md': 'wiki',
        '/memories/own.md': 'own',
      });
      const { tenant } = all;
      const limited = await keyClient(service(), tenant, {
        '/memories/secret': 'none',
        '/memories/wiki': 'read_only',
      });
      const full = sdk(service(), all.key).beta.memoryStores;
      const ids: Record<string, string> = {};
      for await (const each of full.memories.list(tenant))
        if (each.type === 'memory') ids[each.path] = each.id;
      const of = { memory_store_id: tenant };
      return { all, full, ids, of, tenant, stores: sdk(service(), limited.key).beta.memoryStores };
    };
    const NO_RIGHT = 'The credential has no right to change this path.';

    it('finds no hidden file and no version of it by its ID', async () => {
      const { full, ids, of, tenant, stores } = await open();
      const id = ids['/secret/a.md'] ?? '';
      await expectError(stores.memories.retrieve(id, of), 404, 'not_found_error');
      await expectError(stores.memories.update(id, { ...of, content: 'x' }), 404, 'not_found_error');
      await expectError(stores.memories.delete(id, of), 404, 'not_found_error');
      const versions = [];
      for await (const each of full.memoryVersions.list(tenant, { memory_id: id })) versions.push(each.id);
      expect(versions).toHaveLength(1);
      await expectError(stores.memoryVersions.retrieve(versions[0] ?? '', of), 404, 'not_found_error');
      expect((await stores.memoryVersions.list(tenant, { memory_id: id })).data).toStrictEqual([]);
      expect(await full.memories.retrieve(id, of)).toMatchObject({ content: 'secret' });
    });

    it('rejects each write without the right, and allows the others', async () => {
      const { ids, of, tenant, stores } = await open();
      const [wiki = '', own = ''] = [ids['/wiki/b.md'], ids['/own.md']];
      const rejected = [
        () => stores.memories.create(tenant, { path: '/wiki/n.md', content: '' }),
        () => stores.memories.create(tenant, { path: '/secret/a.md', content: '' }),
        () => stores.memories.update(wiki, { ...of, content: 'x' }),
        () => stores.memories.update(wiki, { ...of, path: '/moved.md' }),
        () => stores.memories.update(own, { ...of, path: '/secret/own.md' }),
        () => stores.memories.delete(wiki, of),
      ];
      for (const call of rejected) {
        const { apiMessage } = await expectError(call(), 403, 'permission_error');
        expect(apiMessage).toBe(NO_RIGHT);
      }
      expect(await stores.memories.update(own, { ...of, path: '/o.md' })).toMatchObject({ path: '/o.md' });
      expect(await stores.memories.delete(own, of)).toMatchObject({ type: 'memory_deleted' });
    });

    it('shows only the versions of a moved file at paths that are not hidden', async () => {
      const { all, ids, tenant, stores } = await open();
      await all.send(cmd.rename('/memories/secret/a.md', '/memories/a.md'));
      const { data } = await stores.memoryVersions.list(tenant, { memory_id: ids['/secret/a.md'] ?? '' });
      expect(data.map(({ path }) => path)).toStrictEqual(['/a.md']);
    });

    it('sends moves to and from hidden paths as deletions and creations in the change feed', async () => {
      const { all, tenant } = await open();
      const { request } = await keyClient(service(), tenant, { '/memories/secret': 'none' });
      const { cursor } = (await request('GET', '/v1/changes?after=now')) as { cursor: string };
      await all.send(cmd.rename('/memories/secret/a.md', '/memories/a.md'));
      await all.send(cmd.replace('/memories/a.md', 'secret', 'shown'));
      await all.send(cmd.rename('/memories/a.md', '/memories/secret/b.md'));
      await all.send(cmd.delete('/memories/secret/b.md'));
      const { events } = (await request('GET', `/v1/changes?content=true&after=${cursor}`)) as {
        events: { type: string; content: string | null; version: Record<string, unknown> }[];
      };
      expect(
        events.map(({ type, content, version: { operation, path, previous_path } }) => ({
          ...{ type, content, operation, path, previous_path },
        })),
      ).toStrictEqual([
        {
          type: 'created',
          content: 'secret',
          operation: 'created',
          path: '/memories/a.md',
          previous_path: null,
        },
        {
          ...{ type: 'modified', content: 'shown', operation: 'modified' },
          ...{ path: '/memories/a.md', previous_path: '/memories/a.md' },
        },
        {
          ...{ type: 'deleted', content: null, operation: 'deleted' },
          ...{ path: '/memories/a.md', previous_path: '/memories/a.md' },
        },
      ]);
    });
  },
  { AUTH: 'keys' },
);
