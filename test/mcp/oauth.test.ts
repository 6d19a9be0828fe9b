/** Sign-in by an MCP host at an organization's identity provider (RFC 9728). */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { headersFor, initialize, modern, requestHeaders } from '../support/mcp.ts';
import { freshTenant, type Service, startSharedService } from '../support/test-service.ts';

describe('OAuth for MCP', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const JWT_PUBLIC_KEY = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const settings = {
    AUTH: 'jwt',
    JWT_ISSUER: 'https://login.example',
    JWT_AUDIENCE: 'https://memory.example/mcp',
    JWT_PUBLIC_KEY,
  };
  let service: Service;
  beforeAll(async () => {
    service = await startSharedService('postgres', {
      ...settings,
      PUBLIC_URL: 'https://memory.example/',
      AUTO_CREATE_TENANTS: 'true',
    });
  });
  afterAll(() => service.close());

  it("names the authorization server to a client without a token, and accepts that server's token", async () => {
    const sendRequest = (headers = {}) =>
      service.app.inject({
        method: 'POST',
        url: '/mcp',
        payload: initialize,
        headers: { ...requestHeaders(), ...headers },
      });
    const rejected = await sendRequest();
    expect(rejected.statusCode).toBe(401);
    const challenge = String(rejected.headers['www-authenticate']);
    const metadataUrl = /^Bearer resource_metadata="(.*)"$/.exec(challenge)?.[1] ?? '';
    expect(metadataUrl).toBe('https://memory.example/.well-known/oauth-protected-resource/mcp');
    const metadata = await service.app.inject(new URL(metadataUrl).pathname);
    expect(metadata.json()).toStrictEqual({
      resource: 'https://memory.example/mcp',
      resource_name: 'Memory service',
      bearer_methods_supported: ['header'],
      authorization_servers: ['https://login.example'],
    });
    const token = await new SignJWT({
      iss: settings.JWT_ISSUER,
      aud: metadata.json().resource,
      tenant: freshTenant(),
    })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setExpirationTime(Math.floor(Date.now() / 1000) + 60)
      .sign(privateKey);
    expect((await sendRequest({ authorization: `Bearer ${token}` })).statusCode).toBe(200);
  });

  it('ends a subscription when its token expires', async () => {
    const strict = await startSharedService('postgres', { ...settings, JWT_CLOCK_SKEW_SECONDS: '0' });
    onTestFinished(() => strict.close());
    await new Tenants(strict.database).create('expiring');
    const token = await new SignJWT({
      iss: settings.JWT_ISSUER,
      aud: settings.JWT_AUDIENCE,
      tenant: 'expiring',
    })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setExpirationTime(Math.floor(Date.now() / 1000) + 2)
      .sign(privateKey);
    const message = modern('subscriptions/listen', { notifications: { resourcesListChanged: true } }, 7);
    const { body } = await strict.app.inject({
      method: 'POST',
      url: '/mcp',
      payload: message,
      headers: { ...requestHeaders(token), ...headersFor(message) },
    });
    expect(body).toContain('"resultType":"complete"');
  });

  it('provides metadata that the official client reads', async () => {
    const { discoverOAuthProtectedResourceMetadata } = await import(
      '@modelcontextprotocol/sdk/client/auth.js'
    );
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = service.app.server.address() as AddressInfo;
    const found = await discoverOAuthProtectedResourceMetadata(`http://127.0.0.1:${port}/mcp`);
    expect(found.authorization_servers).toStrictEqual(['https://login.example']);
  });

  it('returns metadata for the whole service if the metadata URL has no path', async () => {
    const metadata = await service.app.inject('/.well-known/oauth-protected-resource');
    expect(metadata.json()).toMatchObject({ resource: 'https://memory.example' });
  });

  it.each([
    ['AUTH=keys', { AUTH: 'keys' }],
    ['an issuer that is no URL', { ...settings, JWT_ISSUER: 'login' }],
  ])('returns 404 for the OAuth metadata if the service has %s', async (_, env) => {
    const other = await startSharedService('postgres', env);
    onTestFinished(() => other.close());
    const rejected = await other.app.inject({
      method: 'POST',
      url: '/mcp',
      payload: initialize,
      headers: requestHeaders(),
    });
    expect([rejected.statusCode, rejected.headers['www-authenticate']]).toStrictEqual([401, 'Bearer']);
    for (const path of ['', '/mcp']) {
      const metadata = await other.app.inject(`/.well-known/oauth-protected-resource${path}`);
      expect([metadata.statusCode, metadata.json().code]).toStrictEqual([404, 'route_not_found']);
    }
  });

  it("uses the request's host in the metadata if PUBLIC_URL is not set", async () => {
    const other = await startSharedService('postgres', settings);
    onTestFinished(() => other.close());
    const headers = { host: 'memory.internal' };
    const metadata = await other.app.inject({ url: '/.well-known/oauth-protected-resource/mcp', headers });
    expect(metadata.json()).toMatchObject({ resource: 'http://memory.internal/mcp' });
  });

  it("omits the metadata URL from the WWW-Authenticate header if the request's host is invalid", async () => {
    const other = await startSharedService('postgres', settings);
    onTestFinished(() => other.close());
    const url = await other.app.listen({ host: '127.0.0.1', port: 0 });
    const sent = request(`${url}/mcp`, { method: 'POST', headers: { ...requestHeaders(), host: 'a"b' } });
    sent.end('{}');
    const [response] = await once(sent, 'response');
    response.resume();
    expect(response.headers['www-authenticate']).toBe('Bearer');
  });
});
