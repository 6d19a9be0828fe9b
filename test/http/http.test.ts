/** HTTP concerns outside the routes: rejected requests and common headers. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { cmd } from '../support/step-table.ts';
import { type Service, startService } from '../support/test-service.ts';

let service: Service;
let port: number;
beforeAll(async () => {
  service = await startService('postgres', { REQUEST_TIMEOUT_MS: '300' });
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  port = (service.app.server.address() as AddressInfo).port;
});
afterAll(() => service.close());

/** Sends a text and returns all data received until the service closes the connection. */
async function send(text: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  let answer = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    answer += chunk;
  });
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

const get = (path: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`;

describe('rejected requests', () => {
  it.each([
    ['bytes that are not HTTP', 'garbage\r\n\r\n', 400, 'invalid_request'],
    ['headers that are too large', get('/', `X: ${'x'.repeat(20_000)}\r\n`), 431, 'headers_too_large'],
    ['headers that never end', 'GET / HTTP/1.1\r\nHost: localhost\r\n', 408, 'request_timeout'],
    ['an unknown expectation', get('/healthz', 'Expect: nonsense\r\n'), 417, 'expectation_failed'],
    ['a URL that cannot be decoded', get('/%ff'), 400, 'invalid_url'],
    ['an unknown route', get('/nothing'), 404, 'route_not_found'],
    ['an undeclared method', get('/execute?a=b'), 405, 'method_not_allowed'],
    ['more than 1,000 headers', get('/healthz', 'a:\r\n'.repeat(1001)), 431, 'too_many_headers'],
    [
      'a foreign Host',
      'GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n'.replace(
        '\r\n\r\n',
        '\r\nConnection: close\r\n\r\n',
      ),
      403,
      'host_not_allowed',
    ],
    ['a foreign Origin', get('/healthz', 'Origin: http://evil.example\r\n'), 403, 'host_not_allowed'],
    ['an opaque Origin', get('/healthz', 'Origin: null\r\n'), 403, 'host_not_allowed'],
  ])(
    'returns a problem with the common headers for a rejected request: %s',
    async (_title, text, status, code) => {
      const [head = '', body = ''] = (await send(text)).split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(head).toMatch(/\r\ncontent-type: application\/problem\+json/i);
      expect(head).toMatch(/\r\ncache-control: no-store/i);
      expect(head).toMatch(/\r\nx-content-type-options: nosniff/i);
      const problem = JSON.parse(body);
      expect(problem).toMatchObject({ type: 'about:blank', status, code });
      expect(head.toLowerCase()).toContain(`\r\nx-request-id: ${problem.request_id}`);
    },
  );
});

it.each([
  ['headers that are too large', get('/v1/memory_stores?beta=true', `X: ${'x'.repeat(20_000)}\r\n`), 431],
  ['an unknown expectation', get('/v1/memory_stores/x/memories', 'Expect: nonsense\r\n'), 417],
  ['more than 1,000 headers', get('/v1/memory_stores', 'a:\r\n'.repeat(1001)), 431],
  ['no HTTP after the URL', 'GET /v1/memory_stores HTTQ/1.1\r\n\r\n', 400],
])("rejects a request in the Memory Stores API's own error format: %s", async (_title, text, status) => {
  const [head = '', body = ''] = (await send(text)).split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(head).toMatch(/\r\ncontent-type: application\/json/i);
  const error = JSON.parse(body);
  expect(error).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  expect(head.toLowerCase()).toContain(`\r\nrequest-id: ${error.request_id}`);
});

it('names the allowed methods in a 405, even if the request has a body', async () => {
  const response = await service.app.inject({
    method: 'PUT',
    url: '/execute',
    headers: { 'content-type': 'text/plain' },
    payload: 'x',
  });
  expect([response.statusCode, response.headers.allow, response.json().detail]).toStrictEqual([
    405,
    'POST',
    'This route supports only: POST.',
  ]);
  expect((await service.app.inject({ method: 'DELETE', url: '/healthz' })).headers.allow).toBe('GET, HEAD');
});

it("rejects a request with so many headers that the proxy's tenant header would be lost", async () => {
  const body = JSON.stringify(cmd.create('/memories/hidden', 'x'));
  const answer = await send(
    `POST /execute HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${'a:\r\n'.repeat(1100)}X-Tenant-Id: proxied\r\n\r\n${body}`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 431 /);
  const tenants = new Tenants(service.database);
  expect([await tenants.find('default'), await tenants.find('proxied')]).toStrictEqual([
    undefined,
    undefined,
  ]);
});

it.each([
  'localhost',
  'localhost:8080',
  '127.0.0.1:1',
  '127.0.0.1:65535',
  '[::1]:8080',
  '127.9.9.9',
  'LOCALHOST',
])('accepts Host: %s without authentication', async (host) => {
  const origin = `http://${host}`;
  const response = await service.app.inject({ url: '/healthz', headers: { host, origin } });
  expect(response.statusCode).toBe(200);
});

it.each([
  'localhost.evil.example',
  'evil.example:8080',
  '127.0.0.1.evil.example',
  'localhost:8080.evil.example',
  'localhost:8080@evil.example',
  'localhost:65536',
  '[::1].evil.example',
  '1270001',
])('rejects Host: %s without authentication', async (host) => {
  const response = await service.app.inject({ url: '/healthz', headers: { host } });
  expect([response.statusCode, response.json().code]).toStrictEqual([403, 'host_not_allowed']);
});

it('accepts any Host when a proxy authenticates', async () => {
  const open = await startService('postgres', { ALLOW_UNAUTHENTICATED: 'true' });
  const response = await open.app.inject({ url: '/healthz', headers: { host: 'memory.example' } });
  expect(response.statusCode).toBe(200);
  await open.close();
});

it('allows 8 pipelined requests, and closes the connection after it rejects the next request', async () => {
  const request = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const answer = await send(request.repeat(16));
  const statuses = [...answer.matchAll(/HTTP\/1.1 (\d+) /g)].map(([, status]) => status);
  expect(statuses.at(-1)).toBe('429');
  expect(statuses.filter((status) => status === '429')).toHaveLength(1);
  expect(answer).toContain('"code":"too_many_pipelined"');
});

it('resets the connection to a client that pipelines without end', async () => {
  const flood = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20_000);
  await expect(send(flood)).rejects.toThrow(/ECONNRESET|EPIPE/);
  expect((await service.app.inject('/healthz')).statusCode).toBe(200);
});

it('responds to a conditional request for /openapi.json with 304', async () => {
  const first = await service.app.inject('/openapi.json');
  const etag = String(first.headers.etag);
  expect([first.statusCode, first.headers['content-type'], first.json().openapi]).toStrictEqual([
    200,
    'application/json; charset=utf-8',
    '3.1.0',
  ]);
  const again = await service.app.inject({ url: '/openapi.json', headers: { 'if-none-match': etag } });
  expect([again.statusCode, again.body, again.headers.etag]).toStrictEqual([304, '', etag]);
});

it('hides the Node.js version in /metrics', async () => {
  const { body } = await service.app.inject('/metrics');
  expect(body).toContain('process_cpu_seconds_total');
  expect(body).not.toContain(process.version);
});
