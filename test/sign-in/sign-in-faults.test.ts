/**
 * Faults in an OpenID Connect provider and in its configuration. The provider is a server that sends chosen responses.
 *
 * @module-tag long-on-pglite
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';
import { CollectedOutput } from '../support/collected-output.ts';
import { openIdVariables } from '../support/openid.ts';
import { describeService } from '../support/test-service.ts';

const CONSOLE = 'http://127.0.0.1:8081';
const DISCOVERY = '/.well-known/openid-configuration';

interface TokenRequest {
  authorization: string | undefined;
  body: URLSearchParams;
}

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

const json = (status: number, body: object) => (_request: IncomingMessage, response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

describeService('sign-in with a provider that responds unexpectedly', (service) => {
  const opened: { app: FastifyInstance; server: Server }[] = [];
  afterEach(async () => {
    for (const { app, server } of opened.splice(0)) {
      await app.close();
      server.close();
      server.closeAllConnections();
    }
  });

  /** Starts a provider, and a console with its sign-in. */
  async function open({
    discovery,
    metadata = {},
    token = json(400, { error: 'invalid_grant' }),
    issuer = (origin: string) => origin,
  }: {
    discovery?: Respond;
    metadata?: object;
    token?: Respond;
    issuer?: (origin: string) => string;
  }) {
    const requests: TokenRequest[] = [];
    const server = createServer(async (request, response) => {
      if (request.url?.endsWith(DISCOVERY))
        return (discovery ?? json(200, { ...standard, ...metadata }))(request, response);
      const body = new URLSearchParams(await text(request));
      requests.push({ authorization: request.headers.authorization, body });
      token(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const standard = {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/jwks`,
    };
    const log = new CollectedOutput();
    const config = loadConfig({ ...openIdVariables(issuer(origin), CONSOLE), AUTH: 'keys' });
    const app = await buildAdminApp({ config, database: service().database, log: pino(log) });
    opened.push({ app, server });
    const line = () =>
      log.text
        .split('\n')
        .filter((each) => each.includes('sign-in rejected'))
        .map((each) => JSON.parse(each))
        .at(-1);
    const begin = () => app.inject('/sign-in/openid');
    /** Returns from the provider with a code, or with other parameters. */
    const complete = async (parameters: Record<string, string> = { code: 'a-code' }) => {
      const begun = await begin();
      const state = new URL(String(begun.headers.location)).searchParams.get('state') ?? '';
      const cookie = String(begun.headers['set-cookie']).split(';', 1)[0] ?? '';
      const query = new URLSearchParams({ ...parameters, state });
      const { headers } = await app.inject({ url: `/sign-in/openid/callback?${query}`, headers: { cookie } });
      return headers.location;
    };
    return { origin, begin, complete, requests, line, log };
  }

  it.each([
    { offered: undefined, basic: true, post: false },
    { offered: ['client_secret_basic', 'client_secret_post'], basic: true, post: false },
    { offered: ['client_secret_post'], basic: false, post: true },
    { offered: ['private_key_jwt', 'client_secret_post'], basic: false, post: true },
  ])(
    'sends the client secret by a method that the provider accepts: $offered',
    async ({ offered, basic, post }) => {
      const { complete, requests } = await open({
        metadata: { token_endpoint_auth_methods_supported: offered },
      });
      await complete();
      expect(requests).toHaveLength(1);
      expect(requests[0]?.authorization?.startsWith('Basic ') ?? false).toBe(basic);
      expect(requests[0]?.body.has('client_secret')).toBe(post);
    },
  );

  it('names the supported methods in the log if the provider accepts no client secret', async () => {
    const { complete, line } = await open({
      metadata: { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
    });
    expect(await complete()).toBe(`${CONSOLE}/?sign_in=misconfigured`);
    expect(line().detail).toBe(
      'The provider offers none of client_secret_basic, client_secret_post, client_secret_jwt at its token endpoint.',
    );
  });

  it.each([
    { how: 'a slash', configured: '/realm', named: '/realm/' },
    { how: 'its path', configured: '', named: '/realms/main' },
  ])('logs both issuers if they differ by $how', async ({ configured, named }) => {
    const { origin, begin, line } = await open({
      issuer: (at) => at + configured,
      discovery: (request, response) =>
        json(200, { issuer: `http://${request.headers.host}${named}` })(request, response),
    });
    expect((await begin()).headers.location).toBe(`${CONSOLE}/?sign_in=misconfigured`);
    expect(line()).toMatchObject({ issuer: origin + configured, discovered: origin + named });
  });

  it.each([
    [
      'HTML',
      (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello'),
    ],
    [
      'a redirect',
      (_request, response) => response.writeHead(302, { location: 'https://example.com' }).end(),
    ],
    ['not found', (_request, response) => response.writeHead(404).end()],
    [
      'JSON that is cut off',
      (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{'),
    ],
    ['JSON without an issuer', json(200, {})],
  ] as [string, Respond][])('logs the issuer if the discovery returns %s', async (_what, discovery) => {
    const { origin, begin, line } = await open({ discovery });
    expect((await begin()).headers.location).toBe(`${CONSOLE}/?sign_in=misconfigured`);
    expect(line()).toMatchObject({
      issuer: origin,
      detail:
        'OIDC_ISSUER must be the exact issuer of the provider. Its URL does not respond with a valid OpenID Connect configuration.',
    });
  });

  it('asks the provider again if its first discovery response was an error', async () => {
    let isBroken = true;
    const { begin, line } = await open({
      discovery: (request, response) =>
        json(isBroken ? 503 : 200, {
          issuer: `http://${request.headers.host}`,
          authorization_endpoint: `http://${request.headers.host}/authorize`,
        })(request, response),
    });
    expect((await begin()).headers.location).toBe(`${CONSOLE}/?sign_in=unreachable`);
    expect(line().status).toBe(503);
    isBroken = false;
    expect(String((await begin()).headers.location)).toContain('/authorize?');
  });

  it.each([
    [401, 'invalid_client', 'misconfigured'],
    [400, 'unauthorized_client', 'misconfigured'],
    [400, 'invalid_grant', 'failed'],
    [400, 'temporarily_unavailable', 'unreachable'],
    [503, 'server_error', 'unreachable'],
    [400, 'msk_secret_text', 'failed'],
  ])("logs the token endpoint's error: %i %s", async (status, error, rejection) => {
    const { complete, line, log } = await open({
      token: json(status, { error, error_description: 'words' }),
    });
    expect(await complete()).toBe(`${CONSOLE}/?sign_in=${rejection}`);
    const providerError = error.startsWith('msk_') ? 'other' : error;
    expect(line()).toMatchObject({ rejection, providerError, status });
    expect(log.text).not.toContain('msk_');
  });

  it.each([
    ['access_denied', 'denied', 'access_denied'],
    ['temporarily_unavailable', 'unreachable', 'temporarily_unavailable'],
    ['invalid_scope', 'misconfigured', 'invalid_scope'],
    ['login_required', 'failed', 'login_required'],
    ['text of an attacker', 'failed', 'other'],
  ])('logs the error %s if the provider sends it to the callback', async (error, rejection, logged) => {
    const { complete, line, log } = await open({});
    expect(await complete({ error })).toBe(`${CONSOLE}/?sign_in=${rejection}`);
    expect(line()).toMatchObject({ rejection, providerError: logged });
    expect(log.text).not.toContain('attacker');
  });

  it('limits the waiting sign-ins from one address while the provider hangs', async () => {
    const waiting: ServerResponse[] = [];
    const { complete, requests } = await open({ token: (_request, response) => void waiting.push(response) });
    const app = opened[0]?.app;
    const first = complete();
    await expect.poll(() => requests.length).toBe(1);
    const begun = await app?.inject('/sign-in/openid');
    const state = new URL(String(begun?.headers.location)).searchParams.get('state') ?? '';
    const cookie = String(begun?.headers['set-cookie']).split(';', 1)[0] ?? '';
    const url = `/sign-in/openid/callback?code=x&state=${state}`;
    const flood = Array.from({ length: 30 }, () => app?.inject({ url, headers: { cookie } }));
    const rejected: Awaited<(typeof flood)[number]>[] = [];
    for (const each of flood) void each?.then((response) => rejected.push(response));
    // Four requests from the address wait for the provider. Its other requests leave the queue.
    await expect.poll(() => rejected.length, { timeout: 4000 }).toBe(27);
    for (const response of rejected) {
      expect([429, 503]).toContain(response?.statusCode);
      expect(response?.headers['retry-after']).toBeDefined();
    }
    expect(requests).toHaveLength(4);
    expect((await app?.inject('/healthz'))?.statusCode).toBe(200);
    expect((await app?.inject('/sign-in/methods'))?.statusCode).toBe(200);
    const elsewhere = await app?.inject({ url: '/sign-in/openid', remoteAddress: '203.0.113.9' });
    expect(elsewhere?.headers.location).toContain('/authorize?');
    for (const response of waiting) response.destroy();
    expect(await first).toBe(`${CONSOLE}/?sign_in=unreachable`);
    await Promise.all(flood);
  });

  it('returns to the console if the provider has no sign-out', async () => {
    await open({});
    const response = await opened[0]?.app.inject('/sign-out/openid');
    expect(response?.headers.location).toBe(`${CONSOLE}/?sign_in=no_sign_out`);
  });
});
