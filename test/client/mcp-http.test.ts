/** Requests that the MCP server accepts over HTTP, and their order. */
import { once } from 'node:events';
import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpServer, type HttpOptions } from '../../clients/mcp/src/http.ts';
import { MAX_CALLS } from '../../src/core/agents/tool.ts';
import { MAX_MESSAGES } from '../../src/features/mcp/exchange.ts';
import { useAgentFixture } from './agent-fixture.ts';
import { connectHttp, listen } from './mcp-connection.ts';

const fixture = useAgentFixture();

const path = '/memories/user.md';
const create = { command: 'create', path, file_text: 'Lives in Lyon.' };
const view = { command: 'view', path };
const VIEWED = "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.";
const MISSING = 'The path /memories/user.md does not exist. Please provide a valid path.';

/** Serves MCP in this process. */
const serve = async (options: Partial<HttpOptions> = {}) =>
  `${await listen(createHttpServer({ client: { url: fixture.url }, allowedHosts: [], maxBodyBytes: 2 ** 21, ...options }))}/mcp`;

const message = (method: string, params?: object, id = 1) => ({ jsonrpc: '2.0', id, method, params });
const toolCall = (input: object, id?: number) =>
  message('tools/call', { name: 'memory', arguments: input }, id);

const requestHeaders = (key?: string, more: Record<string, string> = {}) => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  ...(key && { authorization: `Bearer ${key}` }),
  ...more,
});

async function send(url: string, body: string | object, headers = requestHeaders()) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method: 'POST', headers, body: text });
  return { status: response.status, headers: response.headers, body: (await response.json()) as object };
}

/** Sends the request headers and resolves once the server has received them. The caller sends the body. */
async function begin(url: string, headers: Record<string, string>): Promise<ClientRequest> {
  const sent = request(url, { method: 'POST', headers: { ...headers, expect: '100-continue' } });
  sent.on('error', () => {}); // The request may never complete.
  onTestFinished(() => void sent.destroy());
  sent.flushHeaders();
  await once(sent, 'continue');
  return sent;
}

const readResponse = async (sent: ClientRequest) => {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await json(response) };
};

const result = (text: string, isError = false) => ({
  result: { content: [{ type: 'text', text }], isError },
});
const rejectedResponse = (status: number, text: unknown) => ({ status, body: { error: { message: text } } });

