/** @module-tag long-on-pglite */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Anthropic from '@anthropic-ai/sdk';
import { SessionMemoryStores } from '@anthropic-ai/sdk/tools/agent-toolset/node';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readAll, sdk } from '../support/memory-stores.ts';
import { describeService } from '../support/test-service.ts';

type Session = Parameters<SessionMemoryStores['download']>[0];

describeService("the SDK's local directories for stores", (service) => {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'stores-'));
  });
  afterEach(async () => {
    vi.useRealTimers();
    await rm(directory, { recursive: true, force: true });
  });

  /** Mounts a store with two memories as a local directory. */
  async function mountStore(access: 'read_write' | 'read_only') {
    const client = sdk(service(), 'any', { logLevel: 'off' });
    const { memoryStores } = client.beta;
    const { id } = await memoryStores.create({ name: 'team' });
    await memoryStores.memories.create(id, { path: '/notes.md', content: 'first\n' });
    await memoryStores.memories.create(id, { path: '/people/ada.md', content: 'Lives in Lyon.\n' });
    const stores = new SessionMemoryStores(client, { workdir: directory });
    const resource = { type: 'memory_store', memory_store_id: id, access, mount_path: null, name: 'team' };
    await stores.download({ resources: [resource] } as unknown as Session);
    const filePath = (path: string) => join(directory, 'memory/team', path);
    return { stores, memoryStores, id, at: filePath };
  }

  /** Syncs as after a tool call at the end of the interval. */
  async function sync(stores: SessionMemoryStores): Promise<void> {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    await stores.syncIfDue();
  }

  async function contents(memoryStores: Anthropic['beta']['memoryStores'], id: string) {
    const memories = await readAll(memoryStores.memories.list(id, { view: 'full' }));
    return Object.fromEntries(memories.map((memory) => [memory.path, 'content' in memory && memory.content]));
  }

  it('syncs changes and deletions in both directions between a store and a local directory', async () => {
    const { stores, memoryStores, id, at } = await mountStore('read_write');
    expect(await readFile(at('notes.md'), 'utf8')).toBe('first\n');
    expect(await readFile(at('people/ada.md'), 'utf8')).toBe('Lives in Lyon.\n');

    await writeFile(at('notes.md'), 'second\n');
    await mkdir(at('plans/2027'), { recursive: true });
    await writeFile(at('plans/2027/q1.md'), 'Ship it.\n');
    const edit = {
      command: 'str_replace',
      path: '/memories/people/ada.md',
      old_str: 'Lyon',
      new_str: 'Paris',
    };
    await service().execute(edit, { tenant: id });
    await sync(stores);
    expect(await contents(memoryStores, id)).toStrictEqual({
      '/notes.md': 'second\n',
      '/people/ada.md': 'Lives in Paris.\n',
      '/plans/2027/q1.md': 'Ship it.\n',
    });
    expect(await readFile(at('people/ada.md'), 'utf8')).toBe('Lives in Paris.\n');

    await writeFile(at('notes.md'), 'from the directory\n');
    const insert = {
      command: 'insert',
      path: '/memories/notes.md',
      insert_line: 1,
      insert_text: 'from the agent',
    };
    await service().execute(insert, { tenant: id });
    await sync(stores);
    expect(await readFile(at('notes.md'), 'utf8')).toBe('second\nfrom the agent\n');
    expect((await contents(memoryStores, id))['/notes.md']).toBe('second\nfrom the agent\n');

    await rm(at('people/ada.md'));
    await service().execute({ command: 'delete', path: '/memories/plans' }, { tenant: id });
    await stores.finish();
    expect(await contents(memoryStores, id)).toStrictEqual({ '/notes.md': 'second\nfrom the agent\n' });
    await expect(readFile(at('plans/2027/q1.md'))).rejects.toThrow('ENOENT');
    await stores.dispose();
    await expect(readFile(at('notes.md'))).rejects.toThrow('ENOENT');
  });

  it('syncs the other files if the store rejects one file', async () => {
    const { stores, memoryStores, id, at } = await mountStore('read_write');
    await writeFile(at('large.md'), 'x'.repeat(1_048_577));
    await writeFile(at('small.md'), 'x');
    await stores.flushWrites();
    expect(Object.keys(await contents(memoryStores, id))).toStrictEqual([
      '/notes.md',
      '/people/ada.md',
      '/small.md',
    ]);
  });

  it('keeps the store unchanged if it is mounted read-only', async () => {
    const { stores, memoryStores, id, at } = await mountStore('read_only');
    await writeFile(at('notes.md'), 'second\n');
    await stores.finish();
    expect((await contents(memoryStores, id))['/notes.md']).toBe('first\n');
  });
});
