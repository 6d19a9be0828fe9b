/** `/mcp` of the service itself, used by the official client. What the tools answer is in test/client/mcp.test.ts. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { ServiceError } from '../../src/errors.ts';
import { MEMORY_TOOL, SEARCH_TOOL } from '../../src/mcp/tools.ts';
import { useAgentFixture } from '../client/agent-fixture.ts';
import { describeService, freshTenant, type Service, startSharedService } from '../support/service.ts';

const fixture = useAgentFixture();

const path = '/memories/user.md';
const create = { command: 'create', path, file_text: 'Lives in Lyon.' };
const view = { command: 'view', path };
const VIEWED = "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.";
const MISSING = 'The path /memories/user.md does not exist. Please provide a valid path.';
const text = (words: string, isError = false) => ({ content: [{ type: 'text', text: words }], isError });

const message = (method: string, params?: object, id: number | string = 1) => ({
  ...{ jsonrpc: '2.0', id, method },
  ...(params && { params }),
});
const callOf = (input: object, id?: number) =>
  message('tools/call', { name: 'memory', arguments: input }, id);
const initialize = message(
  'initialize',
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  0,
);

const headersOf = (key?: string, more: Record<string, string> = {}): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  ...(key && { authorization: `Bearer ${key}` }),
  ...more,
});

async function send(body: string | object, headers: Record<string, string>) {
  const response = await fetch(`${fixture.url}/mcp`, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const received = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: received === '' ? undefined : JSON.parse(received),
  };
}

async function connect(headers: Record<string, string>, url = fixture.url): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  return client;
}
const connectWith = (key: string) => connect({ Authorization: `Bearer ${key}` });
const call = (client: Client, input: object) => client.callTool({ name: 'memory', arguments: { ...input } });

describe('the official client', () => {
  it('gets the tools, the instructions, the prompt and the files', async () => {
    const client = await connectWith(await fixture.tenantKey());
    expect(client.getServerVersion()).toStrictEqual({
      name: 'memory-service',
      title: 'Memory',
      version: '0.1.0',
    });
    expect(client.getInstructions()).toMatch(/^IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY/);
    expect((await client.listTools()).tools).toStrictEqual([MEMORY_TOOL, SEARCH_TOOL]);
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'memory-protocol' }]);
    const { messages } = await client.getPrompt({ name: 'memory-protocol' });
    expect(messages).toMatchObject([
      { content: { text: expect.stringMatching(/^IMPORTANT.*Do not create new files/s) } },
    ]);

    expect(await call(client, create)).toStrictEqual(text('File created successfully at: /memories/user.md'));
    expect(await call(client, create)).toStrictEqual(
      text('Error: File /memories/user.md already exists', true),
    );
    expect(await client.callTool({ name: 'memory_search', arguments: { query: 'Lyon' } })).toStrictEqual(
      text('Found 1 file in /memories, the best first:\n/memories/user.md:1: Lives in Lyon.'),
    );
    expect((await client.listResources()).resources).toStrictEqual([
      {
        uri: 'memory:///memories/user.md',
        name: path,
        title: 'File in memory',
        description: 'A file of the memory, as text.',
        mimeType: 'text/plain',
      },
    ]);
    expect((await client.readResource({ uri: 'memory:///memories/user.md' })).contents).toMatchObject([
      { text: 'Lives in Lyon.' },
    ]);
    await expect(client.callTool({ name: 'bash', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it('reaches the memory of its own credential', async () => {
    const [one, other] = await Promise.all([fixture.tenantKey(), fixture.tenantKey()]);
    expect(await call(await connectWith(one), create)).toMatchObject({ isError: false });
    expect(await call(await connectWith(other), view)).toStrictEqual(text(MISSING, true));
    const named = await connect({
      Authorization: `Bearer ${fixture.serviceKey}`,
      'X-Tenant-Id': freshTenant(),
    });
    expect(await call(named, view)).toStrictEqual(text(MISSING, true));
    const readOnly = await connectWith(await fixture.tenantKey('read_only'));
    expect(await call(readOnly, create)).toMatchObject({ isError: true });
  });

  it('has the calls of one turn run in their order', async () => {
    const client = await connectWith(await fixture.tenantKey());
    for (let round = 0; round < 5; round++) {
      const file = `/memories/${round}.md`;
      const results = await Promise.all([
        call(client, { command: 'create', path: file, file_text: 'x\n' }),
        call(client, { command: 'insert', path: file, insert_line: 0, insert_text: 'a' }),
        call(client, { command: 'insert', path: file, insert_line: 1, insert_text: 'b' }),
        call(client, { command: 'view', path: file }),
      ]);
      expect(results.at(-1)).toStrictEqual(
        text(`Here's the content of ${file} with line numbers:\n     1\ta\n     2\tb\n     3\tx\n     4\t`),
      );
    }
  });

  it('connects 400 times at once, each to its own memory', { tags: 'long' }, async () => {
    // The machine that runs the tests may be slow, and 400 tenants that the service does not know yet are looked up in turns.
    const service = await startSharedService('postgres', { MAX_QUEUE_MS: '60000' });
    onTestFinished(() => service.close());
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = service.app.server.address() as AddressInfo;
    const tenants = Array.from({ length: 400 }, () => freshTenant('mcp'));
    const results = await Promise.all(
      tenants.map(async (tenant) => {
        const client = await connect({ 'X-Tenant-Id': tenant }, `http://127.0.0.1:${port}`);
        await call(client, { ...create, file_text: tenant });
        return call(client, view);
      }),
    );
    expect(results).toStrictEqual(
      tenants.map((tenant) =>
        text(`Here's the content of /memories/user.md with line numbers:\n     1\t${tenant}`),
      ),
    );
  });

  it('does not connect with a wrong key', async () => {
    await expect(connectWith('mem_wrong')).rejects.toMatchObject({ code: 401 });
  });

  it('applies a call once that a host sends twice under the id of its block', async () => {
    const client = await connectWith(await fixture.tenantKey());
    const insert = { command: 'insert', path, insert_line: 1, insert_text: 'Likes tea.' };
    const again = () =>
      client.callTool({
        ...{ name: 'memory', arguments: insert },
        _meta: { 'claudecode/toolUseId': 'toolu_once' },
      });
    await call(client, create);
    expect(await again()).toStrictEqual(text('The file /memories/user.md has been edited.'));
    expect(await again()).toStrictEqual(text('The file /memories/user.md has been edited.'));
    expect(await call(client, view)).toStrictEqual(text(`${VIEWED}\n     2\tLikes tea.`));
  });
});

describe('a request', () => {
  it.each([
    ['without a key', undefined, {}, 401, 'unauthorized'],
    ['with a wrong key', 'mem_wrong', {}, 401, 'unauthorized'],
    ['with a service key without a tenant', 'service', {}, 400, 'tenant_required'],
    [
      'for another tenant than that of its key',
      'tenant',
      { 'x-tenant-id': 'another' },
      403,
      'tenant_mismatch',
    ],
  ] as const)('%s is refused, initialize too', async (_, key, more, status, code) => {
    const keys = { service: fixture.serviceKey, tenant: await fixture.tenantKey(), mem_wrong: 'mem_wrong' };
    const headers = headersOf(key === undefined ? undefined : keys[key], more);
    for (const each of [initialize, message('tools/list'), callOf(view), message('ping')]) {
      const refused = await send(each, headers);
      expect(refused).toMatchObject({ status, body: { code } });
      expect(refused.headers.get('www-authenticate')).toBe(
        status === 401
          ? `Bearer resource_metadata="${fixture.url}/.well-known/oauth-protected-resource/mcp"`
          : null,
      );
    }
  });

  it('with another path than /mcp has no metadata in its 401', async () => {
    const response = await fetch(`${fixture.url}/execute`, { method: 'POST' });
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
  });

  it.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])('by %s gets a 405', async (method) => {
    const response = await fetch(`${fixture.url}/mcp`, { method });
    expect([response.status, response.headers.get('allow')]).toStrictEqual([405, 'POST']);
  });

  it.each([
    ['not JSON', '{', 400, { code: 'invalid_json' }],
    ['empty', '', 400, { code: 'invalid_json' }],
    ['too deep', '['.repeat(5000), 400, { code: 'json_too_complex' }],
    ['too many values', `[${'1,'.repeat(4096)}1]`, 400, { code: 'json_too_complex' }],
    ['no JSON-RPC', { command: 'view' }, 400, { error: { code: -32700 } }],
    ['a number', '1', 400, { error: { code: -32700 } }],
    [
      'a batch that is too long',
      Array.from({ length: 33 }, () => message('ping')),
      400,
      { error: { code: -32600, message: 'The batch holds 33 messages, and 1 to 32 are allowed.' } },
    ],
    ['an empty batch', [], 400, { error: { code: -32600 } }],
    ['too large', `{"a":"${'x'.repeat(6_356_992)}"}`, 413, { code: 'body_too_large' }],
  ])('whose body is %s is refused', async (_, body, status, expected) => {
    expect(await send(body, headersOf(await fixture.tenantKey()))).toMatchObject({ status, body: expected });
  });

  it('with another type of body, or without a type that the server sends, is refused', async () => {
    const key = await fixture.tenantKey();
    expect(await send('x', headersOf(key, { 'content-type': 'text/plain' }))).toMatchObject({ status: 415 });
    expect(await send(initialize, headersOf(key, { accept: 'text/html' }))).toMatchObject({ status: 406 });
    expect(await send(initialize, headersOf(key, { accept: '*/*' }))).toMatchObject({ status: 200 });
  });

  it('with a version of the protocol that nobody knows is refused', async () => {
    const headers = headersOf(await fixture.tenantKey(), { 'mcp-protocol-version': '1999-01-01' });
    expect(await send(message('tools/list'), headers)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('Unsupported protocol version') } },
    });
  });

  it('with a method that does not exist gets an error of JSON-RPC', async () => {
    expect(await send(message('memory/forget'), headersOf(await fixture.tenantKey()))).toMatchObject({
      status: 200,
      body: { id: 1, error: { code: -32601 } },
    });
  });

  it('without an answer, such as a notification, gets a 202 without a body', async () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const accepted = await send(notification, headersOf(await fixture.tenantKey()));
    expect([accepted.status, accepted.body]).toStrictEqual([202, undefined]);
  });

  it('with a batch runs its calls in order', async () => {
    const { status, body } = await send(
      [callOf(create, 1), callOf(view, 2)],
      headersOf(await fixture.tenantKey()),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { id: 1, result: text('File created successfully at: /memories/user.md') },
      { id: 2, result: text(VIEWED) },
    ]);
  });

  it('of a session that this replica does not know is served', async () => {
    const headers = headersOf(await fixture.tenantKey(), { 'mcp-session-id': 'of-another-replica' });
    for (const id of [7, 9]) {
      expect(await send(callOf(view, id), headers)).toMatchObject({ body: { result: text(MISSING, true) } });
    }
  });

  it('that leaves before its body came does not keep the others of its session waiting', async () => {
    const key = await fixture.tenantKey();
    const { headers } = await send(initialize, headersOf(key));
    const session = headersOf(key, { 'mcp-session-id': headers.get('mcp-session-id') ?? '' });
    const first = request(`${fixture.url}/mcp`, {
      method: 'POST',
      headers: { ...session, expect: '100-continue' },
    });
    first.on('error', () => {});
    first.flushHeaders();
    await once(first, 'continue');
    const viewed = send(callOf(view, 2), session);
    first.destroy();
    expect((await viewed).body).toMatchObject({ result: text(MISSING, true) });
  });
});

