/**
 * A memory store as a directory, synchronized by the Anthropic SDK's worker, for agents that use files instead of the
 * memory tool. The API key must be created with --service --manage-stores.
 *
 *   export MEMORY_SERVICE_URL=http://localhost:8080 MEMORY_SERVICE_API_KEY=msk_…
 *   npx tsx examples/store-directory.ts
 */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { SessionMemoryStores } from '@anthropic-ai/sdk/tools/agent-toolset/node';

const client = new Anthropic({
  baseURL: process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080',
  apiKey: process.env.MEMORY_SERVICE_API_KEY ?? null,
  logLevel: 'off',
});
const { memoryStores } = client.beta;
const store = await memoryStores.create({ name: 'team', description: 'What the team knows' });
const notes = await memoryStores.memories.create(store.id, { path: '/notes.md', content: 'first\n' });

// A worker receives this resource from its session.
const resource = { type: 'memory_store', memory_store_id: store.id, access: 'read_write', name: 'team' };
const workdir = await mkdtemp(join(tmpdir(), 'agent-'));
const directories = new SessionMemoryStores(client, { workdir });
await directories.download({ resources: [resource] } as unknown as Parameters<
  typeof directories.download
>[0]);
const [directory = ''] = directories.roots;
console.log('in the directory:', JSON.stringify(await readFile(join(directory, 'notes.md'), 'utf8')));

// The agent writes one file, another client creates another, and both change a third.
await writeFile(join(directory, 'plan.md'), 'Ship it.\n');
await writeFile(join(directory, 'notes.md'), 'from the directory\n');
await memoryStores.memories.update(notes.id, { memory_store_id: store.id, content: 'from the store\n' });
await memoryStores.memories.create(store.id, { path: '/people/ada.md', content: 'Lives in Lyon.\n' });
await directories.finish();

for (const file of ['notes.md', 'plan.md', 'people/ada.md']) {
  console.log(`${file} in the directory:`, JSON.stringify(await readFile(join(directory, file), 'utf8')));
}
for await (const item of memoryStores.memories.list(store.id, { view: 'full' })) {
  if (item.type === 'memory') console.log(`${item.path} in the store:`, JSON.stringify(item.content));
}
await directories.dispose();
await memoryStores.delete(store.id);
