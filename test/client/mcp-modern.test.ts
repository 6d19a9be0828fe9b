import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpServer } from '../../clients/mcp/src/http.ts';
import { create, headersFor, modern, requestHeaders, text, VIEWED, view } from '../support/mcp.ts';
import { useAgentFixture } from './agent-fixture.ts';
import { listen, stdioCommand } from './mcp-connection.ts';

const fixture = useAgentFixture();

const URI = 'memory:///memories/user.md';

/** Serves MCP in this process. */
async function serve(url: string, stopping = new AbortController().signal): Promise<string> {
  const options = { client: { url }, allowedHosts: [], maxBodyBytes: 2 ** 21, stopping };
  return `${await listen(createHttpServer(options))}/mcp`;
}

async function connect(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  onTestFinished(() => client.close());
  await client.connect(transport);
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  return client;
}

const overHttp = async () => {
  const headers = { Authorization: `Bearer ${await fixture.tenantKey()}` };
  const url = new URL(await serve(fixture.url));
  return connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
};
const overStdio = async () =>
  connect(new StdioClientTransport(stdioCommand(fixture.url, await fixture.tenantKey())));

const call = (client: Client, input: object) => client.callTool({ name: 'memory', arguments: { ...input } });

describe.each([
  ['HTTP', overHttp, []],
  ['standard input', overStdio, ['long']],
] as const)('the MCP server over %s', (_, open, tags) => {
  it('runs parallel calls in the order sent, and notifies a subscriber about the changed file', {
    tags: [...tags],
  }, async () => {
    const client = await open();
    expect(client.getInstructions()).toMatch(/^IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY/);
    expect(client.getServerCapabilities()).toStrictEqual({
      tools: {},
      prompts: {},
      resources: { subscribe: true, listChanged: true },
    });
    const updated: unknown[] = [];
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void updated.push(params.uri),
    );
    const subscription = await client.listen({ resourceSubscriptions: [URI] });
    const results = await Promise.all([
      call(client, create),
      call(client, { command: 'insert', path: create.path, insert_line: 1, insert_text: 'Likes tea.' }),
      call(client, view),
    ]);
    expect(results.at(-1)).toMatchObject(text(`${VIEWED}\n     2\tLikes tea.`));
    await expect.poll(() => updated, { timeout: 20_000 }).toContain(URI);
    await subscription.close();
    await expect(client.readResource({ uri: 'memory:///memories/none.md' })).rejects.toMatchObject({
      code: -32602,
    });
  });
});

it('rejects a read of the context if the service is too old to have a context', async () => {
  const key = await fixture.tenantKey();
  const identity = await (await fetch(`${fixture.url}/whoami`, { headers: requestHeaders(key) })).text();
  const problem = { code: 'route_not_found', detail: 'There is no such route.' };
  const service = createServer(({ url }, response) => {
    if (url === '/whoami') response.setHeader('content-type', 'application/json').end(identity);
    else response.writeHead(404, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
  });
  const message = modern('prompts/get', { name: 'memory-context' });
  const response = await fetch(await serve(await listen(service)), {
    method: 'POST',
    headers: requestHeaders(key, headersFor(message)),
    body: JSON.stringify(message),
  });
  expect(await response.json()).toMatchObject({
    error: {
      code: -32603,
      message: expect.stringMatching(
        /^The memory service responded with 404 route_not_found: The service has no context\. Update it, or check MEMORY_SERVICE_URL\. \(request [\w-]+\)$/,
      ),
    },
  });
});

describe('a subscription at the MCP server over HTTP', () => {
  const message = modern('subscriptions/listen', { notifications: { resourcesListChanged: true } }, 7);
  const send = (url: string, key: string) =>
    fetch(url, {
      method: 'POST',
      headers: requestHeaders(key, headersFor(message)),
      body: JSON.stringify(message),
    });

  it("sends a subscription's result and ends the subscription when the MCP server stops", async () => {
    const stopping = new AbortController();
    const response = await send(await serve(fixture.url, stopping.signal), await fixture.tenantKey());
    expect([response.status, response.headers.get('content-type')]).toStrictEqual([200, 'text/event-stream']);
    stopping.abort();
    const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data = '']) =>
      JSON.parse(data),
    );
    expect(events.at(-1)).toStrictEqual({
      jsonrpc: '2.0',
      id: 7,
      result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 7 } },
    });
  });

  it('returns 401 if a client subscribes with a wrong key', async () => {
    expect((await send(await serve(fixture.url), 'msk_wrong')).status).toBe(401);
  });

  it('returns 503 for a subscription if the service runs with MCP=off', async () => {
    const identity = await (
      await fetch(`${fixture.url}/whoami`, { headers: requestHeaders(await fixture.tenantKey()) })
    ).text();
    const service = createServer(({ url }, response) => {
      response.setHeader('content-type', 'application/json');
      if (url === '/whoami') response.end(identity);
      else response.writeHead(404, { 'content-type': 'application/problem+json' }).end('{}');
    });
    const response = await send(await serve(await listen(service)), 'msk_a');
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { message: 'The memory service reports no changes, because it runs with MCP=off.' } },
    ]);
  });
});
