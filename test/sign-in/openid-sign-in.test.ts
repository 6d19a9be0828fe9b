/** @module-tag long-on-pglite */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';
import { makeKey } from '../support/admin.ts';
import { freePort } from '../support/faults/postgres-server.ts';
import { type OpenIdServer, openIdVariables, startOpenId } from '../support/openid.ts';
import { startConsole } from '../support/start-console.ts';
import { describeService, freshTenant, startService } from '../support/test-service.ts';

/** A browser that follows redirects and keeps each origin's cookies. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Follows redirects until a response is not a redirect. Returns this response and its URL. */
  async open(url: string, init: RequestInit = {}): Promise<{ url: URL; response: Response; text: string }> {
    const response = await this.fetch(url, init);
    const to = response.headers.get('location');
    if (to === null) return { url: new URL(url), response, text: await response.text() };
    return this.open(new URL(to, url).href);
  }

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(url);
    const cookies = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, cookies);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(init.headers as Record<string, string>), ...(cookie === '' ? {} : { cookie }) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const each of response.headers.getSetCookie()) {
      const [name = '', value = ''] = each.split(';', 1)[0]?.split(/=(.*)/s) ?? [];
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(each)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }

  /** Returns an origin's cookies, as a request header. */
  cookieHeader(origin: string): string {
    return [...(this.#cookies.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** Fills in the provider's forms until it sends the browser back. */
  async signIn(consoleUrl: string, account: string): Promise<{ url: URL; response: Response }> {
    let page = await this.open(`${consoleUrl}/sign-in/openid`);
    while (page.url.pathname.startsWith('/interaction/')) {
      const prompt = /name="prompt" value="(\w+)"/.exec(page.text)?.[1] ?? '';
      const body = new URLSearchParams({ prompt, login: account, password: 'any' });
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      page = await this.open(page.url.href, { method: 'POST', body: body.toString(), headers });
    }
    return page;
  }
}

const CONSOLE = { 'x-memory-console': '1' };

describeService('sign-in to the console with OpenID Connect', (service) => {
  let openId: OpenIdServer;
  let consoleUrl = '';
  let close = async () => {};

  beforeAll(async () => {
    consoleUrl = `http://127.0.0.1:${await freePort()}`;
    openId = await startOpenId(consoleUrl);
    const server = await startConsole(service().database, openIdVariables(openId.issuer, consoleUrl));
    close = server.close;
  });
  afterAll(async () => {
    await close();
    await openId.close();
  });

  const session = async (browser: Browser, headers: Record<string, string> = CONSOLE) =>
    (await browser.fetch(`${consoleUrl}/v1/session`, { headers })).json();

  it('names the signed-in person in the audit trail and in the history', async () => {
    const browser = new Browser();
    const { url } = await browser.signIn(consoleUrl, 'anna memory-admin');
    expect(url.href).toBe(`${consoleUrl}/`);
    expect(await session(browser)).toMatchObject({
      actor: { type: 'user', id: 'anna memory-admin', label: 'anna' },
      access: 'read_write',
      tenants: null,
    });

    const tenant = freshTenant('signed-in');
    const send = (method: string, path: string, body: string, headers: Record<string, string>) =>
      browser.fetch(`${consoleUrl}/v1${path}`, { method, headers: { ...CONSOLE, ...headers }, body });
    const json = { 'content-type': 'application/json' };
    expect((await send('POST', '/tenants', JSON.stringify({ id: tenant }), json)).status).toBe(201);
    const text = { 'content-type': 'text/plain', 'if-none-match': '*' };
    expect((await send('PUT', `/tenants/${tenant}/file?path=/memories/a`, 'x', text)).status).toBe(201);
    const read = async (path: string) =>
      (await browser.fetch(`${consoleUrl}/v1${path}`, { headers: CONSOLE })).json();
    const actor = { type: 'user', id: 'anna memory-admin', label: 'anna' };
    expect(await read(`/audit?tenant=${tenant}`)).toMatchObject({ events: [{ actor }, { actor }] });
    expect(await read(`/tenants/${tenant}/versions`)).toMatchObject({ versions: [{ actor }] });
  });

  it.each([
    ['bob memory-viewer', 'read_only', 403],
    ['carl memory-operator', 'operate', 403],
    ['dora memory-viewer memory-admin', 'read_write', 201],
  ])('gives the account %s the access %s according to its roles', async (account, access, status) => {
    const browser = new Browser();
    await browser.signIn(consoleUrl, account);
    expect(await session(browser)).toMatchObject({ access });
    const response = await browser.fetch(`${consoleUrl}/v1/tenants`, {
      method: 'POST',
      headers: { ...CONSOLE, 'content-type': 'application/json' },
      body: JSON.stringify({ id: freshTenant('role') }),
    });
    expect(response.status).toBe(status);
  });

  it('rejects a person without a role', async () => {
    const browser = new Browser();
    const { url } = await browser.signIn(consoleUrl, 'eve memory-nothing');
    expect(url.href).toBe(`${consoleUrl}/?sign_in=no_role`);
    expect(await session(browser)).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  it('ends the session at a sign-out', async () => {
    const browser = new Browser();
    await browser.signIn(consoleUrl, 'anna memory-admin');
    const signedOut = await browser.fetch(`${consoleUrl}/sign-out`, { method: 'POST' });
    expect([signedOut.status, signedOut.headers.getSetCookie()]).toStrictEqual([
      204,
      ['console_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict'],
    ]);
    expect(await session(browser)).toMatchObject({ status: 401 });
  });

  it('ends a live stream at a sign-out', async () => {
    const browser = new Browser();
    await browser.signIn(consoleUrl, 'anna memory-admin');
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    const headers = { ...CONSOLE, accept: 'text/event-stream' };
    const stream = await browser.fetch(`${consoleUrl}/v1/tenants/${tenant}/changes`, { headers });
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    await browser.fetch(`${consoleUrl}/sign-out`, { method: 'POST' });
    expect(await stream.text()).toContain('"code":"unauthorized"');
  });

  describe('the session cookie', () => {
    /** Sends the cookie to an installation or replica with other settings, and returns the response status. */
    const statusAt = async (
      cookie: string,
      env: Record<string, string> = {},
      database = service().database,
    ) => {
      const variables = { ...openIdVariables(openId.issuer, consoleUrl), AUTH: 'keys', LOG_LEVEL: 'silent' };
      const app = await buildAdminApp({ config: loadConfig({ ...variables, ...env }), database });
      const { statusCode } = await app.inject({ url: '/v1/session', headers: { ...CONSOLE, cookie } });
      await app.close();
      return statusCode;
    };
    const signInAnna = async () => {
      const browser = new Browser();
      await browser.signIn(consoleUrl, 'anna memory-admin');
      return { browser, cookie: browser.cookieHeader(consoleUrl) };
    };

    it('works on other replicas, but not with other sign-in settings or another database', async () => {
      const { cookie } = await signInAnna();
      expect(await statusAt(cookie)).toBe(200);
      for (const env of [
        { OIDC_ISSUER: `${openId.issuer}/other` },
        { OIDC_CLIENT_ID: 'another-client' },
        { OIDC_CLIENT_SECRET: 'another secret' },
        { CONSOLE_URL: 'http://127.0.0.1:1' },
        { OIDC_ROLES: 'memory-admin=read_only' },
        { OIDC_ROLES_CLAIM: 'roles' },
      ])
        expect([env, await statusAt(cookie, env)]).toStrictEqual([env, 401]);
      const other = await startService('pglite', { AUTH: 'keys' });
      expect(await statusAt(cookie, {}, other.database)).toBe(401);
      await other.close();
    });

    it('becomes invalid on all replicas at a sign-out, without an effect on other sessions', async () => {
      const { browser, cookie } = await signInAnna();
      const other = await signInAnna();
      expect((await browser.fetch(`${consoleUrl}/sign-out`, { method: 'POST' })).status).toBe(204);
      const headers = { ...CONSOLE, cookie };
      expect((await fetch(`${consoleUrl}/v1/session`, { headers })).status).toBe(401);
      expect(await statusAt(cookie)).toBe(401);
      expect(await statusAt(other.cookie)).toBe(200);
      // A sign-out with a cookie that is not valid ends no session and is no error.
      const again = await fetch(`${consoleUrl}/sign-out`, { method: 'POST', headers: { cookie } });
      expect(again.status).toBe(204);
    });
  });

  it('asks once for another account after a person without a role signed in', async () => {
    const browser = new Browser();
    await browser.signIn(consoleUrl, 'eve memory-nothing');
    const prompt = async () => {
      const { headers } = await browser.fetch(`${consoleUrl}/sign-in/openid`);
      return new URL(headers.get('location') ?? '').searchParams.get('prompt');
    };
    expect([await prompt(), await prompt()]).toStrictEqual(['select_account', null]);
  });

  it("redirects a sign-out to the provider's sign-out page", async () => {
    const response = await fetch(`${consoleUrl}/sign-out/openid`, { redirect: 'manual' });
    const url = new URL(response.headers.get('location') ?? '');
    expect([response.status, url.origin, url.pathname]).toStrictEqual([303, openId.issuer, '/session/end']);
    expect(url.searchParams.get('client_id')).toBe('memory-console');
  });

  it("rejects the session cookie if another site's page sends the request", async () => {
    const browser = new Browser();
    await browser.signIn(consoleUrl, 'anna memory-admin');
    expect(await session(browser, {})).toMatchObject({ status: 401, code: 'unauthorized' });
    // The page would have to ask first whether it may send the header.
    const asked = await browser.fetch(`${consoleUrl}/v1/session`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-memory-console',
      },
    });
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toStrictEqual([405, null]);
  });

  it('uses the admin key if a request has both an admin key and a session', async () => {
    const { key } = await makeKey(service(), { isAdmin: true, label: 'fred' });
    const browser = new Browser();
    await browser.signIn(consoleUrl, 'anna memory-admin');
    expect(await session(browser, { authorization: `Bearer ${key}` })).toMatchObject({
      actor: { type: 'admin_key', label: 'fred' },
    });
  });

  describe('a sign-in callback', () => {
    const callback = async (query: string, browser = new Browser()) =>
      (await browser.fetch(`${consoleUrl}/sign-in/openid/callback?${query}`)).headers.get('location');

    it('rejects a callback if this browser started no sign-in', async () => {
      expect(await callback('code=x&state=y')).toBe(`${consoleUrl}/?sign_in=failed`);
    });

    it("rejects a callback with another browser's state", async () => {
      const browser = new Browser();
      await browser.open(`${consoleUrl}/sign-in/openid`);
      expect(await callback('code=x&state=y', browser)).toBe(`${consoleUrl}/?sign_in=failed`);
      // The sign-in is over, so a second attempt cannot use its values.
      expect(await callback('code=x&state=y', browser)).toBe(`${consoleUrl}/?sign_in=failed`);
    });

    it('rejects a callback with an altered cookie', async () => {
      const headers = { cookie: 'console_pending=eyJhbGciOiJkaXIifQ..AAAA.AAAA.AAAA; console_session=x' };
      const response = await fetch(`${consoleUrl}/sign-in/openid/callback?code=x&state=y`, {
        headers,
        redirect: 'manual',
      });
      expect(response.headers.get('location')).toBe(`${consoleUrl}/?sign_in=failed`);
      const rejected = await fetch(`${consoleUrl}/v1/session`, { headers: { ...headers, ...CONSOLE } });
      expect(rejected.status).toBe(401);
    });

    it('names the reason if the provider rejected the sign-in', async () => {
      const browser = new Browser();
      const { headers } = await browser.fetch(`${consoleUrl}/sign-in/openid`);
      const state = new URL(headers.get('location') ?? '').searchParams.get('state') ?? '';
      const query = new URLSearchParams({ error: 'access_denied', state, iss: openId.issuer });
      expect(await callback(String(query), browser)).toBe(`${consoleUrl}/?sign_in=denied`);
    });
  });

  it('reports the provider as unreachable if nothing listens at its address', async () => {
    const config = loadConfig({
      ...openIdVariables('http://127.0.0.1:1', consoleUrl),
      AUTH: 'keys',
      LOG_LEVEL: 'silent',
      CONSOLE_URL: 'https://memory.example.com/console/',
    });
    const app = await buildAdminApp({ config, database: service().database });
    const { statusCode, headers } = await app.inject('/sign-in/openid');
    expect([statusCode, headers.location]).toStrictEqual([
      303,
      'https://memory.example.com/console/?sign_in=unreachable',
    ]);
    await app.close();
  });

  it('rejects the cookie for a pending sign-in if it is sent as a session cookie', async () => {
    const { headers } = await fetch(`${consoleUrl}/sign-in/openid`, { redirect: 'manual' });
    const value = /^console_pending=([^;]+)/.exec(headers.get('set-cookie') ?? '')?.[1];
    const response = await fetch(`${consoleUrl}/v1/session`, {
      headers: { ...CONSOLE, cookie: `console_session=${value}` },
    });
    expect(response.status).toBe(401);
  });
});
