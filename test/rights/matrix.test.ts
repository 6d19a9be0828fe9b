/**
 * Isolation of rights by path: everything that a key with rights can do gives the same responses in a memory with hidden
 * files and in one in which they never existed. Covers each route and tool that agents can reach: a new one fails the
 * test until it is classified.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { commands } from '../../src/core/memory/commands/index.ts';
import { canChange, isReadable } from '../../src/core/memory/rights.ts';
import { message, requestHeaders } from '../support/mcp.ts';
import {
  type KeyClient,
  keyClient,
  type RightsByPath,
  tenantWithFiles,
  toRights,
} from '../support/rights-client.ts';
import { cmd, type Files } from '../support/step-table.ts';
import { describeService, type Service } from '../support/test-service.ts';

const DIRECTORIES = ['', '/a', '/a/b', '/a/b/c', '/h/i', '/z'];
const FILES: Files = Object.fromEntries(
  DIRECTORIES.flatMap((directory) => [
    [`/memories${directory}/f.md`, `secret of ${directory}!`],
    [`/memories${directory}/pinned.md`, 'pinned secret'],
  ]),
);
const PATHS = [...DIRECTORIES.map((directory) => `/memories${directory}`), ...Object.keys(FILES)];

/** Each command's calls on a path. */
const COMMANDS: Record<string, (path: string) => object[]> = {
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

type Read = (client: KeyClient, service: Service) => Promise<unknown>;

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

/** Reads through each route, by its method and URL. Routes that cannot reach files have none. */
const ROUTES: Record<string, Read[]> = {
  'POST /execute': PATHS.map(
    (path): Read =>
      async ({ send }) =>
        (await send(cmd.view(path), WITH_PROVENANCE)).body,
  ),
  'POST /search': [
    search({ query: 'secret' }),
    search({ query: 'secret' }, WITH_PROVENANCE),
    search({ query: 'secret', mode: 'literal', max_results: 3 }),
    ...PATHS.map((path) => search({ query: 'f.md pinned', path })),
  ],
  'POST /mcp': [
    mcp('resources/list'),
    mcp('resources/read', { uri: 'memory:///context' }),
    ...PATHS.map((path) => mcp('resources/read', { uri: `memory://${path}` })),
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
};

/** Routes for keys that share, which have no rights (keys.test.ts). */
const FOR_SHARING = [
  'GET /v1/invitations',
  'POST /v1/invitations',
  'DELETE /v1/invitations/{invitation}',
  'GET /v1/shares',
  'POST /v1/shares',
  'DELETE /v1/shares/{share}',
];

/** Tools. A key with rights can neither share, nor see the tool for it. */
const TOOLS = ['memory_search', 'memory_sharing'];

/** Routes of the Memory Stores API that name a file or a version by its ID, or the store. `stores.test.ts` has them. */
const BY_ID = [
  'POST /v1/memory_stores',
  'GET /v1/memory_stores',
  'GET /v1/memory_stores/{memory_store_id}',
  'POST /v1/memory_stores/{memory_store_id}',
  'DELETE /v1/memory_stores/{memory_store_id}',
  'POST /v1/memory_stores/{memory_store_id}/archive',
  'POST /v1/memory_stores/{memory_store_id}/memories',
  'GET /v1/memory_stores/{memory_store_id}/memories/{memory_id}',
  'POST /v1/memory_stores/{memory_store_id}/memories/{memory_id}',
  'DELETE /v1/memory_stores/{memory_store_id}/memories/{memory_id}',
  'GET /v1/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}',
  'POST /v1/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}/redact',
];
/** Routes that serve no memory. */
const PUBLIC = [
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /.well-known/oauth-protected-resource',
  'GET /.well-known/oauth-protected-resource/mcp',
];

const SETS: RightsByPath[] = [
  { '/memories/a': 'none' },
  { '/memories/a/b': 'none', '/memories/h/i': 'none' },
  { '/memories/a/b/c': 'none' },
  { '/memories/f.md': 'none', '/memories/a/b/f.md': 'none' },
  { '/memories': 'none', '/memories/a/b': 'read_write' },
  { '/memories': 'none', '/memories/a/b/c': 'read_only', '/memories/z': 'read_write' },
  { '/memories/a': 'none', '/memories/a/b': 'read_only', '/memories/a/b/c': 'none' },
  { '/memories/a': 'read_only', '/memories/a/b': 'none', '/memories/a/b/c': 'read_write' },
  { '/memories': 'none', '/memories/a/b/f.md': 'read_write' },
  { '/memories/a.moved': 'none', '/memories/z': 'none', '/memories/a/new.md': 'none' },
];

const LEVELS = [undefined, 'none', 'read_only', 'read_write'] as const;
/** Each eleventh combination of accesses for four nested directories. */
const COMBINATIONS: RightsByPath[] = Array.from({ length: 23 }, (_, i) => 7 + 11 * i).map((number) => {
  const rights: RightsByPath = {};
  for (const [depth, path] of ['/memories', '/memories/a', '/memories/a/b', '/memories/a/b/c'].entries()) {
    const access = LEVELS[(number >> (2 * depth)) & 3];
    if (access !== undefined) rights[path] = access;
  }
  return rights;
});

/** Replaces the differences between two equal memories: IDs, times, cursors, and versions. */
function normalize(value: unknown, { tenant }: KeyClient): unknown {
  const text = JSON.stringify(value)
    .replaceAll(tenant, 'TENANT')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
    .replace(/\b(mem|memver|key)_[0-9a-f]+/g, '$1_ID')
    .replace(/\\?"(cursor|next_page|version|request_id)\\?":\\?"[^"]*"/g, '"$1":"-"');
  return JSON.parse(text);
}

describeService(
  'a memory with hidden files',
  (service) => {
    const compareMemories = async (given: RightsByPath) => {
      const rights = toRights(given);
      const readable = Object.entries(FILES).filter(([path]) => isReadable(rights, path));
      const memories = [FILES, Object.fromEntries(readable)].map((files) =>
        tenantWithFiles(service(), files),
      );
      const clients: KeyClient[] = [];
      for (const memory of memories) clients.push(await keyClient(service(), (await memory).tenant, given));
      const compare = async (title: string, call: (client: KeyClient) => Promise<unknown>) => {
        const results = [];
        for (const client of clients) results.push(normalize(await call(client), client));
        expect({ title, result: results[0] }, title).toStrictEqual({ title, result: results[1] });
      };
      const compareReads = async () => {
        for (const [route, reads] of Object.entries(ROUTES))
          for (const [i, read] of reads.entries())
            await compare(`${route} ${i}`, (client) => read(client, service()));
      };
      await compareReads();
      for (const [name, calls] of Object.entries(COMMANDS))
        for (const path of PATHS)
          for (const input of calls(path))
            await compare(`${name} ${JSON.stringify(input)}`, async ({ send }) => {
              const { status, body } = await send(input);
              return { status, body };
            });
      for (const path of PATHS)
        await compare(`view ${path}`, async ({ send }) => (await send(cmd.view(path))).body);
      await compareReads();
      const fixed = Object.entries(FILES).filter(([path]) => !canChange(rights, path));
      const all = await keyClient(service(), clients[0]?.tenant ?? '');
      for (const [path, text] of fixed) {
        const { content } = await all.send(cmd.view(path));
        expect(content, path).toBe(`Here's the content of ${path} with line numbers:\n     1\t${text}`);
      }
    };

    it('classifies each route, command, and tool', () => {
      const { paths = {} } = service().app.swagger() as { paths?: Record<string, object> };
      const routes = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      const known = [...Object.keys(ROUTES), ...BY_ID, ...FOR_SHARING, ...PUBLIC];
      expect(routes.filter((route) => !known.includes(route))).toStrictEqual([]);
      expect(commands.map(({ name }) => name)).toStrictEqual(Object.keys(COMMANDS));
      expect(service().app.tools.map(({ name }) => name)).toStrictEqual(TOOLS);
    });

    const TITLE = 'gives the same responses as a memory without them: %j';
    it.each(SETS)(TITLE, { timeout: 120_000 }, compareMemories);
    it.each(COMBINATIONS)(TITLE, { timeout: 120_000, tags: 'long' }, compareMemories);
  },
  { AUTH: 'keys', PROVENANCE: 'on_request' },
);