describe('with a fault of the service', () => {
  it('a call has the status that /execute has', async () => {
    const service = await startSharedService('postgres', { RATE_LIMIT_PER_MINUTE: '2' });
    onTestFinished(() => service.close());
    const inject = () =>
      service.app.inject({
        ...{ method: 'POST', url: '/mcp', payload: callOf(view) },
        headers: { ...headersOf(), 'x-tenant-id': tenant },
      });
    const tenant = freshTenant();
    expect([(await inject()).statusCode, (await inject()).statusCode]).toStrictEqual([200, 200]);
    const limited = await inject();
    expect(limited.statusCode).toBe(429);
    expect(limited.headers['retry-after']).toMatch(/^\d+$/);
    expect(limited.json()).toMatchObject({ code: 'rate_limited' });
  });
});

describe('when the database fails', () => {
  it('a call has the 503 of /execute, and the next one may succeed', async () => {
    const service = await startSharedService('postgres');
    onTestFinished(() => service.close());
    const headers = { ...headersOf(), 'x-tenant-id': freshTenant() };
    const inject = () => service.app.inject({ method: 'POST', url: '/mcp', payload: callOf(view), headers });
    expect((await inject()).json()).toMatchObject({ result: text(MISSING, true) });
    const failing = vi
      .spyOn(service.database, 'query')
      .mockRejectedValue(new ServiceError('database_unavailable'));
    onTestFinished(() => failing.mockRestore());
    const failed = await inject();
    expect([failed.statusCode, failed.json().code, failed.headers['retry-after']]).toStrictEqual([
      503,
      'database_unavailable',
      '2',
    ]);
    failing.mockRestore();
    expect((await inject()).statusCode).toBe(200);
  });
});

