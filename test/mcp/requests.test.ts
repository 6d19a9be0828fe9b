/** Requests that `/mcp` accepts and rejects, and its responses to failures. */
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { ServiceError } from '../../src/core/errors/errors.ts';
import { useAgentFixture } from '../client/agent-fixture.ts';
import {
  create,
  initialize,
  MISSING,
  memoryCall,
  message,
  requestHeaders,
  sendMcp,
  text,
  VIEWED,
  view,
} from '../support/mcp.ts';
import { describeService, freshTenant, startSharedService } from '../support/test-service.ts';

const fixture = useAgentFixture();

const CONTEXT = message('resources/read', { uri: 'memory:///context' });

const send = (body: string | object, headers: Record<string, string>) => sendMcp(fixture.url, body, headers);

describe('a request to /mcp', () => {
  it.each([
    ['without a key', undefined, {}, 401, 'unauthorized'],
    ['with a wrong key', 'msk_wrong', {}, 401, 'unauthorized'],
    ['with a service key without a tenant', 'service', {}, 400, 'tenant_required'],
    [
      'for a tenant other than that of its key',
      'tenant',
      { 'x-tenant-id': 'another' },
      403,
      'tenant_mismatch',
    ],
  ] as const)(
    'rejects every request to /mcp, including initialize, %s',
    async (_, key, more, status, code) => {
      const keys = { service: fixture.serviceKey, tenant: await fixture.tenantKey(), msk_wrong: 'msk_wrong' };
      const headers = requestHeaders(key === undefined ? undefined : keys[key], more);
      for (const each of [initialize, message('tools/list'), memoryCall(view), message('ping')]) {
        const rejected = await send(each, headers);
        expect(rejected).toMatchObject({ status, body: { code } });
        expect(rejected.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
      }
    },
  );

  it.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])(
    'returns 405 if the method for /mcp is %s',
    async (method) => {
      const response = await fetch(`${fixture.url}/mcp`, { method });
      expect([response.status, response.headers.get('allow')]).toStrictEqual([405, 'POST']);
    },
  );

  it.each([
    ['not JSON', '{', 400, { error: { code: -32700, message: 'The body is not valid JSON.' } }],
    ['empty', '', 400, { error: { code: -32700, message: 'The body is empty; send a JSON object.' } }],
    ['too deep', '['.repeat(5000), 400, { code: 'json_too_complex' }],
    ['too many values', `[${'1,'.repeat(4096)}1]`, 400, { code: 'json_too_complex' }],
    ['not JSON-RPC', { command: 'view' }, 400, { error: { code: -32600 } }],
    ['a number', '1', 400, { error: { code: -32600 } }],
    [
      'a batch that is too long',
      Array.from({ length: 33 }, () => message('ping')),
      400,
      { error: { code: -32600, message: 'The batch holds 33 messages, and 1 to 32 are allowed.' } },
    ],
    ['an empty batch', [], 400, { error: { code: -32600 } }],
    ['too large', `{"a":"${'x'.repeat(6_356_992)}"}`, 413, { code: 'body_too_large' }],
  ])('rejects a request to /mcp with a body that is %s', async (_, body, status, expected) => {
    expect(await send(body, requestHeaders(await fixture.tenantKey()))).toMatchObject({
      status,
      body: expected,
    });
  });

  it('rejects a request to /mcp if its body or its Accept header has an unsupported media type', async () => {
    const key = await fixture.tenantKey();
    expect(await send('x', requestHeaders(key, { 'content-type': 'text/plain' }))).toMatchObject({
      status: 415,
    });
    expect(await send(initialize, requestHeaders(key, { accept: 'text/html' }))).toMatchObject({
      status: 406,
    });
    for (const accept of [
      '*/*',
      'application/json; charset=utf-8',
      '*; q=.2',
      'text/event-stream, application/json;q=0.1',
    ]) {
      expect(await send(initialize, requestHeaders(key, { accept }))).toMatchObject({ status: 200 });
    }
  });

  it('rejects a request to /mcp with an unknown protocol version', async () => {
    const headers = requestHeaders(await fixture.tenantKey(), { 'mcp-protocol-version': '1999-01-01' });
    expect(await send(message('tools/list'), headers)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('Unsupported protocol version') } },
    });
  });

  it('returns a JSON-RPC error for an unknown method', async () => {
    expect(await send(message('memory/forget'), requestHeaders(await fixture.tenantKey()))).toMatchObject({
      status: 200,
      body: { id: 1, error: { code: -32601 } },
    });
  });

  it('returns 202 and an empty body for a notification', async () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const accepted = await send(notification, requestHeaders(await fixture.tenantKey()));
    expect([accepted.status, accepted.body]).toStrictEqual([202, undefined]);
  });

  it('runs the calls in a batch in the order in which they are listed', async () => {
    const { status, body } = await send(
      [memoryCall(create, 1), memoryCall(view, 2)],
      requestHeaders(await fixture.tenantKey()),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { id: 1, result: text('File created successfully at: /memories/user.md') },
      { id: 2, result: text(VIEWED) },
    ]);
  });

  it('returns an error for each file in a batch after the results have reached the size limit', async () => {
    const headers = requestHeaders(await fixture.tenantKey());
    const file_text = 'x'.repeat(600_000);
    const file = { name: 'memory', arguments: { command: 'create', path: '/memories/f', file_text } };
    await send(message('tools/call', file), headers);
    const read = message('resources/read', { uri: 'memory:///memories/f' });
    const { body } = await send(
      Array.from({ length: 8 }, (_, i) => ({ ...read, id: i })),
      headers,
    );
    const [first, ...others] = body as { result?: object; error?: { message: string } }[];
    expect(first).toMatchObject({ result: { contents: [{ text: file_text }] } });
    expect(others.map(({ error }) => error?.message)).toStrictEqual(
      Array(7).fill(
        'Error: This call was not run because the results of this request have reached the size limit. Send it again in a separate request.',
      ),
    );
  });

  it('accepts a request in a session that this replica does not know', async () => {
    const headers = requestHeaders(await fixture.tenantKey(), { 'mcp-session-id': 'of-another-replica' });
    for (const id of [7, 9]) {
      expect(await send(memoryCall(view, id), headers)).toMatchObject({
        body: { result: text(MISSING, true) },
      });
    }
  });

  it("runs a session's next request if the client aborted the previous request before the body", async () => {
    const key = await fixture.tenantKey();
    const { headers } = await send(initialize, requestHeaders(key));
    const session = requestHeaders(key, { 'mcp-session-id': headers.get('mcp-session-id') ?? '' });
    const first = request(`${fixture.url}/mcp`, {
      method: 'POST',
      headers: { ...session, expect: '100-continue' },
    });
    first.on('error', () => {});
    first.flushHeaders();
    await once(first, 'continue');
    const viewed = send(memoryCall(view, 2), session);
    first.destroy();
    expect((await viewed).body).toMatchObject({ result: text(MISSING, true) });
  });
});

