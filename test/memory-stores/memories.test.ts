/** @module-tag long-on-pglite */
import type Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fuzzParameters } from '../support/arbitraries.ts';
import { assertInvariants } from '../support/invariants.ts';
import { expectError, readAll, sdk } from '../support/memory-stores.ts';
import { describeService, type Service } from '../support/test-service.ts';

type Stores = Anthropic['beta']['memoryStores'];
const sha256 = (digits: string) => ({
  precondition: { type: 'content_sha256' as const, content_sha256: digits },
});
const WRONG = '0'.repeat(64);
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

describeService('memories in a store', (service) => {
  let stores: Stores;
  beforeAll(() => {
    stores = sdk(service(), 'any').beta.memoryStores;
  });
  afterAll(() => assertInvariants(service()));

  /** Creates a store with memories whose contents are their paths. */
  async function storeWith(...paths: string[]): Promise<{ id: string; of: { memory_store_id: string } }> {
    const { id } = await stores.create({ name: 'test' });
    for (const path of paths) await stores.memories.create(id, { path, content: path });
    return { id, of: { memory_store_id: id } };
  }

  const view = (store: string, path: string) => viewFile(service(), store, path);
  const listPaths = async (list: AsyncIterable<{ path: string }>) =>
    (await readAll(list)).map(({ path }) => path);

  it("shows the memory tool's files as the store's memories", async () => {
    const { id, of } = await storeWith('/notes.md');
    expect(await view(id, '/memories/notes.md')).toBe(
      "Here's the content of /memories/notes.md with line numbers:\n     1\t/notes.md",
    );
    await service().execute(
      { command: 'str_replace', path: '/memories/notes.md', old_str: 'notes', new_str: 'n' },
      { tenant: id },
    );
    await service().execute(
      { command: 'rename', old_path: '/memories/notes.md', new_path: '/memories/a/b.md' },
      { tenant: id },
    );
    const [memory] = await readAll(stores.memories.list(id, { view: 'full' }));
    expect(memory).toMatchObject({ path: '/a/b.md', content: '/n.md' });
    const versions = await readAll(stores.memoryVersions.list(id));
    expect(versions.map(({ operation, path }) => [operation, path])).toStrictEqual([
      ['modified', '/a/b.md'],
      ['modified', '/notes.md'],
      ['created', '/notes.md'],
    ]);
    await stores.memories.update((memory as { id: string }).id, { ...of, content: 'new' });
    expect(await view(id, '/memories/a/b.md')).toBe(
      "Here's the content of /memories/a/b.md with line numbers:\n     1\tnew",
    );
  });

  it('returns a store for a tenant that the memory tool created, with the same ID and its files', async () => {
    const tenant = `own-${crypto.randomUUID()}`;
    await service().execute({ command: 'create', path: '/memories/a', file_text: 'x' }, { tenant });
    expect(await stores.retrieve(tenant)).toMatchObject({
      id: tenant,
      name: tenant,
      description: '',
      metadata: {},
    });
    expect(await listPaths(stores.memories.list(tenant))).toStrictEqual(['/a']);
  });

  it('lists memories by path, and filters them by prefix and depth, on several pages', async () => {
    const { id } = await storeWith('/a.md', '/a/x', '/a/y/z', '/a-b', '/b/1', '/b/2', '/c');
    await service().execute({ command: 'create', path: '/memories/void/x/y', file_text: '' }, { tenant: id });
    await service().execute({ command: 'delete', path: '/memories/void/x/y' }, { tenant: id });
    const list = (params: object) => listPaths(stores.memories.list(id, params));
    const whole = ['/a-b', '/a.md', '/a/x', '/a/y/z', '/b/1', '/b/2', '/c'];
    expect(await list({})).toStrictEqual(whole);
    expect(await list({ path_prefix: '/', depth: 0, limit: 2 })).toStrictEqual(whole);
    expect(await list({ path_prefix: '/a/', limit: 1 })).toStrictEqual(['/a/x', '/a/y/z']);
    expect(await list({ path_prefix: '/none/' })).toStrictEqual([]);
    // An empty directory is not listed.
    const children = ['/a/', '/a-b', '/a.md', '/b/', '/c'];
    expect(await list({ depth: 1 })).toStrictEqual(children);
    expect(await list({ depth: 1, limit: 2 })).toStrictEqual(children);
    expect(await list({ depth: 1, path_prefix: '/a/' })).toStrictEqual(['/a/x', '/a/y/']);
    expect((await stores.memories.list(id, { depth: 1, limit: 1 })).data).toStrictEqual([
      { type: 'memory_prefix', path: '/a/' },
    ]);
  });

  it('lists 20 memories per page by default and at most 100, but at most 20 with their contents', async () => {
    const { id } = await stores.create({ name: 'many' });
    await Promise.all(
      Array.from({ length: 101 }, (_, i) => stores.memories.create(id, { path: `/${i}`, content: `${i}` })),
    );
    const countMemories = async (params: object) => (await stores.memories.list(id, params)).data.length;
    expect(await countMemories({})).toBe(20);
    expect(await countMemories({ limit: 21, view: 'full' })).toBe(20);
    expect(await countMemories({ limit: 1000 })).toBe(100);
    expect(await countMemories({ limit: 3 })).toBe(3);
    expect((await readAll(stores.memories.list(id, { view: 'full' }))).length).toBe(101);
    const versions = await stores.memoryVersions.list(id, { view: 'full', limit: 50 });
    expect(versions.data.length).toBe(20);
    expect((await readAll(stores.memoryVersions.list(id, { limit: 40 }))).length).toBe(101);
  });

  it('ends a page of memories early if their contents are large', { tags: 'long' }, async () => {
    const { id } = await stores.create({ name: 'large' });
    const content = 'x'.repeat(1_000_000);
    for (let i = 0; i < 6; i++) await stores.memories.create(id, { path: `/${i}`, content });
    const page = await stores.memories.list(id, { view: 'full' });
    expect(page.data.length).toBe(5);
    expect((await page.getNextPage()).data).toMatchObject([{ path: '/5', content }]);
    expect((await stores.memoryVersions.list(id, { view: 'full' })).data.length).toBe(5);
  });

  it('ends a page of memories early if their contents are large only when encoded as JSON', async () => {
    const { id } = await stores.create({ name: 'large in JSON' });
    // 300,000 bytes, which are 1,800,000 bytes in JSON.
    const content = '\u0001'.repeat(300_000);
    for (let i = 0; i < 4; i++) await stores.memories.create(id, { path: `/${i}`, content });
    const page = await stores.memories.list(id, { view: 'full' });
    expect(page.data.length).toBe(3);
    expect((await page.getNextPage()).data).toMatchObject([{ path: '/3', content }]);
    const versions = await stores.memoryVersions.list(id, { view: 'full' });
    expect(versions.data.length).toBe(3);
    expect((await versions.getNextPage()).data).toMatchObject([{ path: '/0', content }]);
  });

  it("rejects a memory at, above, or below an existing memory's path, and names that memory", async () => {
    const { id, of } = await storeWith('/notes/todo.md', '/other');
    const [todo, other] = (await readAll(stores.memories.list(id))) as { id: string; path: string }[];
    const conflict = { conflicting_path: '/notes/todo.md', conflicting_memory_id: todo?.id };
    for (const path of ['/notes/todo.md', '/notes', '/notes/todo.md/x']) {
      const create = () => stores.memories.create(id, { path, content: 'x' });
      const move = () => stores.memories.update(other?.id ?? '', { ...of, path });
      for (const call of [create, move]) {
        const { error } = await expectError(call(), 409, 'memory_path_conflict_error');
        expect(error).toMatchObject({ error: conflict });
      }
    }
    expect((await readAll(stores.memoryVersions.list(id))).length).toBe(2);
  });

  it('replaces a directory that has no files by a memory with the same path', async () => {
    const { id, of } = await storeWith('/a/b/c', '/d/e/f', '/g');
    const tenant = { tenant: id };
    await service().execute({ command: 'delete', path: '/memories/a/b/c' }, tenant);
    await service().execute({ command: 'delete', path: '/memories/d/e/f' }, tenant);
    await stores.memories.create(id, { path: '/a', content: 'x' });
    const [, g] = (await readAll(stores.memories.list(id))) as { id: string }[];
    await stores.memories.update(g?.id ?? '', { ...of, path: '/d' });
    expect(await listPaths(stores.memories.list(id))).toStrictEqual(['/a', '/d']);
    expect(await view(id, '/memories')).toMatch(/\/memories\n\d+B\t\/memories\/a\n\d+B\t\/memories\/d$/);
  });

  it('moves a memory below its own path and back', async () => {
    const { id, of } = await storeWith('/a');
    const [memory] = (await readAll(stores.memories.list(id))) as { id: string }[];
    for (const path of ['/a/b/c', '/a/b', '/a']) {
      expect(await stores.memories.update(memory?.id ?? '', { ...of, path })).toMatchObject({ path });
      expect(await listPaths(stores.memories.list(id))).toStrictEqual([path]);
    }
  });

  it('records no version if an update changes nothing, even if the precondition does not match', async () => {
    const { id, of } = await storeWith('/a');
    const [memory] = (await readAll(stores.memories.list(id))) as { id: string; memory_version_id: string }[];
    const update = (params: object) => stores.memories.update(memory?.id ?? '', { ...of, ...params });
    for (const params of [{ content: '/a' }, { path: '/a' }, { content: '/a', path: null }]) {
      expect(await update({ ...params, ...sha256(WRONG) })).toStrictEqual(memory);
    }
    expect((await readAll(stores.memoryVersions.list(id))).length).toBe(1);
    await expectError(update({ content: 'x', ...sha256(WRONG) }), 409, 'memory_precondition_failed_error');
    await expectError(update({ path: '/b', ...sha256(WRONG) }), 409, 'memory_precondition_failed_error');
    const deleted = stores.memories.delete(memory?.id ?? '', { ...of, expected_content_sha256: WRONG });
    await expectError(deleted, 409, 'memory_precondition_failed_error');
    expect(await readAll(stores.memories.list(id))).toStrictEqual([memory]);
  });

  it('stores an empty memory', async () => {
    const { id } = await stores.create({ name: 'x' });
    const memory = await stores.memories.create(id, { path: '/empty', content: '', view: 'full' });
    expect(memory).toMatchObject({ content: '', content_sha256: EMPTY, content_size_bytes: 0 });
  });

  it('returns 404 for a memory or version that belongs to another store', async () => {
    const { of } = await storeWith();
    const { id } = await storeWith('/a');
    const [memory] = (await readAll(stores.memories.list(id))) as { id: string; memory_version_id: string }[];
    const { id: mine = '', memory_version_id: version = '' } = memory ?? {};
    await expectError(stores.memories.retrieve(mine, of), 404, 'not_found_error');
    await expectError(stores.memories.update(mine, { ...of, content: 'x' }), 404, 'not_found_error');
    await expectError(stores.memories.delete(mine, of), 404, 'not_found_error');
    await expectError(stores.memoryVersions.retrieve(version, of), 404, 'not_found_error');
    await expectError(stores.memoryVersions.redact(version, of), 404, 'not_found_error');
    expect(await readAll(stores.memoryVersions.list(of.memory_store_id, { memory_id: mine }))).toStrictEqual(
      [],
    );
    expect(await readAll(stores.memories.list(id))).toStrictEqual([memory]);
  });

  it('rejects redacting the current version, or an older version with the current content', async () => {
    const { id, of } = await storeWith('/a');
    const [memory] = (await readAll(stores.memories.list(id))) as { id: string; memory_version_id: string }[];
    const { id: mine = '', memory_version_id: first = '' } = memory ?? {};
    const redact = () => stores.memoryVersions.redact(first, of);
    await expectError(redact(), 409, 'conflict_error');
    await stores.memories.update(mine, { ...of, path: '/b' });
    await expectError(redact(), 409, 'conflict_error');
    await stores.memories.update(mine, { ...of, content: 'other' });
    const redacted = await redact();
    expect(redacted).toMatchObject({ path: null, content: null });
    expect(await redact()).toStrictEqual(redacted);
  });

  it('filters versions by operation, memory, and a time range that includes both ends', async () => {
    const { id, of } = await storeWith('/a', '/b');
    const [a] = (await readAll(stores.memories.list(id))) as { id: string }[];
    await stores.memories.update(a?.id ?? '', { ...of, path: '/c' });
    await stores.memories.delete(a?.id ?? '', of);
    const list = async (params: object) =>
      (await readAll(stores.memoryVersions.list(id, params))).map(
        ({ operation, path }) => `${operation} ${path}`,
      );
    const whole = ['deleted /c', 'modified /c', 'created /b', 'created /a'];
    expect(await list({})).toStrictEqual(whole);
    expect(await list({ limit: 1 })).toStrictEqual(whole);
    expect(await list({ operation: 'modified' })).toStrictEqual(['modified /c']);
    expect(await list({ memory_id: a?.id })).toStrictEqual(['deleted /c', 'modified /c', 'created /a']);
    expect(await list({ session_id: 'sesn_1' })).toStrictEqual([]);
    expect(await list({ api_key_id: 'apikey_1' })).toStrictEqual([]);
    expect(await list({ memory_id: 'mem_unknown' })).toStrictEqual([]);
    const [, modified, created] = await readAll(stores.memoryVersions.list(id));
    const between = { 'created_at[gte]': created?.created_at, 'created_at[lte]': modified?.created_at };
    expect(await list(between)).toStrictEqual(['modified /c', 'created /b']);
    // Go writes times with nanoseconds and any offset.
    const nanoseconds = { 'created_at[gte]': created?.created_at.replace('Z', '001Z') };
    expect(await list(nanoseconds)).toStrictEqual(['deleted /c', 'modified /c']);
    const offset = { 'created_at[lte]': '2000-01-01T00:00:00.5+02:00' };
    expect(await list(offset)).toStrictEqual([]);
  });

  it("stores each version's content byte for byte", { tags: 'random' }, async () => {
    const { id, of } = await stores
      .create({ name: 'random' })
      .then(({ id }) => ({ id, of: { memory_store_id: id } }));
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '\n', 'é', 'è', '€', '₭', '😀', '😁'),
      maxLength: 12,
    });
    let memories = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 2, maxLength: 8 }), async ([first = '', ...later]) => {
        const { id: memory } = await stores.memories.create(id, { path: `/${memories++}`, content: first });
        const contents = [first];
        for (const content of later) {
          const updated = await stores.memories.update(memory, { ...of, content, view: 'full' });
          expect(updated.content).toBe(content);
          if (content !== contents.at(-1)) contents.push(content);
        }
        const versions = await readAll(stores.memoryVersions.list(id, { memory_id: memory, view: 'full' }));
        expect(versions.map(({ content }) => content)).toStrictEqual(contents.toReversed());
      }),
      fuzzParameters(40),
    );
  });
});

async function viewFile(service: Service, tenant: string, path: string): Promise<string> {
  return (await service.execute({ command: 'view', path }, { tenant })).content;
}
