/** Reads and writes through everything that agents can reach, to compare memories. */
import { expect } from 'vitest';
import { message, requestHeaders } from './mcp.ts';
import type { KeyClient } from './rights-client.ts';
import { cmd, type Files } from './step-table.ts';
import type { Service } from './test-service.ts';

const DIRECTORIES = ['', '/a', '/a/b', '/a/b/c', '/h/i', '/z'];
/** Files in the memories that are compared. */
export const FILES: Files = Object.fromEntries(
  DIRECTORIES.flatMap((directory) => [
    [`/memories${directory}/f.md`, `secret of ${directory}!`],
    [`/memories${directory}/pinned.md`, 'pinned secret'],
  ]),
);
export const PATHS = [...DIRECTORIES.map((directory) => `/memories${directory}`), ...Object.keys(FILES)];

/** Each command's calls on a path. */
export const COMMANDS: Record<string, (path: string) => object[]> = {
  view: (path) => [cmd.view(path)],
  create: (path) => [cmd.create(path, 'n'), cmd.create(`${path}/new.md`, 'secret n')],
  str_replace: (path) => [cmd.replace(path, 'secret', 'SECRET')],
  insert: (path) => [cmd.insert(path, 0, 'secret line\n')],
  delete: (path) => [cmd.delete(path)],
  rename: (path) => [
    cmd.rename(path, `${path}.moved`),
    cmd.rename('/memories/z', path),
    cmd.rename(`${path}.moved`, '/memories/y'),
  ],
};

export type Read = (client: KeyClient, service: Service) => Promise<unknown>;

const get =
  (url: string): Read =>
  ({ request, tenant }) =>
    request('GET', url.replace(':store', tenant));
const mcp =
  (method: string, params?: object): Read =>
  async ({ key }, { app }) => {
    const headers = requestHeaders(key);
    const { body } = await app.inject({
      method: 'POST',
      url: '/mcp',
      headers,
      payload: message(method, params),
    });
    return body;
  };
const search =
  (input: object, headers?: Record<string, string>): Read =>
  ({ request }) =>
    request('POST', '/search', input, headers);
const WITH_PROVENANCE = { 'x-memory-provenance': 'include' };

/** Sorts a list in a response, because the changes to a directory's files have one time and random IDs. */
const sortList =
  (list: 'events' | 'data', read: Read): Read =>
  async (client, service) => {
    const body = (await read(client, service)) as Record<typeof list, object[]>;
    const items = body[list].map((item) => JSON.stringify(normalize(item, client))).sort();
    return { ...body, [list]: items.map((item) => JSON.parse(item)) };
  };
const allVersions: Read = async ({ request, tenant }) => {
  const data: object[] = [];
  for (let page = ''; ; ) {
    const url = `/v1/memory_stores/${tenant}/memory_versions?view=full&limit=20${page}`;
    const body = (await request('GET', url)) as { data: object[]; next_page: string | null };
    data.push(...body.data);
    if (body.next_page === null) return { data };
    page = `&page=${body.next_page}`;
  }
};

/**
 * Returns reads of `paths` through each route that reaches files, by its method and URL.
 */
export const listReads = (paths: readonly string[]): Record<string, Read[]> => ({
  'POST /execute': paths.map(
    (path): Read =>
      async ({ send }) =>
        (await send(cmd.view(path), WITH_PROVENANCE)).body,
  ),
  'POST /search': [
    search({ query: 'secret' }),
    search({ query: 'secret' }, WITH_PROVENANCE),
    search({ query: 'secret', mode: 'literal', max_results: 3 }),
    ...paths.map((path) => search({ query: 'f.md pinned', path })),
  ],
  'POST /mcp': [
    mcp('resources/list'),
    mcp('resources/read', { uri: 'memory:///context' }),
    ...paths.map((path) => mcp('resources/read', { uri: `memory://${path}` })),
  ],
  'GET /context': [get('/context'), get('/context?max_chars=1000')],
  'GET /instructions': [get('/instructions')],
  'GET /whoami': [get('/whoami')],
  'GET /v1/changes': [
    sortList('events', get('/v1/changes?limit=1000')),
    sortList('events', get('/v1/changes?limit=1000&content=true&path=/memories/a')),
  ],
  'GET /v1/memory_stores/{memory_store_id}/memories': [
    get('/v1/memory_stores/:store/memories?view=full&limit=20'),
    get('/v1/memory_stores/:store/memories?depth=1'),
    get('/v1/memory_stores/:store/memories?depth=1&path_prefix=/a/'),
    get('/v1/memory_stores/:store/memories?path_prefix=/a/b/'),
  ],
  'GET /v1/memory_stores/{memory_store_id}/memory_versions': [sortList('data', allVersions)],
});

/** Replaces the differences between two equal memories: IDs, times, cursors, and versions. */
function normalize(value: unknown, { tenant }: KeyClient): unknown {
  const text = JSON.stringify(value)
    .replaceAll(tenant, 'TENANT')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
    .replace(/\b(mem|memver|key|draft)_[0-9a-f]+/g, '$1_ID')
    .replace(/\\?"(cursor|next_page|version|request_id)\\?":\\?"[^"]*"/g, '"$1":"-"');
  return JSON.parse(text);
}

/** Fails unless all clients' calls give the same results. */
export async function compareCalls(
  clients: readonly KeyClient[],
  title: string,
  call: (client: KeyClient) => Promise<unknown>,
): Promise<void> {
  const results = [];
  for (const client of clients) results.push(normalize(await call(client), client));
  for (const result of results) expect({ title, result }, title).toStrictEqual({ title, result: results[0] });
}

/** Compares all reads of paths, and all commands on them. */
export async function compareDoors(
  service: Service,
  clients: readonly KeyClient[],
  paths: readonly string[],
): Promise<void> {
  const compareReads = async () => {
    for (const [route, reads] of Object.entries(listReads(paths)))
      for (const [i, read] of reads.entries())
        await compareCalls(clients, `${route} ${i}`, (client) => read(client, service));
  };
  await compareReads();
  for (const [name, calls] of Object.entries(COMMANDS))
    for (const path of paths)
      for (const input of calls(path))
        await compareCalls(clients, `${name} ${JSON.stringify(input)}`, async ({ send }) => {
          const { status, body } = await send(input);
          return { status, body };
        });
  for (const path of paths)
    await compareCalls(clients, `view ${path}`, async ({ send }) => (await send(cmd.view(path))).body);
  await compareReads();
}