describe('an MCP call above the rate limit', () => {
  it('returns 429 for an MCP call above the rate limit, like /execute', async () => {
    const service = await startSharedService('postgres', { RATE_LIMIT_PER_MINUTE: '2' });
    onTestFinished(() => service.close());
    const inject = () =>
      service.app.inject({
        method: 'POST',
        url: '/mcp',
        payload: memoryCall(view),
        headers: { ...requestHeaders(), 'x-tenant-id': tenant },
      });
    const tenant = freshTenant();
    expect([(await inject()).statusCode, (await inject()).statusCode]).toStrictEqual([200, 200]);
    const limited = await inject();
    expect(limited.statusCode).toBe(429);
    expect(limited.headers['retry-after']).toMatch(/^\d+$/);
    expect(limited.json()).toMatchObject({ code: 'rate_limited' });
  });
});

describe('an MCP call during a database failure', () => {
  it("keeps an MCP call's slot until the call ends, even after its timeout", async () => {
    const service = await startSharedService('postgres', { HANDLER_TIMEOUT_MS: '50' });
    onTestFinished(() => service.close());
    const headers = { ...requestHeaders(), 'x-tenant-id': freshTenant() };
    const inject = () =>
      service.app.inject({ method: 'POST', url: '/mcp', payload: memoryCall(view), headers });
    // Caches the tenant and loads modules.
    await inject();
    const slots = async () =>
      /^memory_requests_in_flight (\d+)$/m.exec((await service.app.inject('/metrics')).body)?.[1];
    let fail: (error: Error) => void = () => {};
    const stuck = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const hanging = vi.spyOn(service.database, 'query').mockReturnValue(stuck);
    onTestFinished(() => hanging.mockRestore());
    const late = await inject();
    expect([late.statusCode, late.json().code, await slots()]).toStrictEqual([503, 'timeout', '1']);
    fail(new ServiceError('database_unavailable'));
    await expect.poll(slots).toBe('0');
  });

  it.each([
    ['call', memoryCall(view), text(MISSING, true)],
    ['read of the context', CONTEXT, { contents: [{ uri: 'memory:///context' }] }],
  ])(
    'returns 503 for an MCP %s while the database fails, and 200 after it recovers',
    async (_, payload, result) => {
      const service = await startSharedService('postgres');
      onTestFinished(() => service.close());
      const headers = { ...requestHeaders(), 'x-tenant-id': freshTenant() };
      const inject = () => service.app.inject({ method: 'POST', url: '/mcp', payload, headers });
      expect((await inject()).json()).toMatchObject({ result });
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
    },
  );
});

