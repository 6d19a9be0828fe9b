/** D: deepagents' StoreBackend on LangGraph's PostgresStore. One of two concurrent edits to a file is lost. */
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store';
import { StoreBackend } from 'deepagents';
import { editsOf, seedStores, serve } from '../servers/stores.ts';

const store = new PostgresStore({
  connectionOptions: { connectionString: process.env.DATABASE_URL, max: 10, idleTimeoutMillis: 0 },
  schema: 'deepagents',
});
await store.setup();

/** @returns {import('../servers/stores.ts').Store} */
function openStore(tenant) {
  const backend = new StoreBackend({ store, namespace: [tenant, 'filesystem'] });
  const read = async (path) => requireContent(await backend.read(path, 0, 100_000));
  const write = async (path, content) => done(await backend.write(path, content));
  return {
    read,
    create: write,
    ...editsOf(read, write),
    replace: async (path, before, after) => done(await backend.edit(path, before, after)),
  };
}

function requireContent(result) {
  done(result);
  return result.content;
}

function done({ error }) {
  if (error) throw new Error(error);
}

await seedStores(openStore);
await serve(openStore);
