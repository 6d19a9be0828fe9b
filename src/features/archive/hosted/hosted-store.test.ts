import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HostedClient } from './hosted-client.ts';
import { HostedStore, listStores } from './hosted-store.ts';

/** The body in every response. */
let body: unknown;
const server = createServer((_request, response) => response.end(JSON.stringify(body)));
let client: HostedClient;
let store: HostedStore;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new HostedClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'key');
  store = new HostedStore(client, 'memstore_x');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const time = '2026-11-20T10:00:00Z';
const memory = (fields: object) => ({
  ...{ type: 'memory', id: 'mem_1', memory_version_id: 'memver_1', path: '/a', content: 'x' },
  ...{ content_sha256: 'a'.repeat(64), created_at: time, updated_at: time, ...fields },
});
const version = (fields: object) => ({
  ...{ type: 'memory_version', id: 'memver_1', memory_id: 'mem_1', operation: 'created', path: '/a' },
  ...{ content: 'x', created_at: time, ...fields },
});

/** Reads a list that has one page. */
async function read<Item>(items: AsyncIterable<Item>, data: unknown[]): Promise<Item[]> {
  body = { data, next_page: null };
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

it('skips an item with an unknown type, and ignores unknown fields', async () => {
  const memories = [{ type: 'memory_link', target: 'mem_9' }, memory({ id: 'mem_2', color: 'red' })];
  expect(await read(store.memories('full'), memories)).toMatchObject([{ id: 'mem_2' }]);
  const versions = [{ type: 'memory_version_summary' }, version({ id: 'memver_2', color: 'red' })];
  expect(await read(store.versions(), versions)).toMatchObject([{ id: 'memver_2' }]);
});

it('reads a version as a change if its operation is unknown', async () => {
  const redacted = { operation: 'merged', path: null, content: null, redacted_at: time };
  const versions = [version({ operation: 'restored' }), version(redacted), version({ operation: 'deleted' })];
  expect((await read(store.versions(), versions)).map(({ operation }) => operation)).toStrictEqual([
    'modified',
    'modified',
    'deleted',
  ]);
});

it.each<[problem: string, fields: object]>([
  ['operation: is unknown, and there is no content', { operation: 'archived', content: null }],
  ['operation: expected string, received undefined', { operation: undefined }],
  ['created_at: is not a valid time', { created_at: 'yesterday' }],
  ['redacted_at: is not a valid time', { redacted_at: '2026-13-01T00:00:00Z' }],
  ['content: expected string, received array', { content: [] }],
])('names a version that cannot be read because of %s', async (problem, fields) => {
  await expect(read(store.versions(), [version({ id: 'memver_0' }), version(fields)])).rejects.toThrow(
    `The store sent a memory version that cannot be read: memver_1 of mem_1 (${problem}).`,
  );
});

it.each<[problem: string, fields: object]>([
  ['updated_at: expected string, received undefined', { updated_at: undefined }],
  ['memory_version_id: expected string, received number', { memory_version_id: 7 }],
  ['content: expected string, received null', { content: null }],
  ['created_at: is not a valid time', { created_at: '2026-11-20' }],
])('names a memory that cannot be read because of %s', async (problem, fields) => {
  await expect(read(store.memories('full'), [memory(fields)])).rejects.toThrow(
    `The store sent a memory that cannot be read: mem_1 (${problem}).`,
  );
});

it('describes the problem if an item is not an object', async () => {
  await expect(read(store.memories('full'), [null])).rejects.toThrow(
    'The store sent a memory that cannot be read: (id: expected string, received undefined).',
  );
});

it('accepts a memory without content if the list was requested without contents', async () => {
  expect(await read(store.memories('basic'), [memory({ content: null })])).toMatchObject([{ id: 'mem_1' }]);
});

it('reads a store without a name, and one whose metadata are not pairs', async () => {
  const record = { id: 'memstore_x', created_at: time };
  const stores = [record, { ...record, metadata: null }, { ...record, metadata: ['a'] }];
  expect(await read(listStores(client), stores)).toMatchObject([record, record, record]);
  body = record;
  expect(await store.retrieve()).toMatchObject(record);
});

it('names the invalid field if a store cannot be read', async () => {
  body = { id: 'memstore_x' };
  await expect(store.retrieve()).rejects.toThrow(
    / responds to \/v1\/memory_stores\/memstore_x, but not like a memory store \(created_at: expected string, received undefined\)\.$/,
  );
});
