/** Only the first failure in an outage is logged, and only one call waits with retries. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
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

const unauthorizedProblem = () => problemResponse(401, 'unauthorized', 'The API key is not valid.');
const UNREACHABLE =
  'The memory service at http://memory.test:8080 cannot be reached: ECONNREFUSED. Check `url` and that the service runs.';
const ONCE = 'The agent runs without its memory; further failures are not logged until a call succeeds.';

const recorder = () => ({
  warn: vi.fn<(message: string) => void>(),
  debug: vi.fn<(message: string) => void>(),
});

describe("warning about the client's first failed call", () => {
  beforeEach(() => void vi.spyOn(console, 'debug').mockReturnValue());
  afterEach(() => expect(console.debug).not.toHaveBeenCalled());

  it('warns on the console at the first failure, and again at the first failure after a success', async () => {
    const { client } = createScriptedClient([
      unauthorizedProblem(),
      unauthorizedProblem(),
      okResponse(),
      unauthorizedProblem(),
      unauthorizedProblem(),
    ]);
    const message = (await callError(client)).message;
    await callError(client);
    expect(vi.mocked(console.warn).mock.calls).toStrictEqual([[`${message} ${ONCE}`]]);
    expect(message).toMatch(
      /^The memory service responded with 401 unauthorized: The service needs a key\. Set `apiKey`\./,
    );
    await client.execute(VIEW);
    await callError(client);
    await callError(client);
    expect(console.warn).toHaveBeenCalledTimes(2);
  });

  it('warns about a failed call through the given logger', async () => {
    const logger = recorder();
    const { client } = createScriptedClient([unauthorizedProblem()], { logger });
    const { message } = await callError(client);
    expect(logger.warn.mock.calls).toStrictEqual([[`${message} ${ONCE}`]]);
    expect(console.warn).not.toHaveBeenCalled();
  });

  it('calls onError for every failed call instead of warning', async () => {
    const told: string[] = [];
    const { client } = createScriptedClient([unauthorizedProblem()], {
      onError: ({ code }) => told.push(code),
    });
    await callError(client);
    await callError(client);
    expect(told).toStrictEqual(['unauthorized', 'unauthorized']);
    expect(console.warn).not.toHaveBeenCalled();
  });

  it('omits the warning if the caller aborted the call', async () => {
    const { client } = createScriptedClient([unauthorizedProblem()]);
    await callError(client, { signal: AbortSignal.abort() });
    expect(console.warn).not.toHaveBeenCalled();
    await callError(client);
    expect(console.warn).toHaveBeenCalledTimes(1);
  });
});

it('logs each client retry at debug level', async () => {
  const logger = recorder();
  const { client } = createScriptedClient([failNetwork(), okResponse()], { logger });
  const answer = client.execute(VIEW);
  await vi.advanceTimersByTimeAsync(0);
  expect(logger.debug.mock.calls).toStrictEqual([[`Retrying in 0.20 s: ${UNREACHABLE}`]]);
  await vi.runAllTimersAsync();
  await answer;
  expect(logger.warn).not.toHaveBeenCalled();
});

describe('the client while the service is down', () => {
  const quiet = { onError: () => {} };

  it('retries only the first call, and sends each following call once', async () => {
    const { client, sent } = createScriptedClient([busyResponse()], quiet);
    for (let calls = 0; calls < 5; calls++) await callError(client);
    expect(sent).toHaveLength(9 + 4);
    expect(sent.at(-1)?.at).toBe(21_200);
  });

  it('retries a failed call again after another call has succeeded', async () => {
    const { client, sent } = createScriptedClient(
      [busyResponse(), busyResponse(), busyResponse(), okResponse(), busyResponse()],
      { ...quiet, maxRetries: 1 },
    );
    await callError(client);
    await callError(client);
    expect(sent).toHaveLength(3);
    await client.execute(VIEW);
    await callError(client);
    expect(sent).toHaveLength(6);
  });

  it('retries a failed call again after timeoutMs has passed since the last failure', async () => {
    const { client, sent } = createScriptedClient([busyResponse()], {
      ...quiet,
      maxRetries: 1,
      timeoutMs: 1000,
    });
    await callError(client);
    await vi.advanceTimersByTimeAsync(999);
    await callError(client);
    expect(sent).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1000);
    await callError(client);
    expect(sent).toHaveLength(5);
  });

  it('retries a call that follows a call rejected with 401', async () => {
    const { client, sent } = createScriptedClient([unauthorizedProblem(), busyResponse()], {
      ...quiet,
      maxRetries: 1,
    });
    await callError(client);
    await callError(client);
    expect(sent).toHaveLength(3);
  });
});