describe('the requests in one MCP session', () => {
  it("runs a session's simultaneous calls in the order in which the client sends them", async () => {
    const url = await serve();
    const client = await connectHttp(url, await fixture.tenantKey());
    for (let round = 0; round < 10; round++) {
      const file = `/memories/${round}.md`;
      // A large body is read only after the service has accepted the key.
      const lines = 'x\n'.repeat(round % 2 === 0 ? 1 : 16 * 1024);
      const inputs = [
        { command: 'create', path: file, file_text: lines },
        { command: 'insert', path: file, insert_line: 0, insert_text: 'a' },
        { command: 'insert', path: file, insert_line: 1, insert_text: 'b' },
        { command: 'view', path: file, view_range: [1, 3] },
        { command: 'delete', path: file },
      ];
      const results = await Promise.all(
        inputs.map((input) => client.callTool({ name: 'memory', arguments: input })),
      );
      expect(results.map(({ content }) => content)).toStrictEqual(
        [
          `File created successfully at: ${file}`,
          `The file ${file} has been edited.`,
          `The file ${file} has been edited.`,
          `Here's the content of ${file} with line numbers:\n     1\ta\n     2\tb\n     3\tx`,
          `Successfully deleted ${file}`,
        ].map((text) => [{ type: 'text', text }]),
      );
    }
  });

  /** Starts a session as a host does and returns the headers for its requests. */
  async function initialize(url: string, key: string) {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    };
    const { headers } = await send(url, message('initialize', params, 0), requestHeaders(key));
    return requestHeaders(key, { 'mcp-session-id': headers.get('mcp-session-id') ?? '' });
  }

  it('orders calls in a session by request ID if they arrive in another order', async () => {
    const url = await serve();
    const headers = await initialize(url, await fixture.tenantKey());
    const [viewed, created] = await Promise.all([
      send(url, toolCall(view, 2), headers),
      send(url, toolCall(create, 1), headers),
    ]);
    expect(created.body).toMatchObject(result(`File created successfully at: ${path}`));
    expect(viewed.body).toMatchObject(result(VIEWED));
  });

  it('delays a call until an earlier request in the session has been received completely', async () => {
    const url = await serve();
    const headers = await initialize(url, await fixture.tenantKey());
    const first = await begin(url, headers);
    const created = readResponse(first);
    const viewed = send(url, toolCall(view, 2), headers);
    first.end(JSON.stringify(toolCall(create, 1)));
    expect((await created).body).toMatchObject(result(`File created successfully at: ${path}`));
    expect((await viewed).body).toMatchObject(result(VIEWED));
  });

  it('runs a call after a while if a request with a lower ID never arrives in the session', {
    tags: 'long',
  }, async () => {
    const url = await serve();
    const headers = await initialize(url, await fixture.tenantKey());
    for (const id of [2, 4]) {
      expect(await send(url, toolCall(view, id), headers)).toMatchObject({ body: result(MISSING, true) });
    }
  });

  it('accepts a request with a session ID that the server does not know', async () => {
    const headers = requestHeaders(await fixture.tenantKey(), { 'mcp-session-id': 'of-another-replica' });
    expect(await send(await serve(), toolCall(view, 7), headers)).toMatchObject({
      body: result(MISSING, true),
    });
  });

  it.each([
    ['another session', { 'mcp-session-id': 'other' }],
    ['a request without a session', {}],
  ])('responds to %s while a request in a session is still being sent', async (_, other) => {
    const [url, key] = [await serve(), await fixture.tenantKey()];
    await begin(url, requestHeaders(key, { 'mcp-session-id': 'session' }));
    const viewed = await send(url, toolCall(view), requestHeaders(key, other));
    expect(viewed).toMatchObject({ status: 200, body: result(MISSING, true) });
  });

  it('responds to a caller with another key and the same session ID while a request is being sent', async () => {
    const url = await serve();
    const session = { 'mcp-session-id': 'session' };
    await begin(url, requestHeaders(await fixture.tenantKey(), session));
    const viewed = await send(url, toolCall(view), requestHeaders(await fixture.tenantKey(), session));
    expect(viewed).toMatchObject({ status: 200, body: result(MISSING, true) });
  });

  it('runs later calls in a session if the client disconnects during an earlier request', async () => {
    const url = await serve();
    const headers = await initialize(url, await fixture.tenantKey());
    const first = await begin(url, headers);
    const viewed = send(url, toolCall(view, 2), headers);
    first.destroy();
    expect((await viewed).body).toMatchObject(result(MISSING, true));
  });
});

