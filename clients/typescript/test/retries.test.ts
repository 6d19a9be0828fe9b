/** Client retries, and the errors after the last attempt. */
import { describe, expect, it, vi } from 'vitest';
import {
  BLOCK,
  busyResponse,
  callError,
  createScriptedClient,
  failNetwork,
  okResponse,
  problemResponse,
  useScriptedTime,
  VIEW,
} from './scripted-fetch.ts';

useScriptedTime();

describe('client retries', () => {
  it('retries under one idempotency key after network errors, cut responses, 429, 502, 503, and 504', async () => {
    const cut = okResponse();
    vi.spyOn(cut, 'clone').mockReturnValue(
      new Response(new ReadableStream({ start: (c) => c.error(new TypeError('terminated')) })),
    );
    const gatewayResponse = (status: number) => new Response('<html>', { status });
    const { client, sent } = createScriptedClient([
      failNetwork(),
      cut,
      problemResponse(429, 'rate_limited', 'Too many.'),
      gatewayResponse(502),
      busyResponse(),
      gatewayResponse(504),
      okResponse(),
    ]);
    const answer = client.execute(VIEW);
    await vi.runAllTimersAsync();
    expect(await answer).toStrictEqual({ content: 'text', is_error: false });
    expect(sent.map(({ at }) => at)).toStrictEqual([0, 200, 600, 1400, 3000, 6200, 11_200]);
    expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(new Set(sent.map(({ headers }) => headers['x-request-id'])).size).toBe(7);
  });

  it('waits a random time before each retry, between zero and the full backoff', async () => {
    vi.mocked(Math.random).mockReturnValueOnce(0).mockReturnValueOnce(0.5).mockReturnValueOnce(0.25);
    const { client, sent } = createScriptedClient([
      busyResponse(),
      busyResponse(),
      busyResponse(),
      okResponse(),
    ]);
    const answer = client.execute(VIEW);
    await vi.runAllTimersAsync();
    await answer;
    expect(sent.map(({ at }) => at)).toStrictEqual([0, 0, 200, 400]);
  });

  it.each([
    ['seconds', '3'],
    ['an HTTP date', 'Thu, 01 Jan 2026 00:00:03 GMT'],
  ])('waits at least the time in Retry-After before a retry if the header contains %s', async (_, value) => {
    const { client, sent } = createScriptedClient([busyResponse({ 'retry-after': value }), okResponse()]);
    const answer = client.execute(VIEW);
    await vi.runAllTimersAsync();
    await answer;
    expect(sent.map(({ at }) => at)).toStrictEqual([0, 3200]);
  });

  it.each(['soon', '-1', '1.5', ''])(
    'ignores a Retry-After header with the invalid value %j',
    async (value) => {
      const { client, sent } = createScriptedClient([busyResponse({ 'retry-after': value }), okResponse()]);
      const answer = client.execute(VIEW);
      await vi.runAllTimersAsync();
      await answer;
      expect(sent.map(({ at }) => at)).toStrictEqual([0, 200]);
    },
  );

  it('sends the same tool_use block again in a retry', async () => {
    const { client, sent } = createScriptedClient([failNetwork(), okResponse()]);
    const answer = client.execute(BLOCK);
    await vi.runAllTimersAsync();
    await answer;
    expect(sent.map(({ body }) => body)).toStrictEqual([BLOCK, BLOCK]);
  });

  it('retries after an attempt that times out', async () => {
    const { client, sent } = createScriptedClient(['hang', okResponse()], { attemptTimeoutMs: 1000 });
    const answer = client.execute(VIEW);
    await vi.runAllTimersAsync();
    expect(await answer).toStrictEqual({ content: 'text', is_error: false });
    expect(sent.map(({ at }) => at)).toStrictEqual([0, 1200]);
  });
});

describe('a result for another tool_use block', () => {
  it.each([
    [BLOCK, 'toolu_2'],
    [BLOCK, ''],
    [BLOCK, null],
    [BLOCK, ['toolu_1']],
    [VIEW, 'toolu_1'],
  ])('fails the call %j if the result has the tool_use_id %j', async (call, id) => {
    const { client, sent } = createScriptedClient([
      okResponse({ type: 'tool_result', tool_use_id: id, content: 'SECRET', is_error: false }),
    ]);
    const error = await client.execute(call as typeof BLOCK).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'invalid_response', status: 200, retryable: false });
    expect(String(error)).not.toContain('SECRET');
    expect(sent).toHaveLength(1);
  });
});

