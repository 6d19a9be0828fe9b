/** Client requests, rejected options, and signals that abort a call. */
import { describe, expect, it, vi } from 'vitest';
import { MemoryClient, MemoryContext, MemoryServiceError } from '../src/index.ts';
import {
  BLOCK,
  busyResponse,
  callError,
  createScriptedClient,
  failNetwork,
  okResponse,
  problemResponse,
  UUID,
  useScriptedTime,
  VIEW,
} from './scripted-fetch.ts';

useScriptedTime();

describe('MemoryClient.execute()', () => {
  it.each([
    [true, 'include'],
    [false, 'omit'],
  ])('sends the option provenance: %s as X-Memory-Provenance: %s', async (provenance, header) => {
    const { client, sent } = createScriptedClient([okResponse()], { provenance });
    await client.execute(VIEW);
    expect(sent[0]?.headers).toMatchObject({ 'x-memory-provenance': header });
  });

  it("sends an input under a random idempotency key, and returns the result's content and is_error", async () => {
    const { client, sent } = createScriptedClient([okResponse()], { apiKey: 'msk_secret', tenant: 'acme' });
    expect(await client.execute(VIEW)).toStrictEqual({ content: 'text', is_error: false });
    expect(sent).toStrictEqual([
      {
        at: 0,
        url: 'http://memory.test:8080/execute',
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          authorization: 'Bearer msk_secret',
          'x-tenant-id': 'acme',
          'idempotency-key': expect.stringMatching(UUID),
          'x-request-id': expect.stringMatching(UUID),
        },
        body: { command: 'view', path: '/memories' },
      },
    ]);
  });

  it('sends a tool_use block without an Idempotency-Key header, and returns a tool_result block', async () => {
    const { client, sent } = createScriptedClient([okResponse({ content: 'Error: no', is_error: true })]);
    // An SDK's block has fields that the service does not know.
    const block = { ...BLOCK, caller: { type: 'direct' } };
    expect(await client.execute(block)).toStrictEqual({
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: 'Error: no',
      is_error: true,
    });
    expect(sent).toMatchObject([{ body: BLOCK }]);
    expect(sent[0]?.body).toStrictEqual(BLOCK);
    expect(sent[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it.each([
    ['http://memory.test', 'http://memory.test/execute'],
    ['https://memory.test/', 'https://memory.test/execute'],
    ['https://memory.test/team/memory/?a=b#c', 'https://memory.test/team/memory/execute'],
  ])("appends the call's path to the service URL %s: %s", async (url, expected) => {
    const { client, sent } = createScriptedClient([okResponse()], { url });
    await client.execute(VIEW);
    expect(sent[0]?.url).toBe(expected);
  });

  it('sends the given idempotency key, and looks up the global fetch at each call', async () => {
    const { client, sent } = createScriptedClient([okResponse()]);
    await client.execute(VIEW, { idempotencyKey: 'job-7' });
    expect(sent[0]?.headers).toMatchObject({ 'idempotency-key': 'job-7' });

    const plain = new MemoryClient({ url: 'http://memory.test' });
    vi.stubGlobal('fetch', async () => okResponse({ content: 'stubbed', is_error: false }));
    expect(await plain.execute(VIEW)).toStrictEqual({ content: 'stubbed', is_error: false });
    vi.unstubAllGlobals();
  });
});

describe('client constructor', () => {
  it.each([
    [{ url: '' }, '`url` must be the URL of the memory service, like https://memory.example.com'],
    [
      { url: 'localhost:8080' },
      '`url` must be the URL of the memory service, like https://memory.example.com',
    ],
    [{ url: 'http://u:p@h' }, '`url` must not hold a user or a password: give the key as `apiKey`'],
    [
      { url: 'http://memory.test/team/execute/?key=secret' },
      '`url` must not end in /execute, which the client adds: http://memory.test/team/execute',
    ],
    [{ apiKey: 'msk_\nsecret' }, '`apiKey` is empty or holds characters that a header cannot carry'],
    [{ apiKey: '' }, '`apiKey` is empty or holds characters that a header cannot carry'],
    [{ tenant: 'añb' }, '`tenant` is empty or holds characters that a header cannot carry'],
    [{ timeoutMs: 0 }, '`timeoutMs` must be a whole number, at least 1 and below 2 ** 31'],
    [
      { attemptTimeoutMs: 2 ** 31 },
      '`attemptTimeoutMs` must be a whole number, at least 1 and below 2 ** 31',
    ],
    [{ maxRetries: -1 }, '`maxRetries` must be a whole number, at least 0 and below 2 ** 31'],
  ])('rejects the client options %o', (options, message) => {
    expect(() => new MemoryClient({ url: 'http://memory.test', ...options })).toThrow(new TypeError(message));
  });

  it('rejects an idempotency key that contains a space', async () => {
    const { client } = createScriptedClient([okResponse()]);
    await expect(client.execute(VIEW, { idempotencyKey: 'two words' })).rejects.toThrow(
      '`idempotencyKey` must be 1 to 255 printable ASCII characters without spaces',
    );
  });

  it('removes the trailing newline from an API key that was read from a file', async () => {
    const { client, sent } = createScriptedClient([okResponse()], { apiKey: 'msk_secret\n' });
    await client.execute(VIEW);
    expect(sent[0]?.headers.authorization).toBe('Bearer msk_secret');
  });
});

describe('an abort signal for a call', () => {
  it('sends no request if the signal was aborted before the call', async () => {
    const { client, sent } = createScriptedClient([okResponse()]);
    const error = await callError(client, { signal: AbortSignal.abort('stop') });
    expect(sent).toStrictEqual([]);
    expect(error).toMatchObject({
      message: 'The call of the memory service was aborted by its signal.',
      code: 'aborted',
      retryable: false,
      cause: 'stop',
    });
  });

  it.each([
    ['an attempt', 'hang'],
    ['the wait between two attempts', failNetwork()],
  ] as const)('aborts a call when the signal aborts during %s', async (_, step) => {
    const { client, sent } = createScriptedClient([step]);
    const controller = new AbortController();
    const caught = client.execute(VIEW, { signal: controller.signal }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    controller.abort('stop');
    expect(await caught).toMatchObject({ code: 'aborted', cause: 'stop' });
    expect(sent).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

it('omits the API key and the tool input from the error when a call fails', async () => {
  const input = { command: 'create', path: '/memories/secret-path', file_text: 'secret-text' } as const;
  for (const step of [
    failNetwork(),
    busyResponse(),
    problemResponse(401, 'unauthorized', 'No.'),
    'hang',
  ] as const) {
    const { client } = createScriptedClient([step], { apiKey: 'msk_secret', timeoutMs: 100, maxRetries: 0 });
    const caught = client.execute(input).catch((error: unknown) => error);
    await vi.runAllTimersAsync();
    const error = await caught;
    expect(error).toBeInstanceOf(MemoryServiceError);
    const { stack, message, cause } = error as MemoryServiceError;
    expect(`${stack} ${message} ${cause} ${JSON.stringify(error)}`).not.toMatch(/secret/);
  }
});

describe('MemoryClient.instructions()', () => {
  it('fetches the instructions with GET, and tries again after a 503 response', async () => {
    const { client, sent } = createScriptedClient(
      [busyResponse(), okResponse({ content: 'Read first.', mounts: [] })],
      {
        url: 'http://memory.test/base/',
        tenant: 'acme',
      },
    );
    const asked = client.instructions({ protocol: false });
    await vi.runAllTimersAsync();
    expect(await asked).toBe('Read first.');
    expect(sent.map(({ url, body }) => [url, body])).toStrictEqual([
      ['http://memory.test/base/instructions?protocol=false', undefined],
      ['http://memory.test/base/instructions?protocol=false', undefined],
    ]);
    expect(sent[0]?.headers).toMatchObject({ 'x-tenant-id': 'acme' });
    expect(sent[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it('throws if the response to an instructions request is an error or contains no text', async () => {
    const rejected = problemResponse(401, 'unauthorized', 'No.');
    const { client } = createScriptedClient([okResponse({ mounts: [] }), rejected], { apiKey: 'msk_secret' });
    await expect(client.instructions()).rejects.toMatchObject({ code: 'invalid_response' });
    await expect(client.instructions()).rejects.toMatchObject({
      code: 'unauthorized',
      idempotencyKey: undefined,
    });
    await expect(client.instructions({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
  });

  it('throws if the response to a tool call has no is_error field', async () => {
    const { client } = createScriptedClient([okResponse({ content: 'text' })]);
    await expect(client.execute(VIEW)).rejects.toMatchObject({ code: 'invalid_response' });
  });
});

const FIRST = { guidance: 'Use it.', snapshot: 'All files.', changes: null, version: 'v.1' };
const UNCHANGED = { guidance: 'Use it.', snapshot: null, changes: '', version: 'v.1' };
const CHANGED = { guidance: 'Use it.', snapshot: null, changes: 'A new file.', version: 'v.2' };

describe('MemoryClient.context()', () => {
  it('fetches the context with GET, and tries again after a 503 response', async () => {
    const { client, sent } = createScriptedClient([busyResponse(), okResponse(CHANGED)], {
      url: 'http://memory.test/base/',
    });
    const asked = client.context({ since: 'v.1', maxChars: 2000 });
    await vi.runAllTimersAsync();
    expect(await asked).toStrictEqual(CHANGED);
    expect(sent.map(({ url, body }) => [url, body])).toStrictEqual([
      ['http://memory.test/base/context?since=v.1&max_chars=2000', undefined],
      ['http://memory.test/base/context?since=v.1&max_chars=2000', undefined],
    ]);
  });

  it('throws if the response has no text, or if the service is too old to have a context', async () => {
    const missing = problemResponse(404, 'route_not_found', 'No.');
    const { client } = createScriptedClient([okResponse({ ...UNCHANGED, changes: null }), missing]);
    await expect(client.context({ since: 'v.1' })).rejects.toMatchObject({
      code: 'invalid_response',
      message: expect.stringMatching(
        /^http:\/\/memory\.test:8080\/context responded with 200, but not like /,
      ),
    });
    await expect(client.context()).rejects.toMatchObject({
      code: 'route_not_found',
      message: expect.stringContaining('The service has no context. Update it, or check `url`.'),
    });
  });
});

describe('MemoryContext', () => {
  it('returns the snapshot first, and then only the changes', async () => {
    const answers = [FIRST, UNCHANGED, CHANGED, FIRST].map((each) => okResponse(each));
    const { client, sent } = createScriptedClient(answers);
    const context = new MemoryContext(client);
    expect([context.guidance, context.version]).toStrictEqual(['', undefined]);
    expect(await context.start()).toBe('All files.');
    expect([context.guidance, context.version]).toStrictEqual(['Use it.', 'v.1']);
    expect(await context.update()).toBeUndefined();
    expect(await context.update()).toBe('A new file.');
    expect(context.version).toBe('v.2');
    expect(await context.start()).toBe('All files.');
    expect(sent.map(({ url }) => new URL(url).search)).toStrictEqual(['', '?since=v.1', '?since=v.1', '']);
  });

  it('continues from a saved version, and returns the whole snapshot if the changes are not known', async () => {
    const { client, sent } = createScriptedClient([okResponse(FIRST)]);
    expect(await new MemoryContext(client, 'v.0').update()).toBe('All files.');
    expect(sent.map(({ url }) => new URL(url).search)).toStrictEqual(['?since=v.0']);
  });
});