describe('an MCP caller that the service rejects', () => {
  const initialize = message('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });

  it.each([initialize, message('tools/list'), toolCall(view), message('ping')])(
    'returns 401 for a wrong key in response to the message %o',
    async (sent) => {
      const { status, headers, body } = await send(await serve(), sent, requestHeaders('msk_wrong'));
      expect({ status, body }).toMatchObject(
        rejectedResponse(
          401,
          expect.stringMatching(
            /^The memory service responded with 401 unauthorized: MEMORY_SERVICE_API_KEY \(over HTTP, the bearer token\) is not a valid key or token of this service\. \(request [\w-]+\)$/,
          ),
        ),
      );
      expect(headers.get('www-authenticate')).toBe('Bearer');
    },
  );

  it("returns 403 if an MCP caller's X-Tenant-Id does not match the key", async () => {
    const headers = requestHeaders(await fixture.tenantKey(), { 'x-tenant-id': 'of-somebody-else' });
    expect(await send(await serve(), initialize, headers)).toMatchObject({ status: 403 });
  });

  it('returns 400 if an MCP caller uses a service key and names no tenant', async () => {
    const rejected = await send(await serve(), initialize, requestHeaders(fixture.serviceKey));
    expect(rejected).toMatchObject(rejectedResponse(400, expect.stringContaining('400 tenant_required')));
  });
});

it('responds with 200 to tools/list even if the service cannot be reached', async () => {
  const closed = createServer();
  const gone = await listen(closed);
  await new Promise((resolve) => closed.close(resolve));
  const url = await serve({ client: { url: gone } });
  expect((await send(url, message('tools/list'), requestHeaders('msk_a'))).status).toBe(200);
});

it('returns 200 for GET /healthz without a key and with any Host header', async () => {
  const mcp = await serve();
  const sent = request(new URL('/healthz', mcp), { headers: { host: '10.0.0.1' } });
  sent.end();
  expect(await readResponse(sent)).toStrictEqual({ status: 200, body: { status: 'ok' } });
  expect((await fetch(new URL('/healthz', mcp), { method: 'POST' })).status).toBe(404);
});

describe('the limits on the MCP server', () => {
  it.each([
    [
      'too large',
      `{"a":"${'x'.repeat(2 ** 21)}"}`,
      413,
      'The body is larger than 2097152 bytes, the limit of this server.',
    ],
    [
      'too many values',
      `[${'1,'.repeat(4096)}1]`,
      400,
      'The body holds more than 4096 fields and array items.',
    ],
    ['too deep', '['.repeat(5000), 400, 'The body nests arrays and objects deeper than 32 levels.'],
    [
      'too many messages',
      JSON.stringify(Array.from({ length: 33 }, () => message('ping'))),
      400,
      'The batch holds 33 messages, and 1 to 32 are allowed.',
    ],
    ['not JSON', '{', 400, 'Parse error: Invalid JSON'],
  ])('rejects an invalid body before it authenticates the caller: %s', async (_, body, status, text) => {
    expect(await send(await serve(), body)).toMatchObject(rejectedResponse(status, text));
  });

  it('accepts a batch with as many messages as the service allows calls in an array', async () => {
    expect(MAX_MESSAGES).toBe(MAX_CALLS);
    const batch = Array.from({ length: MAX_MESSAGES }, (_, id) => ({ ...message('ping'), id }));
    const headers = requestHeaders(await fixture.tenantKey());
    expect((await send(await serve(), batch, headers)).status).toBe(200);
  });

  it.each([
    [undefined, 'The service needs a key. Set MEMORY_SERVICE_API_KEY (over HTTP, the bearer token).'],
    [
      'msk_wrong',
      'MEMORY_SERVICE_API_KEY (over HTTP, the bearer token) is not a valid key or token of this service.',
    ],
  ])('rejects a large request before reading the body if the key is %s', async (key, why) => {
    const sent = request(await serve(), {
      method: 'POST',
      headers: { ...requestHeaders(key), 'content-length': 16 * 1024 + 1 },
    });
    onTestFinished(() => void sent.destroy());
    sent.flushHeaders();
    const { status, body } = await readResponse(sent);
    expect(status).toBe(401);
    expect(body).toMatchObject({
      error: {
        message: expect.stringContaining(`The memory service responded with 401 unauthorized: ${why}`),
      },
    });
  });

  it('rejects a chunked body as soon as the received bytes exceed the limit', async () => {
    const sent = request(await serve({ maxBodyBytes: 1024 }), { method: 'POST', headers: requestHeaders() });
    onTestFinished(() => void sent.destroy());
    sent.write(' '.repeat(1025));
    expect(await readResponse(sent)).toMatchObject(
      rejectedResponse(413, 'The body is larger than 1024 bytes, the limit of this server.'),
    );
  });

  it('accepts a chunked body below the limit', async () => {
    const sent = request(await serve(), {
      method: 'POST',
      headers: requestHeaders(await fixture.tenantKey()),
    });
    sent.write(JSON.stringify(toolCall(create)));
    sent.end();
    expect(await readResponse(sent)).toMatchObject({ body: result(`File created successfully at: ${path}`) });
  });

  it('returns 429 or 503 for simultaneous requests beyond the limits per key and in total', async () => {
    const service = createServer(() => {});
    const arrived = once(service, 'request');
    const concurrency = { total: 2, perKey: 1, maxWaiting: 0, maxWaitMs: 0 };
    const url = await serve({ client: { url: await listen(service) }, concurrency });
    // The call ends with the server, because the fake service never responds.
    send(url, toolCall(view), requestHeaders('msk_a')).catch(() => {});
    await arrived;
    const rejected = await send(url, toolCall(view), requestHeaders('msk_a'));
    expect(rejected).toMatchObject(
      rejectedResponse(429, 'The tenant has too many requests in flight. Wait for their responses.'),
    );
    expect(rejected.headers.get('retry-after')).toBe('1');
    const again = once(service, 'request');
    send(url, toolCall(view), requestHeaders('msk_b')).catch(() => {});
    await again;
    const overloaded = await send(url, toolCall(view), requestHeaders('msk_c'));
    expect(overloaded).toMatchObject(rejectedResponse(503, 'The service is at capacity. Try again shortly.'));
  });

  const read = (id: number) => message('resources/read', { uri: 'memory:///memories/long.md' }, id);

  it('rejects a read before it calls the service if earlier reads have reserved the response memory', async () => {
    const headers = requestHeaders(await fixture.tenantKey());
    const identity = await (await fetch(`${fixture.url}/whoami`, { headers })).text();
    let calls = 0;
    const service = createServer((asked, response) => {
      if (asked.url !== '/execute')
        return response.setHeader('content-type', 'application/json').end(identity);
      calls++;
      service.emit('call');
    });
    const concurrency = { total: 64, perKey: 32, maxWaiting: 0, maxWaitMs: 0 };
    const url = await serve({ client: { url: await listen(service) }, concurrency });
    for (const id of [1, 2]) {
      const call = once(service, 'call');
      send(url, read(id), headers).catch(() => {});
      await call;
    }
    expect(await send(url, read(3), headers)).toMatchObject(
      rejectedResponse(429, 'The tenant has too many requests in flight. Wait for their responses.'),
    );
    expect(calls).toBe(2);
  });

  describe('a 6 MB response', () => {
    const LENGTH = 6_000_000;

    /** Reads until the server closes the connection and calls `next` after each chunk. Returns the number of bytes. */
    async function bytesRead(transferTimeoutMs: number, next: (resume: () => void) => void) {
      const key = await fixture.tenantKey();
      const server = createHttpServer({
        client: { url: fixture.url },
        allowedHosts: [],
        maxBodyBytes: 8 * 2 ** 20,
        transferTimeoutMs,
      });
      const url = `${await listen(server)}/mcp`;
      const long = {
        command: 'create',
        path: '/memories/long.md',
        file_text: `${'\u0001'.repeat(1023)}\n`.repeat(1024),
      };
      await send(url, toolCall(long), requestHeaders(key, { connection: 'close' }));
      const connection = once(server, 'connection') as Promise<[Socket]>;
      const sent = request(url, { method: 'POST', headers: requestHeaders(key), agent: false });
      sent.end(JSON.stringify(read(1)));
      const [socket] = await connection;
      const closed = new Promise((resolve) => socket.once('close', resolve));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      let bytes = 0;
      let isClosed = false;
      response.on('error', () => {});
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (isClosed) return;
        response.pause();
        next(() => response.resume());
      });
      await closed;
      isClosed = true;
      const ended = new Promise((resolve) => response.once('close', resolve));
      response.resume();
      if (!response.closed) await ended;
      return bytes;
    }

    it('delivers a 6 MB response completely to a client that keeps reading', async () => {
      expect(await bytesRead(5000, setImmediate)).toBeGreaterThan(LENGTH);
    });

    it('cuts off a response if the client stops reading', async () => {
      expect(await bytesRead(20, () => {})).toBeLessThan(LENGTH);
    });
  });
});
