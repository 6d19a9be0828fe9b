/** A store in the service as a directory in `SessionMemoryStores`, with a record of the sync requests. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type Anthropic from '@anthropic-ai/sdk';
import type { SessionMemoryStores } from '@anthropic-ai/sdk/tools/agent-toolset/node';
import { install } from '../client/packed-client.ts';
import { fetchFrom, readAll } from '../support/memory-stores.ts';
import type { Service } from '../support/test-service.ts';

/** Contents by paths without a slash at the start. */
export type Files = Record<string, string>;

/** Handles a sync request, named by the operation and the path. `send` sends the request to the service. */
export type Route = (name: string, send: () => Promise<Response>) => Promise<Response>;

/** The package's types lack `syncAll`. The SDK's own suite calls it too. */
type Stores = SessionMemoryStores & { syncAll(final: boolean): Promise<void> };

export interface Sdk {
  Anthropic: typeof Anthropic;
  SessionMemoryStores: new (...options: ConstructorParameters<typeof SessionMemoryStores>) => Stores;
}

export async function installedSdk(version: string): Promise<Sdk> {
  const { directory } = await install([`@anthropic-ai/sdk@${version}`], 'prefer-offline');
  const load = (file: string) =>
    import(pathToFileURL(join(directory, 'node_modules/@anthropic-ai/sdk', file)).href);
  const { Anthropic } = await load('index.mjs');
  const { SessionMemoryStores } = await load('tools/agent-toolset/node.mjs');
  return { Anthropic, SessionMemoryStores };
}

export function createSession(memory_store_id: string, access: 'read_write' | 'read_only' = 'read_write') {
  const resource = { type: 'memory_store', memory_store_id, access, mount_path: null, name: 'notes' };
  return { resources: [resource] } as unknown as Parameters<SessionMemoryStores['download']>[0];
}

export type Attached = Awaited<ReturnType<typeof attachedStore>>;

/** Creates a store, and downloads it to `memory/notes` in a directory. */
export async function attachedStore(
  service: Service,
  sdk: Sdk,
  directory: string,
  initial: Files,
  access: 'read_write' | 'read_only' = 'read_write',
) {
  const serviceFetch = fetchFrom(service);
  const options = { apiKey: 'any', baseURL: 'http://localhost', maxRetries: 0, logLevel: 'off' as const };
  /** The client for another writer. */
  const { memoryStores } = new sdk.Anthropic({ ...options, fetch: serviceFetch }).beta;
  const { id } = await memoryStores.create({ name: 'notes' });
  const of = { memory_store_id: id };

  const paths = new Map<string, string>();
  async function memories() {
    const listed = await readAll(memoryStores.memories.list(id, { view: 'full' }));
    const found = listed.flatMap((each) => (each.type === 'memory' ? [each] : []));
    for (const each of found) paths.set(each.id, each.path.slice(1));
    return found;
  }
  const findId = async (path: string) =>
    (await memories()).find((each) => each.path === `/${path}`)?.id ?? '';
  async function findPath(memory: string) {
    if (!paths.has(memory)) await memories();
    return paths.get(memory) ?? '';
  }
  const store = {
    id,
    memoryStores,
    write: async (path: string, content: string) => {
      const memory = await findId(path);
      if (memory === '') await memoryStores.memories.create(id, { path: `/${path}`, content });
      else await memoryStores.memories.update(memory, { ...of, content });
    },
    rename: async (from: string, to: string) => {
      await memoryStores.memories.update(await findId(from), { ...of, path: `/${to}` });
      paths.clear();
    },
    delete: async (path: string) => void (await memoryStores.memories.delete(await findId(path), of)),
    files: async (): Promise<Files> =>
      Object.fromEntries((await memories()).map(({ path, content }) => [path.slice(1), content ?? ''])),
  };
  for (const [path, content] of Object.entries(initial)) await store.write(path, content);

  /** Writes by the sync. */
  const sent: string[] = [];
  /** Paths of the memories whose contents the sync has read one by one. */
  const fetched: string[] = [];
  let route: Route = (_, send) => send();
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const [, , , , , memory] = new URL(request.url).pathname.split('/');
    const path = memory === undefined ? '' : await findPath(memory);
    const created = memory === undefined && request.method === 'POST';
    const body = (created ? await request.clone().json() : {}) as { path?: string };
    const names = memory === undefined ? { GET: 'list', POST: 'create' } : { GET: 'fetch', POST: 'update' };
    const verb = { ...names, DELETE: 'delete' }[request.method];
    const name = `${verb} ${body.path?.slice(1) ?? path}`;
    if (request.method !== 'GET') sent.push(name);
    else if (verb === 'fetch') fetched.push(path);
    return route(name, () => serviceFetch(input, init));
  };
  const stores = new sdk.SessionMemoryStores(new sdk.Anthropic({ ...options, fetch }), {
    workdir: directory,
  });
  await stores.download(createSession(id, access));
  fetched.length = 0;

  const filePath = (path: string) => join(directory, 'memory/notes', path);
  const disk = {
    write: async (path: string, content: string | Uint8Array) => {
      await mkdir(dirname(filePath(path)), { recursive: true });
      await writeFile(filePath(path), content);
    },
    delete: (path: string) => rm(filePath(path), { recursive: true }),
    read: (path: string) => readFile(filePath(path), 'utf8').catch(() => undefined),
  };
  return {
    ...{ stores, store, disk, sent, fetched },
    sync: () => stores.syncAll(false),
    /** Handles the sync's following requests. */
    through: (next: Route) => {
      route = next;
    },
    directly: () => {
      route = (_, send) => send();
    },
  };
}
