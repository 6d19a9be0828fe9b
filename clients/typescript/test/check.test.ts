/** Requests and messages from `check` that need no real service. test/http/whoami.test.ts has the other tests. */
import { describe, expect, it, vi } from 'vitest';
import { type MemoryClient, MemoryServiceError } from '../src/index.ts';
import {
  busyResponse,
  createScriptedClient,
  failNetwork,
  okResponse,
  useScriptedTime,
} from './scripted-fetch.ts';

useScriptedTime();

async function checkMessage(client: MemoryClient, signal?: AbortSignal): Promise<string> {
  const error = await client.check({ signal }).catch((caught: unknown) => caught);
  if (error instanceof MemoryServiceError) return error.message.replace(/ \(request [\w-]+\)$/, '');
  throw new Error(`not a MemoryServiceError: ${error}`);
}

const networkError = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) });

describe('MemoryClient.check()', () => {
  it('sends the key and the tenant in headers, and no body, in a check', async () => {
    const identity = {
      credential: { kind: 'tenant_key', id: 'key_1', label: 'a', subject: null },
      tenant: { id: 'acme', exists: true, archived: false },
      rights: { access: 'read_write', creates_tenants: false, manages_stores: false },
      limits: {},
      settings: {},
      mounts: [],
      version: '0.1.0',
    };
    const { client, sent } = createScriptedClient([okResponse(identity)], {
      apiKey: 'msk_secret',
      tenant: 'acme',
    });
    expect(await client.check()).toStrictEqual(identity);
    expect(sent).toMatchObject([
      {
        url: 'http://memory.test:8080/whoami',
        headers: { authorization: 'Bearer msk_secret', 'x-tenant-id': 'acme' },
        body: undefined,
      },
    ]);
    expect(sent[0]?.headers).not.toHaveProperty('content-type');
    expect(sent[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it.each([
    [
      'is busy',
      busyResponse(),
      'responded with 503 database_unavailable: The database is not available. Try again shortly.',
    ],
    [
      'does not respond',
      failNetwork(),
      'cannot be reached: ECONNREFUSED. Check `url` and that the service runs.',
    ],
  ])('checks with one request and no retry when the service %s', async (_, step, words) => {
    const { client, sent } = createScriptedClient([step]);
    expect(await checkMessage(client)).toBe(`The memory service at http://memory.test:8080 ${words}`);
    expect(sent).toHaveLength(1);
  });

  it.each([
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ])('explains how to fix the certificate error %s', async (code) => {
    const { client } = createScriptedClient([networkError(code)], { url: 'https://memory.test' });
    expect(await checkMessage(client)).toBe(
      `The memory service at https://memory.test cannot be reached: ${code}. Its TLS certificate is not trusted: check the host name in \`url\`, or make its authority known (NODE_EXTRA_CA_CERTS).`,
    );
  });

  it.each([
    ['http', 'UND_ERR_SOCKET', 'Its response is not HTTP: if it has TLS, start `url` with https://.'],
    ['http', 'HPE_INVALID_CONSTANT', 'Its response is not HTTP: if it has TLS, start `url` with https://.'],
    ['https', 'UND_ERR_SOCKET', 'Check `url` and that the service runs.'],
    [
      'https',
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'It does not speak TLS: if it has none, start `url` with http://.',
    ],
  ])('suggests how to correct an %s URL after the connection error %s', async (scheme, code, words) => {
    const url = `${scheme}://memory.test`;
    const { client } = createScriptedClient([networkError(code)], { url });
    expect(await checkMessage(client)).toBe(
      `The memory service at ${url} cannot be reached: ${code}. ${words}`,
    );
  });

  it.each([
    [{ timeoutMs: 3000 }, 3000],
    [{ attemptTimeoutMs: 2000 }, 2000],
  ])('stops a check without a response after the time in %j', async (options, ms) => {
    const { client } = createScriptedClient(['hang'], options);
    const message = checkMessage(client);
    await vi.runAllTimersAsync();
    expect(await message).toBe(
      `The memory service at http://memory.test:8080 sent no response within ${ms} ms.`,
    );
  });

  it("aborts a check when the caller's signal aborts", async () => {
    const { client } = createScriptedClient(['hang']);
    const controller = new AbortController();
    const message = checkMessage(client, controller.signal);
    controller.abort();
    expect(await message).toBe('The call of the memory service was aborted by its signal.');
  });
});