describeService('/mcp', (service) => {
  it('uses the tenant from the x-tenant-id header if authentication is off', async () => {
    const tenant = freshTenant();
    const send = (input: object) =>
      service().app.inject({
        method: 'POST',
        url: '/mcp',
        payload: memoryCall(input),
        headers: { ...requestHeaders(), 'x-tenant-id': tenant },
      });
    expect((await send(create)).json()).toMatchObject({
      result: text('File created successfully at: /memories/user.md'),
    });
    const { content } = await service().execute(view, { tenant });
    expect(content).toBe(VIEWED);
  });

  it('rejects a request if its Host or Origin header names another site', async () => {
    for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
      const rejected = await service().app.inject({
        method: 'POST',
        url: '/mcp',
        payload: initialize,
        headers: { ...requestHeaders(), ...headers },
      });
      expect([rejected.statusCode, rejected.json().code]).toStrictEqual([403, 'host_not_allowed']);
    }
  });

  it('counts calls over MCP in the same metrics as calls to /execute', async () => {
    const { app } = service();
    const count = async () =>
      Number(
        /^memory_commands_total\{command="rename",outcome="error"\} (\d+)/m.exec(
          (await app.inject('/metrics')).body,
        )?.[1] ?? 0,
      );
    const before = await count();
    const input = { command: 'rename', old_path: '/memories/none', new_path: '/memories/b' };
    const headers = { ...requestHeaders(), 'x-tenant-id': freshTenant() };
    await app.inject({ method: 'POST', url: '/mcp', payload: memoryCall(input), headers });
    expect(await count()).toBe(before + 1);
    expect((await app.inject('/metrics')).body).toMatch(/http_responses_total\{route="\/mcp",status="200"\}/);
  });

  it('counts each read of the context once, as a resource and as a prompt', async () => {
    const { app } = service();
    const count = async () =>
      Number(
        /^memory_commands_total\{command="context",outcome="ok"\} (\d+)/m.exec(
          (await app.inject('/metrics')).body,
        )?.[1] ?? 0,
      );
    const before = await count();
    const headers = { ...requestHeaders(), 'x-tenant-id': freshTenant() };
    for (const payload of [CONTEXT, message('prompts/get', { name: 'memory-context' })])
      expect((await app.inject({ method: 'POST', url: '/mcp', payload, headers })).statusCode).toBe(200);
    expect(await count()).toBe(before + 2);
  });

  it('reads the context after an earlier write in the same batch', async () => {
    const payload = [memoryCall(create, 1), { ...CONTEXT, id: 2 }];
    const headers = { ...requestHeaders(), 'x-tenant-id': freshTenant() };
    const { body } = await service().app.inject({ method: 'POST', url: '/mcp', payload, headers });
    expect(JSON.parse(body)[1]).toMatchObject({
      result: { contents: [{ text: expect.stringContaining('\t/memories/user.md\t') }] },
    });
  });
});

describe('the setting MCP=off', () => {
  it('returns 404 for /mcp and its OAuth metadata', async () => {
    const service = await startSharedService('postgres', { MCP: 'off' });
    onTestFinished(() => service.close());
    const sent = await service.app.inject({ method: 'POST', url: '/mcp', payload: initialize });
    expect([sent.statusCode, sent.json().code]).toStrictEqual([404, 'route_not_found']);
    expect((await service.app.inject('/.well-known/oauth-protected-resource/mcp')).statusCode).toBe(404);
  });

  it('uses on as the default for MCP, and rejects values other than on and off', () => {
    expect(loadConfig({}).MCP).toBe('on');
    expect(() => loadConfig({ MCP: 'no' })).toThrow('MCP must be on or off');
  });
});
