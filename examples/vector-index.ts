/**
 * A vector index that is kept in step with a memory: it reads all files once, and then follows the changes.
 *
 *   export MEMORY_SERVICE_URL=http://localhost:8080 MEMORY_SERVICE_API_KEY=msk_…
 *   npx tsx examples/vector-index.ts "where does the user live?"
 */
import { MemoryClient } from 'memory-service-client';

const memory = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080',
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});

/** Stands in for an embedding model: counts the words by a hash. */
async function embed(text: string): Promise<number[]> {
  const vector = new Array<number>(256).fill(0);
  for (const word of text.toLowerCase().match(/\w+/g) ?? []) {
    const hash = [...word].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 256, 0);
    vector[hash] = (vector[hash] ?? 0) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((each) => each / length);
}

/** Stands in for a vector database. Save the cursor there too, in the transaction that writes a vector. */
const index = new Map<string, number[]>();

async function showBest(question: string): Promise<void> {
  const asked = await embed(question);
  const score = (vector: number[]) => vector.reduce((sum, each, i) => sum + each * (asked[i] ?? 0), 0);
  const [best] = [...index].sort(([, a], [, b]) => score(b) - score(a));
  console.log(`${index.size} files, the best: ${best?.[0] ?? 'none'}`);
}

async function resync(): Promise<void> {
  index.clear();
  for (const { path, content } of await memory.files().readAll('/'))
    index.set(`/memories${path}`, await embed(content));
}

const [question = 'where does the user live?'] = process.argv.slice(2);
// The position comes first: a change during the reading of the files is then applied once more.
const { cursor } = await memory.listChanges({ after: 'now', limit: 1 });
await resync();
await showBest(question);
for await (const change of memory.changes({ after: cursor, content: true, resync })) {
  // An event of the tenant or of a draft changes no file.
  if (!('version' in change)) continue;
  const { version, type, content } = change;
  if (version.previous_path !== null) index.delete(version.previous_path);
  if (version.path !== null && type !== 'deleted' && content != null)
    index.set(version.path, await embed(content));
  await showBest(question);
}