describeService('/mcp', (service) => {
  it('is for the tenant of the header without authentication', async () => {
    const tenant = freshTenant();
    const send = (input: object) =>
      service().app.inject({
        ...{ method: 'POST', url: '/mcp', payload: callOf(input) },
        headers: { ...headersOf(), 'x-tenant-id': tenant },
      });
    expect((await send(create)).json()).toMatchObject({
      result: text('File created successfully at: /memories/user.md'),
    });
    const { content } = await service().execute(view, { tenant });
    expect(content).toBe(VIEWED);
  });

  it('refuses requests that a web page makes a browser send', async () => {
    for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
      const refused = await service().app.inject({
        ...{ method: 'POST', url: '/mcp', payload: initialize },
        headers: { ...headersOf(), ...headers },
      });
      expect([refused.statusCode, refused.json().code]).toStrictEqual([403, 'host_not_allowed']);
    }
  });

  it('counts its calls like those of /execute', async () => {
    const { app } = service();
    const count = async () =>
      Number(
        /^memory_commands_total\{command="rename",outcome="error"\} (\d+)/m.exec(
          (await app.inject('/metrics')).body,
        )?.[1] ?? 0,
      );
    const before = await count();
    const input = { command: 'rename', old_path: '/memories/none', new_path: '/memories/b' };
    const headers = { ...headersOf(), 'x-tenant-id': freshTenant() };
    await app.inject({ method: 'POST', url: '/mcp', payload: callOf(input), headers });
    expect(await count()).toBe(before + 1);
    expect((await app.inject('/metrics')).body).toMatch(/http_responses_total\{route="\/mcp",status="200"\}/);
  });
});

