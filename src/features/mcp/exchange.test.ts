/** Messages in both protocol eras, with a memory that returns each call's input. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headersFor, modern } from '../../../test/support/mcp.ts';
import { respondToMessages } from './exchange.ts';
import { TOOLS } from './tools.ts';

const MISSING = 'The path /memories/none.md does not exist. Please provide a valid path.';

const memory = {
  tools: async () => TOOLS,
  execute: async ({ input }: { input: unknown }) => {
    const { path } = input as { path?: string };
    return {
      content: path === '/memories/none.md' ? MISSING : JSON.stringify(input),
      isError: path === '/memories/none.md',
    };
  },
  read: async (path: string) => ({
    content: path === '/memories/none.md' ? MISSING : `The text of ${path}`,
    isError: path === '/memories/none.md',
  }),
  list: async () => ({ content: '/memories/a b.md\n/memories/d/c', isError: false }),
  instructions: async () => 'Instructions.',
  texts: [
    {
      ...{ name: 'overview', uri: 'memory:///overview', title: 'Overview', description: 'An overview.' },
      read: async () => 'The overview.',
    },
  ],
};

async function answer(body: unknown, headers: Record<string, string> = {}) {
  const { signal } = new AbortController();
  const response = await respondToMessages({ name: 'test', version: '1' }, memory, { body, headers, signal });
  return { status: response.status, body: response.body === '' ? undefined : JSON.parse(response.body) };
}

const legacy = (method: string, params?: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
const error = (code: number, message: unknown) => ({ body: { id: 1, error: { code, message } } });

describe.each([
  ['before 2026-07-28', (method: string, params?: unknown) => answer(legacy(method, params))],
  [
    '2026-07-28',
    (method: string, params?: object) => {
      const message = modern(method, { ...params });
      return answer(message, headersFor(message));
    },
  ],
])('protocol version %s', (version, send) => {
  it.each([
    [
      'tools/call',
      { name: 'memory', arguments: 'x' },
      'The parameter `arguments` must be an object, not a string.',
    ],
    [
      'tools/call',
      { name: 'memory', arguments: [] },
      'The parameter `arguments` must be an object, not an array.',
    ],
    [
      'tools/call',
      { name: 'memory', arguments: 1 },
      'The parameter `arguments` must be an object, not a number.',
    ],
    ['tools/call', {}, 'The parameter `name` is missing.'],
    ['tools/call', { name: null }, 'The parameter `name` must be a string, not null.'],
    ['tools/call', { name: 'bash' }, 'There is no tool bash. The tools are memory and memory_search.'],
    ['resources/read', {}, 'The parameter `uri` is missing.'],
    ['resources/read', { uri: {} }, 'The parameter `uri` must be a string, not an object.'],
    ['prompts/get', { name: 'x' }, 'There is no prompt x. The prompts are memory-protocol and overview.'],
    ['tools/list', { cursor: null }, 'The parameter `cursor` must be a string, not null.'],
    ['resources/list', { cursor: '2' }, 'The parameter `cursor` names no page: the whole list is one page.'],
    [
      'tools/list',
      { _meta: { progressToken: [] } },
      'The parameter `_meta.progressToken` must be a string or an integer.',
    ],
  ])(
    'rejects the request %s with the parameters %o, and explains the problem in one sentence',
    async (method, params, message) => {
      expect(await send(method, params)).toMatchObject(error(-32602, message));
    },
  );

  it('treats a call with `null` as its arguments like a call with an empty object', async () => {
    const { body } = await send('tools/call', { name: 'memory', arguments: null });
    expect(body.result).toMatchObject({ content: [{ type: 'text', text: '{}' }], isError: false });
  });

  it("serves a feature's text as a resource before the files, and as a prompt", async () => {
    const text = { name: 'overview', title: 'Overview', description: 'An overview.' };
    const result = async (method: string, params?: object) => (await send(method, params)).body.result;
    const { resources } = await result('resources/list');
    expect(resources.slice(0, 2)).toMatchObject([
      { ...text, uri: 'memory:///overview', mimeType: 'text/plain' },
      { uri: 'memory:///memories/a%20b.md' },
    ]);
    expect(await result('resources/read', { uri: 'memory:///overview' })).toMatchObject({
      contents: [{ uri: 'memory:///overview', mimeType: 'text/plain', text: 'The overview.' }],
    });
    expect(await result('prompts/list')).toMatchObject({ prompts: [{ name: 'memory-protocol' }, text] });
    expect(await result('prompts/get', { name: 'overview' })).toMatchObject({
      description: 'An overview.',
      messages: [{ role: 'user', content: { type: 'text', text: 'The overview.' } }],
    });
  });

  it.each([
    ['memory:///memories/none.md', MISSING],
    ['memory:///memories/%E0%A4%A', 'The URI of a file looks like memory:///memories/notes.md.'],
    ['https://example.com/', 'The URI of a file looks like memory:///memories/notes.md.'],
    ['none', 'The URI of a file looks like memory:///memories/notes.md.'],
  ])(
    "rejects the resource %s, which does not exist, with the protocol version's error code",
    async (uri, message) => {
      const code = version === '2026-07-28' ? -32602 : -32002;
      expect(await send('resources/read', { uri })).toMatchObject({
        body: { error: { code, message, data: { uri } } },
      });
    },
  );

  it('returns no internal error for random parameters', async () => {
    const methods = [
      'tools/call',
      'tools/list',
      'prompts/get',
      'resources/read',
      'resources/list',
      'ping',
      'initialize',
    ];
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('memory', '/memories/none.md'));
    const names = [
      'name',
      'arguments',
      'uri',
      'cursor',
      'protocolVersion',
      'capabilities',
      'clientInfo',
      'task',
    ];
    const fields = Object.fromEntries(names.map((name) => [name, value]));
    const params = fc.record(
      { ...fields, _meta: fc.record({ progressToken: value, other: value }, { requiredKeys: [] }) },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods), params, async (method, given) => {
        const { body } = await send(method, given);
        expect(body.error?.code).not.toBe(-32603);
        expect(body.error?.message ?? '').not.toContain('\n');
      }),
      { numRuns: 200 },
    );
  });
});

describe('a body', () => {
  it.each([
    [5],
    ['x'],
    [null],
    [true],
    [{}],
    [[1]],
    [[]],
    [{ jsonrpc: '2.0', id: null, method: 'ping' }],
    [{ jsonrpc: '1.0', id: 1, method: 'ping' }],
    [{ jsonrpc: '2.0', id: 1 }],
    [{ jsonrpc: '2.0', id: 1, method: 5 }],
    [{ jsonrpc: '2.0', id: 1, result: {} }],
    [[modern('tools/list')]],
  ])('rejects a body that is not a request, such as %o', async (body) => {
    expect(await answer(body)).toMatchObject({ status: 400, body: { error: { code: -32600 } } });
  });

  it.each([['x'], [[]], [null]])("rejects %o as a request's `params`", async (params) => {
    expect(await answer(legacy('tools/list', params))).toMatchObject({
      status: 400,
      ...error(-32602, expect.stringMatching(/^The parameter `params` must be an object, not /)),
    });
  });
});

describe('a request in protocol version 2026-07-28', () => {
  const list = modern('tools/list');
  it.each([
    ['without the header of the version', { 'mcp-method': 'tools/list' }, -32020],
    ['without the header of the method', { 'mcp-protocol-version': '2026-07-28' }, -32020],
    ['with another method in the header', { ...headersFor(list), 'mcp-method': 'tools/call' }, -32020],
    [
      'with another version in the header',
      { ...headersFor(list), 'mcp-protocol-version': '2025-11-25' },
      -32020,
    ],
  ])('rejects a request in version 2026-07-28: %s', async (_, headers, code) => {
    expect(await answer(list, headers)).toMatchObject({ status: 400, ...error(code, expect.any(String)) });
  });

  it("requires the called tool's name in a header, in plain text or in Base64", async () => {
    const call = modern('tools/call', { name: 'memory' });
    const headers = headersFor(call);
    for (const [name, status] of [
      ['memory', 200],
      ['=?base64?bWVtb3J5?=', 200],
      ['memory_search', 400],
    ] as const)
      expect(await answer(call, { ...headers, 'mcp-name': name })).toMatchObject({ status });
  });

  it('names the supported versions if the requested version is unknown', async () => {
    const future = modern('tools/list', {
      _meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
    });
    expect(await answer(future, headersFor(future))).toMatchObject({
      status: 400,
      body: { id: 1, error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } } },
    });
  });

  it.each(['initialize', 'ping', 'resources/subscribe', 'memory/forget'])(
    'responds that version 2026-07-28 has no method %s',
    async (method) => {
      const message = modern(method);
      expect(await answer(message, headersFor(message))).toMatchObject({
        status: 404,
        ...error(-32601, 'Method not found'),
      });
    },
  );

  it("lists the server's supported versions and capabilities in the response to server/discover", async () => {
    const message = modern('server/discover');
    expect((await answer(message, headersFor(message))).body.result).toStrictEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, prompts: {}, resources: { subscribe: true, listChanged: true } },
      instructions: 'Instructions.',
      ttlMs: 60_000,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'test', title: 'Memory', version: '1' } },
    });
  });

  it.each([
    ['tools/list', { ttlMs: 60_000, cacheScope: 'private' }],
    ['prompts/list', { ttlMs: 300_000, cacheScope: 'public' }],
    ['resources/templates/list', { ttlMs: 300_000, cacheScope: 'public' }],
    ['resources/list', { ttlMs: 0, cacheScope: 'private' }],
  ])('states how long the response to %s may be reused', async (method, hints) => {
    const message = modern(method);
    expect((await answer(message, headersFor(message))).body.result).toMatchObject({
      resultType: 'complete',
      ...hints,
    });
  });
});

it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
  'accepts version %s in initialize',
  async (version) => {
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    expect((await answer(legacy('initialize', params))).body.result).toStrictEqual({
      protocolVersion: version,
      capabilities: { tools: {}, prompts: {}, resources: {} },
      serverInfo: { name: 'test', title: 'Memory', version: '1' },
      instructions: 'Instructions.',
    });
  },
);
