/** The MCP server with the official client and the real service. */

import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { MemoryClient } from 'memory-service-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings, UsageError } from '../../clients/mcp/src/settings.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { MEMORY_TOOL, SEARCH_TOOL } from '../../src/features/mcp/tools.ts';
import { useAgentFixture } from './agent-fixture.ts';
import { connectHttp, connectStdio, runMcp, startHttp } from './mcp-connection.ts';

const fixture = useAgentFixture();
let http: Awaited<ReturnType<typeof startHttp>>;
beforeAll(async () => {
  http = await startHttp({ MEMORY_SERVICE_URL: fixture.url });
});
afterAll(async () => {
  http.child.kill('SIGTERM');
  expect(await http.exit).toBe(0);
});

const EMPTY =
  "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories";
const create = { command: 'create', path: '/memories/user.md', file_text: 'Lives in Lyon.' };
const text = (words: string, isError = false) => ({ content: [{ type: 'text', text: words }], isError });

const call = (client: Client, input: object, meta?: Record<string, unknown>) =>
  client.callTool({ name: 'memory', arguments: { ...input }, ...(meta && { _meta: meta }) });

function describeTransport(transport: 'stdio' | 'http') {
  const connectWith = (key: string) =>
    transport === 'stdio' ? connectStdio(fixture.url, key) : connectHttp(http.url, key);
  const connect = async () => connectWith(await fixture.tenantKey());

  it("returns the MCP server's name, instructions, tools, and prompt", async () => {
    const client = await connect();
    expect(client.getServerVersion()).toStrictEqual({
      name: 'memory-service-mcp',
      title: 'Memory',
      version: '0.1.0',
    });
    expect(client.getInstructions()).toMatch(/^IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY/);
    const { tools } = await client.listTools();
    expect(tools).toStrictEqual([MEMORY_TOOL, SEARCH_TOOL]);
    expect(tools[0]?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    const { messages } = await client.getPrompt({ name: 'memory-protocol' });
    expect(messages).toHaveLength(1);
    expect(messages[0]?.content).toMatchObject({
      type: 'text',
      text: expect.stringMatching(/^IMPORTANT: ALWAYS VIEW.*ASSUME INTERRUPTION.*Do not create new files/s),
    });
  });

  it("describes a tenant's mounts in the MCP server's instructions and prompt", async () => {
    const { key, tenant } = await fixture.tenantWithKey();
    const team = await fixture.tenantWithKey();
    const mount = {
      name: 'team',
      tenant: team.tenant,
      access: 'read_only',
      instructions: 'Shared.',
    } as const;
    await setMount(fixture.database(), tenant, mount);
    const client = await connectWith(key);
    expect(client.getInstructions()).toMatch(/^IMPORTANT: .*\n- \/memories\/team \(read-only\): Shared\.$/s);
    const { messages } = await client.getPrompt({ name: 'memory-protocol' });
    expect(messages[0]?.content).toMatchObject({
      text: expect.stringMatching(/\n- \/memories\/team \(read-only\): Shared\.\n\nNote: when editing/),
    });
  });

  it('returns over MCP the same text that the service returns for each command', async () => {
    const client = await connect();
    const path = '/memories/user.md';
    const edited =
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tLives in Nice.';
    const inOrder = [
      [{ command: 'view', path: '/memories' }, text(EMPTY)],
      [create, text('File created successfully at: /memories/user.md')],
      [create, text('Error: File /memories/user.md already exists', true)],
      [{ command: 'str_replace', path, old_str: 'Lyon', new_str: 'Nice' }, text(edited)],
      [
        { command: 'insert', path, insert_line: 9, insert_text: 'x' },
        text(
          'Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 1]',
          true,
        ),
      ],
      [
        { command: 'insert', path, insert_line: 1, insert_text: 'Likes tea.' },
        text('The file /memories/user.md has been edited.'),
      ],
      [
        { command: 'view', path, view_range: [2, -1] },
        text("Here's the content of /memories/user.md with line numbers:\n     2\tLikes tea."),
      ],
      [
        { command: 'rename', old_path: path, new_path: '/memories/a/b.md' },
        text('Successfully renamed /memories/user.md to /memories/a/b.md'),
      ],
      [{ command: 'delete', path: '/memories/a' }, text('Successfully deleted /memories/a')],
      // The model also reads input errors.
      [
        { command: 'undo' },
        text(
          'Error: Unknown command: undo. The commands are view, create, str_replace, insert, delete, rename',
          true,
        ),
      ],
      [{ command: 'create', path }, text('Error: Invalid input for create: `file_text` is missing', true)],
      [{}, text('Error: Invalid input for memory: `command` is missing', true)],
    ] as const;
    for (const [input, result] of inOrder) expect(await call(client, input)).toStrictEqual(result);
  });

  it('runs a repeated call from Claude Code once if both requests have the same tool_use ID', async () => {
    const client = await connect();
    await call(client, create);
    const insert = { command: 'insert', path: '/memories/user.md', insert_line: 0, insert_text: 'x' };
    const meta = { 'claudecode/toolUseId': 'toolu_01' };
    const inserted = text('The file /memories/user.md has been edited.');
    expect([await call(client, insert, meta), await call(client, insert, meta)]).toStrictEqual([
      inserted,
      inserted,
    ]);
    expect(await call(client, { command: 'view', path: '/memories/user.md' })).toStrictEqual(
      text("Here's the content of /memories/user.md with line numbers:\n     1\tx\n     2\tLives in Lyon."),
    );
  });

  it('serves the context with the names and the text that the service itself serves over MCP', async () => {
    const key = await fixture.tenantKey();
    const clients = [await connectWith(key), await connectHttp(`${fixture.url}/mcp`, key)];
    const [own, service] = await Promise.all(
      clients.map(async (client) => [
        await client.listPrompts(),
        await client.listResources(),
        (await client.readResource({ uri: 'memory:///context' })).contents,
        (await client.getPrompt({ name: 'memory-context' })).messages,
      ]),
    );
    expect(own).toStrictEqual(service);
    expect(own?.[2]).toMatchObject([
      { text: expect.stringMatching(/^MEMORY PROTOCOL:.*<memory_snapshot>/s) },
    ]);
  });

  it('lists and reads files as MCP resources', async () => {
    const client = await connect();
    const lines = Array.from({ length: 12_000 }, (_, i) => `line ${i + 1}\twith a tab`).join('\n');
    await call(client, { ...create, file_text: 'Lives in Lyon.\n\n' });
    await call(client, { command: 'create', path: '/memories/notes/é #1.txt', file_text: lines });
    expect(await client.listResources()).toMatchObject({
      resources: [
        { uri: 'memory:///context' },
        { uri: 'memory:///memories/notes/%C3%A9%20%231.txt', name: '/memories/notes/é #1.txt' },
        { uri: 'memory:///memories/user.md', name: '/memories/user.md', mimeType: 'text/plain' },
      ],
    });
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    expect(await read('memory:///memories/user.md')).toMatchObject({ text: 'Lives in Lyon.\n\n' });
    // The text is longer than a view.
    expect(await read('memory:///memories/notes/%C3%A9%20%231.txt')).toMatchObject({ text: lines });
    await expect(read('memory:///memories/other.md')).rejects.toMatchObject({
      code: -32002,
      message: expect.stringContaining('The path /memories/other.md does not exist.'),
    });
    await expect(read('memory:///memories/notes')).rejects.toMatchObject({ code: -32002 });
    await expect(read('memory:///memories/%E0%A4%A')).rejects.toMatchObject({ code: -32002 });
  });

  it('rejects a call to an unknown MCP tool', async () => {
    const client = await connect();
    await expect(client.callTool({ name: 'bash', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });
}

describe('an MCP client over HTTP', () => describeTransport('http'));
describe('an MCP client over stdio', { tags: 'long' }, () => describeTransport('stdio'));

it('runs simultaneous calls over stdio in the order in which they are sent', { tags: 'long' }, async () => {
  const client = await connectStdio(fixture.url, await fixture.tenantKey());
  const path = '/memories/user.md';
  const results = await Promise.all([
    call(client, create),
    call(client, { command: 'insert', path, insert_line: 1, insert_text: 'a' }),
    call(client, { command: 'insert', path, insert_line: 2, insert_text: 'b' }),
    call(client, { command: 'view', path }),
  ]);
  expect(results.at(-1)).toStrictEqual(
    text(
      "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.\n     2\ta\n     3\tb",
    ),
  );
});

it('rejects an MCP host that connects over HTTP with a wrong key', async () => {
  await expect(connectHttp(http.url, 'msk_wrong')).rejects.toMatchObject({ code: 401 });
});

/** Sends a request with any `Host` header, which `fetch` cannot set. */
function sendRaw(url: string, headers: Record<string, string>, body: object) {
  return new Promise<{ status: number | undefined; body: unknown }>((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    });
    sent.on('response', (response) => {
      json(response).then((parsed) => resolve({ status: response.statusCode, body: parsed }), reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

describe('the MCP server over HTTP', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  };
  const callCreate = {
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { name: 'memory', arguments: create },
  };
  const send = (headers: Record<string, string>, body: object = initialize) =>
    fetch(http.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(body),
    });

  it("writes to the memory that belongs to the caller's key or X-Tenant-Id", async () => {
    const keys = await Promise.all([fixture.tenantKey(), fixture.tenantKey()]);
    for (const key of keys) {
      const response = await send({ authorization: `Bearer ${key}` }, callCreate);
      const { result } = (await response.json()) as { result: object };
      expect(result).toStrictEqual(text('File created successfully at: /memories/user.md'));
    }
    // A service key requires the tenant.
    const named = { authorization: `Bearer ${fixture.serviceKey}`, 'x-tenant-id': 'mcp-named' };
    expect(await (await send(named, callCreate)).json()).toMatchObject({ result: { isError: false } });
    const memory = new MemoryClient({ url: fixture.url, apiKey: fixture.serviceKey, tenant: 'mcp-named' });
    expect((await memory.execute({ command: 'view', path: '/memories/user.md' })).is_error).toBe(false);
  });

  it('writes a 1 MiB file', async () => {
    const client = await connectHttp(http.url, await fixture.tenantKey());
    expect(await call(client, { ...create, file_text: '\u0001'.repeat(2 ** 20) })).toStrictEqual(
      text('File created successfully at: /memories/user.md'),
    );
  });

  it.each([
    [{ host: 'evil.example' }, 403, 'This host is not allowed. See --allowed-host.'],
    [{ host: '127.0.0.1.evil.example' }, 403, 'This host is not allowed. See --allowed-host.'],
    [{ origin: 'https://evil.example' }, 403, 'This origin is not allowed.'],
    [{ origin: 'null' }, 403, 'This origin is not allowed.'],
    [{ authorization: 'Basic dTpw' }, 401, 'Send the API key as `Authorization: Bearer <key>`.'],
    [{ 'x-tenant-id': 'ü' }, 400, 'X-Tenant-Id is not a tenant id.'],
  ])('rejects a request to the MCP server with the headers %o', async (headers, status, message) => {
    const answer = await sendRaw(http.url, headers, initialize);
    expect(answer).toMatchObject({ status, body: { error: { message } } });
  });

  it("accepts requests to an allowed host name, and from that host's pages", async () => {
    const authorization = `Bearer ${await fixture.tenantKey()}`;
    const headers = { authorization, host: 'mcp.example:1234', origin: 'https://mcp.example' };
    expect(await sendRaw(http.url, headers, initialize)).toMatchObject({ status: 200 });
  });

  it('rejects GET requests, other paths, and malformed JSON', async () => {
    expect((await fetch(http.url)).status).toBe(405);
    expect((await fetch(new URL('/', http.url), { method: 'POST' })).status).toBe(404);
    const malformed = await fetch(http.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    });
    expect(malformed.status).toBeGreaterThanOrEqual(400);
    expect(malformed.status).toBeLessThan(500);
  });
});

describe("the MCP server's command", { tags: 'long' }, () => {
  it.each([
    [['--http', 'x'], {}, '--http needs a port from 0 to 65535'],
    [['--host', '::1'], {}, '--host and --allowed-host need --http'],
    [
      ['--http', '0', '--host', '0.0.0.0'],
      {},
      '--host 0.0.0.0 needs --allowed-host with the name under which callers reach it',
    ],
    [
      ['--http', '0'],
      { MEMORY_SERVICE_API_KEY: 'msk_secret' },
      'Unset MEMORY_SERVICE_API_KEY: with --http, each caller sends its own API key as a bearer token',
    ],
    [[], { MEMORY_SERVICE_PROVENANCE: 'yes' }, 'MEMORY_SERVICE_PROVENANCE must be include or omit'],
  ] as const)('rejects the options %o if the environment variables are %o', (args, env, message) => {
    expect(() => readSettings([...args], env)).toThrow(new UsageError(message));
  });

  it.each([
    ['include', true],
    ['omit', false],
    ['', undefined],
  ])('reads MEMORY_SERVICE_PROVENANCE=%s as the option provenance: %s', (given, provenance) => {
    expect(readSettings([], { MEMORY_SERVICE_PROVENANCE: given })).toMatchObject({ client: { provenance } });
  });

  it('reports an invalid key and an occupied port on standard error, without quoting the key', async () => {
    const wrongKey = runMcp([], { MEMORY_SERVICE_API_KEY: 'mem secret' });
    const takenPort = runMcp(['--http', new URL(http.url).port]);
    expect([await wrongKey.exit, await takenPort.exit]).toStrictEqual([2, 1]);
    expect(wrongKey.output()).toBe(
      'memory-service-mcp: MEMORY_SERVICE_API_KEY (over HTTP, the bearer token) is empty or holds characters that a header cannot carry',
    );
    expect(takenPort.output()).toMatch(/^memory-service-mcp: listen EADDRINUSE: address already in use/);
  });

  it('exits with 0 when the MCP host closes standard input', async () => {
    const variables = { MEMORY_SERVICE_URL: fixture.url, MEMORY_SERVICE_API_KEY: await fixture.tenantKey() };
    expect(await runMcp([], variables).exit).toBe(0);
  });

  const KEY = 'MEMORY_SERVICE_API_KEY (over HTTP, the bearer token)';
  const TENANT = 'MEMORY_SERVICE_TENANT (over HTTP, X-Tenant-Id)';
  it.each([
    [
      'a wrong key',
      () => ({ MEMORY_SERVICE_API_KEY: 'msk_wrong' }),
      `responded with 401 unauthorized: ${KEY} is not a valid key or token of this service.`,
    ],
    ['no key', () => ({}), `responded with 401 unauthorized: The service needs a key. Set ${KEY}.`],
    [
      'no tenant',
      () => ({ MEMORY_SERVICE_API_KEY: fixture.serviceKey }),
      `responded with 400 tenant_required: The key is valid for many tenants. Set ${TENANT}.`,
    ],
    [
      'a closed port',
      () => ({ MEMORY_SERVICE_URL: 'http://127.0.0.1:2' }),
      'cannot be reached: ECONNREFUSED. Check MEMORY_SERVICE_URL and that the service runs.',
    ],
  ])('exits immediately and prints a one-line error for %s', async (_, variables, why) => {
    const env = { MEMORY_SERVICE_URL: fixture.url, ...variables() };
    const { exit, output } = runMcp([], env);
    expect(await exit).toBe(1);
    expect(output().trimEnd().split('\n')).toStrictEqual([
      expect.stringContaining(`memory-service-mcp: The memory service at ${env.MEMORY_SERVICE_URL} ${why}`),
    ]);
  });
});
