/**
 * Runs all Memory Stores API operations with the Anthropic SDK in the project that it is copied to, and prints the
 * results.
 */
import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: process.env.URL, apiKey: process.env.KEY, maxRetries: 0 });
const stores = client.beta.memoryStores;
const print = (...values) => console.log(...values);

const store = await stores.create({ name: 'Notes', description: 'Of one user', metadata: { user: 'ada' } });
const of = { memory_store_id: store.id };
print('create', store.type, store.name, store.metadata.user);
print('retrieve', (await stores.retrieve(store.id)).id === store.id);
print(
  'update',
  JSON.stringify((await stores.update(store.id, { metadata: { user: null, team: 'x' } })).metadata),
);
const listed = [];
for await (const { id } of stores.list({ limit: 1 })) listed.push(id);
print('list', listed.includes(store.id));

const memory = await stores.memories.create(store.id, { path: '/a.md', content: 'one' });
print('memories.create', memory.type, memory.path, memory.content, memory.content_size_bytes);
print('memories.retrieve', (await stores.memories.retrieve(memory.id, of)).content);
const updated = await stores.memories.update(memory.id, {
  ...{ ...of, content: 'two', path: '/b/c.md', view: 'full' },
  precondition: { type: 'content_sha256', content_sha256: memory.content_sha256 },
});
print('memories.update', updated.path, updated.content, updated.id === memory.id);
const stale = await stores.memories
  .update(memory.id, {
    ...{ ...of, content: 'three' },
    precondition: { type: 'content_sha256', content_sha256: memory.content_sha256 },
  })
  .catch((error) => error);
print('stale', stale instanceof Anthropic.ConflictError, stale.error.error.type);
const paths = [];
for await (const item of stores.memories.list(store.id, { depth: 1 }))
  paths.push(`${item.type} ${item.path}`);
print('memories.list', paths.join());

const versions = [];
for await (const each of stores.memoryVersions.list(store.id, { limit: 1, view: 'full' }))
  versions.push(each);
print('memoryVersions.list', versions.map(({ operation, content }) => `${operation} ${content}`).join());
const first = versions.at(-1);
print('memoryVersions.retrieve', (await stores.memoryVersions.retrieve(first.id, of)).created_by.type);
const redacted = await stores.memoryVersions.redact(first.id, of);
print('memoryVersions.redact', redacted.content, redacted.path, redacted.redacted_at !== null);
print('memories.delete', (await stores.memories.delete(memory.id, of)).type);

print('archive', (await stores.archive(store.id)).archived_at !== null);
print('delete', (await stores.delete(store.id)).type);
const gone = await stores.retrieve(store.id).catch((error) => error);
print('gone', gone instanceof Anthropic.NotFoundError, gone.requestID !== null);
