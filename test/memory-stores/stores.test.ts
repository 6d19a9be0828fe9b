/** @module-tag long-on-pglite */
import type Anthropic from '@anthropic-ai/sdk';
import { beforeAll, expect, it } from 'vitest';
import { openAdmin } from '../support/admin.ts';
import { createArchive } from '../support/create-archive.ts';
import { assertInvariants } from '../support/invariants.ts';
import { expectError, readAll, sdk } from '../support/memory-stores.ts';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';

describeService('memory stores', (service) => {
  let stores: Anthropic['beta']['memoryStores'];
  beforeAll(() => {
    stores = sdk(service(), 'any').beta.memoryStores;
  });

  it('lists stores newest first within a time range, and archived stores only on request', async () => {
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await stores.create({ name }));
    const [a, b, c] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
    await stores.archive(b.id);
    const between = { 'created_at[gte]': a.created_at, 'created_at[lte]': c.created_at };
    const names = async (params: object) => (await readAll(stores.list(params))).map(({ name }) => name);
    expect(await names(between)).toStrictEqual(['c', 'a']);
    expect(await names({ ...between, include_archived: false })).toStrictEqual(['c', 'a']);
    expect(await names({ ...between, include_archived: true, limit: 1 })).toStrictEqual(['c', 'b', 'a']);
    expect(await names({ 'created_at[gte]': b.created_at, 'created_at[lte]': b.created_at })).toStrictEqual(
      [],
    );
  });

  it('merges metadata in an update, and keeps fields that are null or unchanged', async () => {
    const store = await stores.create({ name: 'x', metadata: { a: '1', b: '2' } });
    const same = await stores.update(store.id, {
      name: null,
      description: null,
      metadata: { a: '1', c: null },
    });
    expect(same).toStrictEqual(store);
    const updated = await stores.update(store.id, { description: 'd', metadata: { a: null, c: '' } });
    expect(updated).toMatchObject({ name: 'x', description: 'd', metadata: { b: '2', c: '' } });
    expect(await stores.update(store.id, { description: '' })).toMatchObject({ description: '' });
    const many = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${i}`, '']));
    await expectError(stores.update(store.id, { metadata: many }), 400, 'invalid_request_error');
    expect(await stores.retrieve(store.id)).toMatchObject({ metadata: { b: '2', c: '' } });
  });

  it('limits store names to 255 characters and descriptions to 1,024 characters', async () => {
    const name = '😀'.repeat(255);
    const description = '😀'.repeat(1024);
    expect(await stores.create({ name, description })).toMatchObject({ name, description });
    for (const body of [
      { name: `${name}x` },
      { name: '' },
      { name: 'a\nb' },
      { name, description: `${description}x` },
    ]) {
      await expectError(stores.create(body), 400, 'invalid_request_error');
    }
  });

  it('rejects changes to an archived store, except deletions and redactions', async () => {
    const { id } = await stores.create({ name: 'x' });
    const of = { memory_store_id: id };
    const memory = await stores.memories.create(id, { path: '/a', content: 'first' });
    await stores.memories.create(id, { path: '/b', content: 'b' });
    await stores.memories.update(memory.id, { ...of, content: 'second' });
    const archived = await stores.archive(id);
    expect(await stores.archive(id)).toStrictEqual(archived);

    const rejected = [
      () => stores.update(id, { name: 'y' }),
      () => stores.memories.create(id, { path: '/c', content: '' }),
      () => stores.memories.update(memory.id, { ...of, content: 'third' }),
      () => stores.memories.update(memory.id, { ...of, path: '/c' }),
    ];
    for (const call of rejected) await expectError(call(), 400, 'invalid_request_error');
    const commands = [
      { command: 'create', path: '/memories/c', file_text: '' },
      { command: 'str_replace', path: '/memories/a', old_str: 'second', new_str: '' },
      { command: 'insert', path: '/memories/a', insert_line: 0, insert_text: '' },
      { command: 'rename', old_path: '/memories/a', new_path: '/memories/c' },
    ];
    for (const command of commands) {
      const { content, is_error } = await service().execute(command, { tenant: id });
      expect([content, is_error]).toStrictEqual(['Error: This memory is read-only', true]);
    }

    const versions = await readAll(stores.memoryVersions.list(id));
    expect(versions.length).toBe(3);
    expect(await stores.memories.retrieve(memory.id, of)).toMatchObject({ path: '/a', content: 'second' });
    expect(await stores.memoryVersions.redact(memory.memory_version_id, of)).toMatchObject({ path: null });
    expect((await service().execute({ command: 'view', path: '/memories/a' }, { tenant: id })).is_error).toBe(
      false,
    );
    await stores.memories.delete(memory.id, of);
    const deleted = await service().execute({ command: 'delete', path: '/memories/b' }, { tenant: id });
    expect(deleted.content).toBe('Successfully deleted /memories/b');
    expect(await readAll(stores.memories.list(id))).toStrictEqual([]);
    await stores.delete(id);
    await assertInvariants(service());
  });

  it('shows stores in the admin API and the CLI, and rejects changes to an archived store there', async () => {
    const { id } = await stores.create({ name: 'Team', description: 'What we know', metadata: { a: 'b' } });
    const { memory_version_id: version } = await stores.memories.create(id, { path: '/a', content: 'x' });
    const { archived_at } = await stores.archive(id);
    const admin = await openAdmin(service());
    const tenant = `/tenants/${id}`;
    expect((await admin.call('GET', tenant)).body).toMatchObject({
      name: 'Team',
      description: 'What we know',
      metadata: { a: 'b' },
      archived_at,
    });
    const written = await admin.call('PUT', `${tenant}/file?path=/memories/b`, {
      body: 'text',
      type: 'text/plain',
      headers: { 'if-none-match': '*' },
    });
    const restored = await admin.call('POST', `${tenant}/restore`, {
      body: { path: '/memories/a', at: '0s' },
    });
    const imported = await admin.call('POST', `${tenant}/import`, {
      body: createArchive({ 'memories/b': 'x' }),
      type: 'application/x-tar',
    });
    for (const { status, body } of [written, restored, imported]) {
      expect([status, body.code]).toStrictEqual([409, 'tenant_archived']);
    }
    await admin.app.close();
    const shown = await runOn(service(), ['tenants', 'show', id]);
    expect(shown.stdout).toMatch(/name +Team\n.*description +What we know\n/s);
    expect(shown.stdout).toMatch(/archived +since \d{4}-/);
    const restoring = await runOn(service(), ['restore', id, '/memories/a', '--version', toUuid(version)]);
    expect(restoring.stderr).toContain(`Tenant ${id} is archived: nothing in it can be created or changed.`);
  });

  it('keeps the description and metadata when a store is renamed or copied', async () => {
    const store = await stores.create({ name: 'x', description: 'd', metadata: { a: 'b' } });
    const { stdout } = await runOn(service(), ['tenants', 'copy', store.id, `${store.id}-copy`]);
    expect(stdout).not.toBe('');
    const { description, metadata, name } = await stores.retrieve(`${store.id}-copy`);
    expect({ name, description, metadata }).toStrictEqual({
      name: 'x',
      description: 'd',
      metadata: { a: 'b' },
    });
    await runOn(service(), ['tenants', 'rename', store.id, `${store.id}-new`]);
    expect(await stores.retrieve(`${store.id}-new`)).toStrictEqual({ ...store, id: `${store.id}-new` });
    await expectError(stores.retrieve(store.id), 404, 'not_found_error');
  });
});

function toUuid(id: string): string {
  return id.replace(/^memver_(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