describe('OAuth', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const JWT_PUBLIC_KEY = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const settings = {
    AUTH: 'jwt',
    JWT_ISSUER: 'https://login.example',
    JWT_AUDIENCE: 'https://memory.example/mcp',
    JWT_PUBLIC_KEY,
  };
  let service: Service;
  beforeAll(async () => {
    service = await startSharedService('postgres', {
      ...settings,
      PUBLIC_URL: 'https://memory.example/',
      AUTO_CREATE_TENANTS: 'true',
    });
  });
  afterAll(() => service.close());

  it('a host learns where to sign in, and arrives with the token', async () => {
    const sent = (headers = {}) =>
      service.app.inject({
        ...{ method: 'POST', url: '/mcp', payload: initialize },
        headers: { ...headersOf(), ...headers },
      });
    const refused = await sent();
    expect(refused.statusCode).toBe(401);
    const challenge = String(refused.headers['www-authenticate']);
    const metadataUrl = /^Bearer resource_metadata="(.*)"$/.exec(challenge)?.[1] ?? '';
    expect(metadataUrl).toBe('https://memory.example/.well-known/oauth-protected-resource/mcp');
    const metadata = await service.app.inject(new URL(metadataUrl).pathname);
    expect(metadata.json()).toStrictEqual({
      resource: 'https://memory.example/mcp',
      resource_name: 'Memory service',
      bearer_methods_supported: ['header'],
      authorization_servers: ['https://login.example'],
    });
    const token = await new SignJWT({
      iss: settings.JWT_ISSUER,
      aud: metadata.json().resource,
      tenant: freshTenant(),
    })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setExpirationTime(Math.floor(Date.now() / 1000) + 60)
      .sign(privateKey);
    expect((await sent({ authorization: `Bearer ${token}` })).statusCode).toBe(200);
  });

  it('the official client reads the metadata', async () => {
    const { discoverOAuthProtectedResourceMetadata } = await import(
      '@modelcontextprotocol/sdk/client/auth.js'
    );
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = service.app.server.address() as AddressInfo;
    const found = await discoverOAuthProtectedResourceMetadata(`http://127.0.0.1:${port}/mcp`);
    expect(found.authorization_servers).toStrictEqual(['https://login.example']);
  });

  it('without a path, the metadata is that of the whole service', async () => {
    const metadata = await service.app.inject('/.well-known/oauth-protected-resource');
    expect(metadata.json()).toMatchObject({ resource: 'https://memory.example' });
  });

  it('with keys, the metadata names no issuer, and the host of the request', async () => {
    const response = await fetch(`${fixture.url}/.well-known/oauth-protected-resource/mcp`);
    expect(await response.json()).toStrictEqual({
      resource: `${fixture.url}/mcp`,
      resource_name: 'Memory service',
      bearer_methods_supported: ['header'],
    });
  });

  it('a host that is no name is not repeated', async () => {
    const { url } = fixture;
    const sent = request(`${url}/mcp`, { method: 'POST', headers: { ...headersOf(), host: 'a"b' } });
    sent.end('{}');
    const [response] = await once(sent, 'response');
    response.resume();
    expect(response.headers['www-authenticate']).toBe('Bearer');
  });
});

describe('MCP=off', () => {
  it('takes /mcp and its metadata away', async () => {
    const service = await startSharedService('postgres', { MCP: 'off' });
    onTestFinished(() => service.close());
    const sent = await service.app.inject({ method: 'POST', url: '/mcp', payload: initialize });
    expect([sent.statusCode, sent.json().code]).toStrictEqual([404, 'route_not_found']);
    expect((await service.app.inject('/.well-known/oauth-protected-resource/mcp')).statusCode).toBe(404);
  });

  it('is on by default, and nothing but on or off', () => {
    expect(loadConfig({}).MCP).toBe('on');
    expect(() => loadConfig({ MCP: 'no' })).toThrow('MCP must be on or off');
  });
});