describe("end of the client's retries", () => {
  it('stops retrying after maxRetries', async () => {
    const { client, sent } = createScriptedClient([busyResponse()], { maxRetries: 2 });
    const error = await callError(client);
    expect(sent).toHaveLength(3);
    expect({ ...error, message: error.message }).toStrictEqual({
      name: 'MemoryServiceError',
      message:
        'The memory service responded with 503 database_unavailable: The database is not available. Try again shortly. (3 tries, request request-1)',
      status: 503,
      code: 'database_unavailable',
      requestId: 'request-1',
      retryable: true,
      retryAfterMs: undefined,
      idempotencyKey: sent[0]?.headers['idempotency-key'],
    });
  });

  it('stops retrying at the deadline, even during an attempt', async () => {
    const { client, sent } = createScriptedClient(['hang'], { timeoutMs: 2500, attemptTimeoutMs: 1000 });
    const error = await callError(client);
    expect(sent.map(({ at }) => at)).toStrictEqual([0, 1200]);
    expect([error.status, error.code, error.retryable]).toStrictEqual([undefined, 'timeout', true]);
    expect(error.message).toBe(
      `The memory service at http://memory.test:8080 sent no response within 1000 ms. (2 tries, request ${sent[1]?.headers['x-request-id']})`,
    );
    const single = createScriptedClient(['hang'], { timeoutMs: 500 });
    expect((await callError(single.client)).message).toMatch(/ sent no response within 500 ms\. \(request /);
  });

  it('throws without a retry if the Retry-After time ends after the deadline', async () => {
    const { client, sent } = createScriptedClient([
      problemResponse(429, 'rate_limited', 'Too many.', { 'retry-after': '60' }),
    ]);
    const error = await callError(client);
    expect(sent).toHaveLength(1);
    expect([error.status, error.code, error.retryable, error.retryAfterMs]).toStrictEqual([
      429,
      'rate_limited',
      true,
      60_000,
    ]);
  });

  it.each([
    [400, 'not_a_memory_input'],
    [403, 'tenant_suspended'],
    [413, 'body_too_large'],
    [422, 'idempotency_key_reused'],
    [500, 'internal_error'],
  ])('throws without a retry after the response %i %s', async (status, code) => {
    const { client, sent } = createScriptedClient([problemResponse(status, code, 'What to do.')]);
    const error = await callError(client);
    expect(sent).toHaveLength(1);
    expect(error).toMatchObject({ status, code, requestId: 'request-1', retryable: false });
    expect(error.message).toBe(
      `The memory service responded with ${status} ${code}: What to do. (request request-1)`,
    );
  });

  it('throws without quoting the response if it is not from a memory service', async () => {
    const page = new Response('<html>secret</html>', { headers: { 'x-request-id': 'request-2' } });
    expect(await callError(createScriptedClient([page]).client)).toMatchObject({
      message:
        'http://memory.test:8080/execute responded with 200, but not like a memory service. Check `url`, and any proxy in front of the service. (request request-2)',
      status: 200,
      code: 'invalid_response',
      retryable: false,
    });
    const moved = new Response(null, {
      status: 301,
      headers: { location: 'https://memory.test/', 'x-request-id': 'request-3' },
    });
    expect(await callError(createScriptedClient([moved]).client)).toMatchObject({
      message:
        'http://memory.test:8080/execute redirects. Set `url` to where it redirects to. (request request-3)',
      code: 'http_301',
      retryable: false,
    });
    const proxy = new Response(JSON.stringify({ code: 'secret', detail: 'secret' }), {
      status: 403,
      headers: { 'content-type': 'application/json', 'x-request-id': 'request-4' },
    });
    expect((await callError(createScriptedClient([proxy]).client)).message).toBe(
      'http://memory.test:8080/execute responded with 403, but not like a memory service. Check `url`, and any proxy in front of the service. (request request-4)',
    );
  });

  it("names the service's URL in the error if the port is closed", async () => {
    const { client, sent } = createScriptedClient([failNetwork()], { maxRetries: 0 });
    const error = await callError(client);
    expect(error.message).toBe(
      `The memory service at http://memory.test:8080 cannot be reached: ECONNREFUSED. Check \`url\` and that the service runs. (request ${sent[0]?.headers['x-request-id']})`,
    );
    expect([error.code, error.retryable]).toStrictEqual(['network_error', true]);
    expect(error.cause).toBeInstanceOf(TypeError);
  });
});
