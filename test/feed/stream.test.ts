/** The live stream of changes, over sockets, from two replicas. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { MemoryPath } from '../../src/core/memory/path.ts';
import { Keys } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey } from '../support/admin.ts';
import { ChangeReader } from '../support/change-reader.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

let replicas: [Service, Service];
let keyed: Service;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const own = await createTestDatabase();
  const start = async (env: Record<string, string> = {}) => {
    const service = await startService('postgres', { DATABASE_URL: own.url, ...env });
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    cleanups.unshift(() => service.close());
    return service;
  };
  cleanups.push(own.drop);
  replicas = [await start(), await start()];
  keyed = await start({ AUTH: 'keys', AUTH_CACHE_SECONDS: '1' });
});
afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
});

it("sends the changes by any replica, and continues after the last event's ID", async () => {
  const tenant = freshTenant();
  const headers = { 'x-tenant-id': tenant };
  const client = await ChangeReader.open(replicas[0].app, 'changes?after=now', headers);
  await run(replicas[0], tenant, cmd.create('/memories/a', '1'));
  expect(await client.change()).toBe('created /memories/a');
  await run(replicas[1], tenant, cmd.create('/memories/b', '1'));
  const { id, data } = await client.next();
  expect(data).toMatchObject({ type: 'created', version: { path: '/memories/b' } });
  client.close();
  await run(replicas[1], tenant, cmd.rename('/memories/b', '/memories/c'));
  const again = await ChangeReader.open(replicas[1].app, 'changes?after=now', {
    ...headers,
    'last-event-id': id ?? '',
  });
  expect(await again.change()).toBe('renamed /memories/c');
  await run(replicas[0], tenant, cmd.delete('/memories/c'));
  expect(await again.change()).toBe('deleted /memories/c');
  again.close();
});

it('continues after the start of a stream that broke before its first event', async () => {
  const tenant = freshTenant();
  const headers = { 'x-tenant-id': tenant };
  const client = await ChangeReader.open(replicas[0].app, 'changes?after=now', headers);
  client.close();
  await run(replicas[1], tenant, cmd.create('/memories/a', '1'));
  const again = await ChangeReader.open(replicas[0].app, 'changes?after=now', {
    ...headers,
    'last-event-id': client.start ?? '',
  });
  expect(await again.change()).toBe('created /memories/a');
  again.close();
});

it('sends the position after events that the filter leaves out', async () => {
  const tenant = freshTenant();
  const client = await ChangeReader.open(replicas[0].app, 'changes?after=now&path=/memories/d', {
    'x-tenant-id': tenant,
  });
  await run(replicas[0], tenant, cmd.create('/memories/a', '1'));
  const skipped = await client.next();
  expect(skipped).toStrictEqual({ id: expect.any(String) });
  await run(replicas[0], tenant, cmd.create('/memories/d/b', '1'));
  expect(await client.change()).toBe('created /memories/d/b');
  client.close();
  const again = await ChangeReader.open(replicas[0].app, 'changes', {
    'x-tenant-id': tenant,
    'last-event-id': skipped.id ?? '',
  });
  expect(await again.change()).toBe('created /memories/d/b');
  again.close();
});

it('sends all changes to a client that did not read for a while', async () => {
  const tenant = freshTenant();
  const client = await ChangeReader.open(replicas[0].app, 'changes?content=true', { 'x-tenant-id': tenant });
  const names = Array.from({ length: 60 }, (_, i) => `/memories/f${i}`);
  // More than the buffers of a connection hold.
  const text = 'x'.repeat(100_000);
  for (const name of names) await run(replicas[0], tenant, cmd.create(name, text));
  for (const name of names) expect(await client.change()).toBe(`created ${name}`);
  client.close();
});

it('ends with a problem when the key is revoked', async () => {
  const tenant = freshTenant();
  await new Tenants(keyed.database).create(tenant);
  const { key, id } = await makeKey(keyed, { tenant });
  const client = await ChangeReader.open(keyed.app, 'changes?after=now', { authorization: `Bearer ${key}` });
  await new Keys(keyed.database).revoke(id);
  expect(await client.next()).toMatchObject({ event: 'problem', data: { code: 'unauthorized' } });
  await expect(client.next()).rejects.toThrow('The stream has ended.');
});

it("ends with a problem when the key's rights change, and sends no changes to hidden paths before", async () => {
  const tenant = freshTenant();
  await new Tenants(keyed.database).create(tenant);
  const hide = (path: string) => [{ path: path as MemoryPath, access: 'none' as const }];
  const { key, id } = await makeKey(keyed, { tenant, rights: hide('/memories/secret') });
  const client = await ChangeReader.open(keyed.app, 'changes?after=now', { authorization: `Bearer ${key}` });
  const { key: all } = await makeKey(keyed, { tenant });
  for (const path of ['/memories/secret/a', '/memories/b'])
    await keyed.execute(cmd.create(path, '1'), { headers: { authorization: `Bearer ${all}` } });
  expect(await client.nextChange()).toMatchObject({ type: 'created', version: { path: '/memories/b' } });
  await new Keys(keyed.database).update(id, { rights: hide('/memories/other') });
  expect(await client.nextChange()).toMatchObject({ code: 'access_changed' });
});

it('ends with a problem when the position expires', async () => {
  const tenant = freshTenant();
  const [replica] = replicas;
  await run(replica, tenant, cmd.create('/memories/a', '1'));
  const client = await ChangeReader.open(replica.app, 'changes', { 'x-tenant-id': tenant });
  expect(await client.change()).toBe('created /memories/a');
  await replica.query("UPDATE tenants SET history_since = '2099-01-01T00:00:00Z' WHERE id = $1::text", [
    tenant,
  ]);
  await run(replica, tenant, cmd.create('/memories/b', '1'));
  expect(await client.next()).toMatchObject({ event: 'problem', data: { code: 'changes_expired' } });
});
