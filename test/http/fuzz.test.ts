/**
 * Random input must not cause a 500 or a response outside the contract.
 *
 * @module-tag long-on-pglite
 */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import fc from 'fast-check';
import type { LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fuzzParameters } from '../support/arbitraries.ts';
import { rawRequest } from '../support/http-arbitraries.ts';
import { assertInvariants } from '../support/invariants.ts';
import { describeService } from '../support/test-service.ts';

/** Throws unless the response is a problem or a result in one of its three forms. */
function assertForm(response: LightMyRequestResponse): void {
  const { statusCode, headers } = response;
  const type = String(headers['content-type']);
  if (statusCode !== 200) {
    expect(statusCode, response.body).toBeGreaterThanOrEqual(400);
    expect(statusCode, response.body).toBeLessThan(500);
    expect(type).toMatch(/^application\/problem\+json\b/);
    const problem = response.json();
    expect(problem).toMatchObject({ status: statusCode, code: expect.stringMatching(/^[a-z][a-z0-9_]*$/) });
    expect(problem.request_id).toBe(headers['x-request-id']);
    expect(problem.request_id).toMatch(/./);
    return;
  }
  if (type.startsWith('text/plain')) {
    expect(headers['x-memory-is-error']).toMatch(/^(true|false)$/);
    return;
  }
  expect(type).toMatch(/^application\/json\b/);
  const body = response.json();
  const result = { content: expect.any(String), is_error: expect.any(Boolean) };
  const block = { type: 'tool_result', tool_use_id: expect.any(String), ...result };
  if (Array.isArray(body)) expect(body).toEqual(body.map(() => block));
  else expect(body).toEqual('type' in body ? block : result);
}

describeService('random requests', (service, kind) => {
  const statuses = new Map<number, number>();

  afterAll(() => {
    const counts = [...statuses].sort().map(([status, n]) => `${n} × ${status}`);
    console.log(`fuzz of POST /execute on ${kind}: ${counts.join(', ')}`);
  });

  it('responds to random requests to POST /execute with a result or a problem', {
    tags: 'random',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(rawRequest, async ({ body, headers }) => {
        const response = await service().app.inject({
          method: 'POST',
          url: '/execute',
          headers: { 'content-type': 'application/json', ...headers },
          payload: body,
        });
        statuses.set(response.statusCode, (statuses.get(response.statusCode) ?? 0) + 1);
        assertForm(response);
      }),
      fuzzParameters(kind === 'postgres' ? 2500 : 1000),
    );
    await assertInvariants(service());
  });

  it('responds to random requests to other routes without a 5xx', { tags: 'random' }, async () => {
    const method = fc.constantFrom('GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'POST', 'TRACE');
    const url = fc.oneof(
      fc.constantFrom(
        '/execute',
        '/execute/',
        '/EXECUTE',
        '/',
        '//',
        '/execute?a=b',
        '/memories',
        '/%',
        '/%ff',
        '/docs/../x',
      ),
      fc.webPath().map((path) => path || '/'),
    );
    await fc.assert(
      fc.asyncProperty(method, url, async (method, url) => {
        const response = await service().app.inject({ method: method as 'GET', url });
        expect(response.statusCode, `${method} ${url}`).toBeLessThan(500);
        if (response.statusCode >= 400 && method !== 'HEAD') assertForm(response);
      }),
      fuzzParameters(300),
    );
    await assertInvariants(service());
  });
});

describeService('random bytes on the socket', (service) => {
  let port = 0;

  beforeAll(async () => {
    await service().app.listen({ port: 0, host: '127.0.0.1' });
    port = (service().app.server.address() as AddressInfo).port;
  });

  /**
   * Sends bytes and returns the response. The client half-closes immediately or, for a `whole` request, when the
   * response starts. Before that, Node.js would treat the close as a disconnect.
   */
  async function send(bytes: Buffer, whole: boolean): Promise<string> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let answer = '';
    socket.setEncoding('latin1').on('data', (text) => {
      answer += text;
      socket.end();
    });
    socket.on('error', () => {});
    socket.write(bytes);
    if (!whole) socket.end();
    await once(socket, 'close');
    return answer;
  }

  const post = (headers: string, body: string) =>
    `POST /execute HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${body}`;
  const json = 'Content-Type: application/json\r\n';

  it('responds to random bytes on the socket without a 500 and keeps running', {
    tags: 'random',
  }, async () => {
    const broken = fc.constantFrom(
      post(`${json}Content-Length: 500`, '{"command":"view"'),
      post(`${json}Content-Length: 99999`, '{}'),
      post(`${json}Transfer-Encoding: chunked`, '5\r\n{"com'),
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\n',
      'GET /healthz',
    );
    const whole = fc.constantFrom(
      'GET / HTTP/1.1\r\n\r\n',
      'GET /execute HTTP/9.9\r\nHost: localhost\r\n\r\n',
      'GET /%ff HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'POST /execute%zz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}',
      'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'BREW /execute HTTP/1.1\r\nHost: localhost\r\n\r\n',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      post(`${json}Content-Length: 5`, '{"command":"view","path":"/memories"}'),
      post(`${json}Content-Length: -1`, '{}'),
      post(`${json}Content-Length: 2\r\nContent-Length: 3`, '{}'),
      post(`${json}Content-Length: 99999999999`, '{}'),
      post(`${json}Transfer-Encoding: chunked`, '5\r\n{"com\r\nzz\r\n'),
      post(`${json}Transfer-Encoding: chunked`, '2\r\n{}\r\n0\r\n\r\n'),
      post(`${json}Transfer-Encoding: gzip`, '{}'),
      post(`${json}Expect: 100-continue\r\nContent-Length: 2`, '{}'),
      post(`${json}Expect: nonsense\r\nContent-Length: 2`, '{}'),
      post(`${json}X-Tenant-Id: a\r\nX-Tenant-Id: b\r\nContent-Length: 2`, '{}'),
      post(`${json}X-Big: ${'x'.repeat(20_000)}\r\nContent-Length: 2`, '{}'),
      post(`${json}X-Tenant-Id: \xe9\r\nContent-Length: 2`, '{}'),
      post(`${json}X-Tenant-Id: \x01\r\nContent-Length: 2`, '{}'),
      post('Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2', '{}'),
    );
    const latin1 = (text: string) => Buffer.from(text, 'latin1');
    const request = fc.oneof(
      fc.tuple(fc.uint8Array({ maxLength: 60 }).map(Buffer.from), fc.constant(false)),
      fc.tuple(broken.map(latin1), fc.constant(false)),
      fc.tuple(whole.map(latin1), fc.constant(true)),
    );
    await fc.assert(
      fc.asyncProperty(request, async ([bytes, whole]) => {
        const answer = await send(bytes, whole);
        if (whole || answer) expect(answer, bytes.toString('latin1')).toMatch(/^HTTP\/1\.1 [1-4]\d\d /);
      }),
      fuzzParameters(200),
    );
    const body = '{"command":"view","path":"/memories"}';
    const answer = await send(
      latin1(post(`${json}Connection: close\r\nContent-Length: ${body.length}`, body)),
      true,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    await assertInvariants(service());
  });
});
