/**
 * `SessionMemoryStores` in Anthropic's SDK, which keeps a directory and a memory store in sync, with stores in the
 * service: the cases in the SDK's suite `memory-sync` that reach a server. The package does not contain that suite.
 */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { describeService } from '../support/test-service.ts';
import {
  type Attached,
  attachedStore,
  createSession,
  type Files,
  installedSdk,
  type Route,
  type Sdk,
} from './attached-store.ts';

const MAX_FILE_BYTES = 64;
const PAST_DELAY_MS = 31_000;

describe.each(['1.13.0', '1.14.0'])('a directory that @anthropic-ai/sdk %s syncs', (version) => {
  let sdk: Sdk;
  beforeAll(async () => {
    sdk = await installedSdk(version);
  }, 480_000);

  describeService(
    'sync with a store',
    (service) => {
      let directory = '';
      beforeEach(async () => {
        directory = await mkdtemp(join(inject('scratch'), 'memory-sync-'));
      });
      afterEach(() => {
        vi.useRealTimers();
      });

      const attachFiles = (initial: Files, access?: 'read_only') =>
        attachedStore(service(), sdk, directory, initial, access);

      /** Moves the SDK's clock past the delay for deletions. */
      function passDelay() {
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + PAST_DELAY_MS });
      }

      const status = (code: number) =>
        Promise.resolve(new Response('{"type":"error","error":{"type":"api_error"}}', { status: code }));

      interface Case {
        name: string;
        initial?: Files;
        change(each: Attached): Promise<void>;
        store: Files;
        /** Expected files on the disk. Undefined for a missing file. */
        disk: Record<string, string | undefined>;
        sent?: string[];
        fetched?: string[];
      }

      const CASES: Case[] = [
        {
          name: 'sends an edit of the directory',
          change: ({ disk }) => disk.write('a.md', 'v2'),
          store: { 'a.md': 'v2' },
          disk: { 'a.md': 'v2' },
          sent: ['update a.md'],
        },
        {
          name: 'reads an edit of the store, and only that memory',
          initial: { 'a.md': 'v1', 'b.md': 'v1' },
          change: ({ store }) => store.write('a.md', 'v2'),
          store: { 'a.md': 'v2', 'b.md': 'v1' },
          disk: { 'a.md': 'v2', 'b.md': 'v1' },
          fetched: ['a.md'],
        },
        {
          name: 'keeps the content of the store after different edits on both sides',
          change: async ({ disk, store }) => {
            await disk.write('a.md', 'of the agent');
            await store.write('a.md', 'of the store');
          },
          store: { 'a.md': 'of the store' },
          disk: { 'a.md': 'of the store' },
          fetched: ['a.md'],
        },
        {
          name: 'reads no content after the same edit on both sides',
          change: async ({ disk, store }) => {
            await disk.write('a.md', 'v2');
            await store.write('a.md', 'v2');
          },
          store: { 'a.md': 'v2' },
          disk: { 'a.md': 'v2' },
        },
        {
          name: 'creates memories for new files, below new directories and with names in other scripts',
          change: async ({ disk }) => {
            await disk.write('deep/er/b.md', '');
            await disk.write('里昂/é b.md', 'Zürich 😀\r\n');
          },
          store: { 'a.md': 'v1', 'deep/er/b.md': '', '里昂/é b.md': 'Zürich 😀\r\n' },
          disk: { 'deep/er/b.md': '', '里昂/é b.md': 'Zürich 😀\r\n' },
          sent: ['create deep/er/b.md', 'create 里昂/é b.md'],
        },
        {
          name: 'writes files for new memories',
          change: ({ store }) => store.write('people/ada.md', 'Lives in Lyon.'),
          store: { 'a.md': 'v1', 'people/ada.md': 'Lives in Lyon.' },
          disk: { 'people/ada.md': 'Lives in Lyon.' },
          fetched: ['people/ada.md'],
        },
        {
          name: 'keeps the memory when both sides created a path',
          change: async ({ disk, store }) => {
            await disk.write('b.md', 'of the agent');
            await store.write('b.md', 'of the store');
          },
          store: { 'a.md': 'v1', 'b.md': 'of the store' },
          disk: { 'b.md': 'of the store' },
          fetched: ['b.md'],
        },
        {
          name: 'deletes the file of a deleted memory',
          change: ({ store }) => store.delete('a.md'),
          store: {},
          disk: { 'a.md': undefined },
        },
        {
          name: 'creates a deleted memory again for an edited file',
          change: async ({ disk, store }) => {
            await disk.write('a.md', 'v2');
            await store.delete('a.md');
          },
          store: { 'a.md': 'v2' },
          disk: { 'a.md': 'v2' },
          sent: ['create a.md'],
        },
        {
          name: 'moves the file of a renamed memory',
          change: ({ store }) => store.rename('a.md', 'b/c.md'),
          store: { 'b/c.md': 'v1' },
          disk: { 'a.md': undefined, 'b/c.md': 'v1' },
          fetched: ['b/c.md'],
        },
        {
          name: 'reads the edits of the memory tool',
          change: async ({ store }) => {
            const edit = { command: 'str_replace', path: '/memories/a.md', old_str: 'v1', new_str: 'v2\n' };
            await service().execute(edit, { tenant: store.id });
            const create = { command: 'create', path: '/memories/d/b.md', file_text: 'b' };
            await service().execute(create, { tenant: store.id });
          },
          store: { 'a.md': 'v2\n', 'd/b.md': 'b' },
          disk: { 'a.md': 'v2\n', 'd/b.md': 'b' },
          fetched: ['a.md', 'd/b.md'],
        },
        {
          name: 'restores a file that was deleted while the memory changed',
          initial: { 'a.md': 'v1', 'keep.md': 'v1' },
          change: async ({ disk, store }) => {
            await disk.delete('a.md');
            await store.write('a.md', 'v2');
          },
          store: { 'a.md': 'v2', 'keep.md': 'v1' },
          disk: { 'a.md': 'v2' },
          fetched: ['a.md'],
        },
        {
          name: 'downloads a deleted directory again and deletes no memory',
          initial: { 'a.md': 'v1', 'b.md': 'v1' },
          change: ({ disk }) => disk.delete(''),
          store: { 'a.md': 'v1', 'b.md': 'v1' },
          disk: { 'a.md': 'v1', 'b.md': 'v1' },
        },
        {
          name: 'keeps the other files in sync beside a binary file',
          change: async ({ disk }) => {
            await disk.write('blob.bin', Uint8Array.of(0xff, 0xfe, 0));
            await disk.write('a.md', 'v2');
          },
          store: { 'a.md': 'v2' },
          disk: { 'a.md': 'v2' },
          sent: ['update a.md'],
        },
      ];

      it.each(CASES)(
        'syncs a directory: $name',
        async ({ initial = { 'a.md': 'v1' }, change, store, disk, sent = [], fetched = [] }) => {
          const each = await attachFiles(initial);
          await change(each);
          await each.sync();
          expect(await each.store.files()).toStrictEqual(store);
          for (const [path, content] of Object.entries(disk))
            expect(await each.disk.read(path)).toBe(content);
          expect(each.sent.toSorted()).toStrictEqual(sent);
          expect(each.fetched.toSorted()).toStrictEqual(fetched);
          // A second sync sends no write, and reads no content.
          await each.sync();
          expect(each.sent.toSorted()).toStrictEqual(sent);
          expect(each.fetched.toSorted()).toStrictEqual(fetched);
        },
      );

      it('deletes a memory some time after its file was deleted', async () => {
        const { store, disk, sent, sync } = await attachFiles({ 'a.md': 'v1', 'keep.md': 'v1' });
        await disk.delete('a.md');
        await sync();
        expect(sent).toStrictEqual([]);
        passDelay();
        await sync();
        expect(sent).toStrictEqual(['delete a.md']);
        expect(await store.files()).toStrictEqual({ 'keep.md': 'v1' });
      });

      it('keeps a memory that changes after it was listed and before it would be deleted', async () => {
        const { store, disk, sent, sync, through } = await attachFiles({ 'a.md': 'v1', 'keep.md': 'v1' });
        await disk.delete('a.md');
        await sync();
        passDelay();
        through(async (name, send) => {
          if (name === 'delete a.md') await store.write('a.md', 'v2');
          return send();
        });
        await sync();
        expect(sent).toStrictEqual(['delete a.md']);
        await sync();
        expect(await disk.read('a.md')).toBe('v2');
        expect(await store.files()).toStrictEqual({ 'a.md': 'v2', 'keep.md': 'v1' });
      });

      it('deletes memories immediately when the session ends', async () => {
        const { stores, store, disk, sent } = await attachFiles({ 'a.md': 'v1', 'keep.md': 'v1' });
        await disk.delete('a.md');
        await stores.finish();
        expect(sent).toStrictEqual(['delete a.md']);
        expect(await store.files()).toStrictEqual({ 'keep.md': 'v1' });
        await stores.dispose();
        expect(await disk.read('keep.md')).toBeUndefined();
      });

      it('deletes many memories over several syncs', async () => {
        const initial = Object.fromEntries(Array.from({ length: 14 }, (_, i) => [`f${10 + i}.md`, 'v1']));
        const { store, disk, sent, sync } = await attachFiles(initial);
        for (const path of Object.keys(initial).slice(0, 12)) await disk.delete(path);
        await sync();
        passDelay();
        await sync();
        expect(sent).toHaveLength(8);
        await sync();
        expect(sent).toHaveLength(12);
        expect(await store.files()).toStrictEqual({ 'f22.md': 'v1', 'f23.md': 'v1' });
      });

      it.each([401, 403, 404, 429, 500, 503])(
        'sends an upload again if the first attempt got status %i',
        async (code) => {
          const { store, disk, sync, through, directly } = await attachFiles({ 'a.md': 'v1' });
          await disk.write('a.md', 'v2');
          await disk.write('new.md', 'fresh');
          through((name, send) => (/^(create|update)/.test(name) ? status(code) : send()));
          await sync();
          expect(await store.files()).toStrictEqual({ 'a.md': 'v1' });
          directly();
          await sync();
          expect(await store.files()).toStrictEqual({ 'a.md': 'v2', 'new.md': 'fresh' });
        },
      );

      it('sends a newer edit after the response to an upload was lost', async () => {
        const { store, disk, sent, sync, through, directly } = await attachFiles({ 'a.md': 'v1' });
        await disk.write('a.md', 'v2');
        await disk.write('new.md', 'v2');
        through(async (name, send) => {
          const response = await send();
          if (/^(create|update)/.test(name)) throw new TypeError('The connection is lost.');
          return response;
        });
        await sync();
        expect(await store.files()).toStrictEqual({ 'a.md': 'v2', 'new.md': 'v2' });
        directly();
        await disk.write('a.md', 'v3');
        await disk.write('new.md', 'v3');
        await sync();
        expect(await store.files()).toStrictEqual({ 'a.md': 'v3', 'new.md': 'v3' });
        expect(sent.toSorted()).toStrictEqual([
          'create new.md',
          'update a.md',
          'update a.md',
          'update new.md',
        ]);
      });

      it.each(['a.md', 'new.md'])(
        "keeps the store's content if both sides change %s at the same time",
        async (path) => {
          const { store, disk, sent, sync, through, directly } = await attachFiles({ 'a.md': 'v1' });
          await disk.write(path, 'of the agent');
          through(async (name, send) => {
            if (/^(create|update)/.test(name)) await store.write(path, 'of the store');
            return send();
          });
          await sync();
          expect(sent).toHaveLength(1);
          expect(await disk.read(path)).toBe('of the agent');
          directly();
          await sync();
          expect(sent).toHaveLength(1);
          expect(await disk.read(path)).toBe('of the store');
          expect((await store.files())[path]).toBe('of the store');
        },
      );

      it.each<[string, Route | 'vanish']>([
        ['fails', (name, send) => (name === 'fetch a.md' ? status(500) : send())],
        ['finds no memory', 'vanish'],
      ])('keeps the old file if reading its new content %s', async (_, fault) => {
        const { store, disk, sent, sync, through, directly } = await attachFiles({
          'a.md': 'v1',
          'b.md': 'v1',
        });
        await store.write('a.md', 'v2');
        const vanish: Route = async (name, send) => {
          if (name === 'fetch a.md') await store.delete('a.md');
          return send();
        };
        through(fault === 'vanish' ? vanish : fault);
        await sync();
        expect(await disk.read('a.md')).toBe('v1');
        directly();
        await sync();
        expect(await disk.read('a.md')).toBe(fault === 'vanish' ? undefined : 'v2');
        expect(sent).toStrictEqual([]);
      });

      it('sends a file that is too large only once, and again after it becomes smaller', async () => {
        const { store, disk, sent, sync } = await attachFiles({ 'a.md': 'v1' });
        await disk.write('big.md', 'x'.repeat(MAX_FILE_BYTES + 1));
        await disk.write('a.md', 'v2');
        await sync();
        await sync();
        expect(sent.toSorted()).toStrictEqual(['create big.md', 'update a.md']);
        expect(await store.files()).toStrictEqual({ 'a.md': 'v2' });
        await disk.write('big.md', 'x'.repeat(MAX_FILE_BYTES));
        await sync();
        expect(await store.files()).toStrictEqual({ 'a.md': 'v2', 'big.md': 'x'.repeat(MAX_FILE_BYTES) });
      });

      it('sends no write to a store that is attached read-only', async () => {
        const { stores, store, disk, sent, sync } = await attachFiles(
          { 'a.md': 'v1', 'b.md': 'v1' },
          'read_only',
        );
        await disk.write('a.md', 'v2');
        await disk.write('new.md', 'x');
        await store.write('b.md', 'v2');
        await sync();
        expect(await disk.read('b.md')).toBe('v2');
        await store.delete('b.md');
        await sync();
        expect(await disk.read('b.md')).toBeUndefined();
        await stores.finish();
        expect(sent).toStrictEqual([]);
        expect(await store.files()).toStrictEqual({ 'a.md': 'v1' });
      });

      it('keeps the files on disk if their store is archived', async () => {
        const { store, disk, sync } = await attachFiles({ 'a.md': 'v1' });
        await store.memoryStores.archive(store.id);
        await disk.write('a.md', 'v2');
        await sync();
        expect(await disk.read('a.md')).toBe('v2');
        expect(await store.files()).toStrictEqual({ 'a.md': 'v1' });
      });

      it('syncs a store that has several pages', async () => {
        const initial = Object.fromEntries(
          Array.from({ length: 130 }, (_, i) => [`d${i % 7}/${i}.md`, `v${i}`]),
        );
        const { stores, store, disk } = await attachFiles(initial);
        expect(await disk.read('d3/129.md')).toBe('v129');
        const added = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`new/${i}.md`, `${i}`]));
        for (const [path, content] of Object.entries(added)) await disk.write(path, content);
        await stores.flushWrites();
        expect(await store.files()).toEqual({ ...initial, ...added });
      });

      it('fails to download a store that does not exist', async () => {
        const { stores } = await attachFiles({});
        await stores.dispose();
        await expect(stores.download(createSession('memstore_none'))).rejects.toThrow(
          'failed to download memory store memory_store_id=memstore_none: ',
        );
      });
    },
    { MAX_FILE_BYTES: `${MAX_FILE_BYTES}` },
  );
});
