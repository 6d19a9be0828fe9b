/** G: AgentFS, with a SQLite database per tenant. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AgentFS } from 'agentfs-sdk';
import { editsOf, seedStores, serve } from '../servers/stores.ts';

const { DIRECTORY = '' } = process.env;
mkdirSync(DIRECTORY, { recursive: true });
const stores = new Map();

/** @returns {Promise<import('../servers/stores.ts').Store>} */
function openStore(tenant) {
  if (!stores.has(tenant)) stores.set(tenant, open(tenant));
  return stores.get(tenant);
}

async function open(tenant) {
  const { fs } = await AgentFS.open({ path: join(DIRECTORY, `${tenant}.db`) });
  const read = (path) => fs.readFile(path, 'utf8');
  const write = (path, content) => fs.writeFile(path, content);
  return { read, create: write, ...editsOf(read, write) };
}

await seedStores(openStore);
await serve(openStore);
