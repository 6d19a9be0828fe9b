/**
 * Access to the admin API and to /execute by credential kind.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, openAdmin, problem, useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const READING = ['/session', '/tenants', '/keys'];

describeService(
  'authentication for the admin API',
  (service) => {
    const admin = useAdmin(service);
    const tenant = async () => {
      const id = freshTenant('admin');
      expect(await new Tenants(service().database).create(id)).toBe(true);
      return id;
    };

    it("returns the caller's identity", async () => {
      const { status, body } = await admin().call('GET', '/session');
      expect(status).toBe(200);
      expect(body).toStrictEqual({
        actor: { type: 'admin_key', id: admin().key.id, label: 'control plane' },
        access: 'read_write',
        tenants: null,
        read_only: false,
        version: '0.1.0',
        service_port: 8080,
        sharing: false,
        service_url: null,
        now: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
    });

    it('rejects tenant keys and service keys', async () => {
      const id = await tenant();
      for (const { key } of [await makeKey(service(), { tenant: id }), await makeKey(service())]) {
        for (const path of [...READING, `/tenants/${id}`, `/tenants/${id}/tree`]) {
          expect([path, ...problem(await admin().call('GET', path, { key }))]).toStrictEqual([
            path,
            403,
            'not_an_admin_key',
            'The admin API requires an admin key.',
          ]);
        }
        expect((await admin().call('DELETE', `/tenants/${id}`, { key })).status).toBe(403);
      }
      expect((await admin().call('GET', `/tenants/${id}`)).status).toBe(200);
    });

    it('returns 401 for an invalid credential', async () => {
      const expired = await makeKey(service(), { isAdmin: true, expiresAt: '2020-01-01T00:00:00Z' });
      for (const key of ['', 'msk_nonsense', expired.key]) {
        const answer = await admin().call('GET', '/session', { key });
        expect([answer.status, answer.headers['www-authenticate']]).toStrictEqual([401, 'Bearer']);
      }
    });

    it('rejects calls to /execute with an admin key, whether or not they name a tenant', async () => {
      const id = await tenant();
      const own = await makeKey(service(), { tenant: id });
      for (const headers of [{}, { 'x-tenant-id': id }]) {
        const answer = await service().execute(cmd.view('/memories'), {
          headers: { authorization: `Bearer ${admin().key.key}`, ...headers },
        });
        expect([answer.status, answer.body.code]).toStrictEqual([403, 'is_admin_key']);
      }
      const answer = await service().execute(cmd.view('/memories'), {
        headers: { authorization: `Bearer ${own.key}` },
      });
      expect(answer.status).toBe(200);
    });

    it('allows reads with a read-only admin key, and rejects changes', async () => {
      const id = await tenant();
      const { key } = await makeKey(service(), { isAdmin: true, access: 'read_only' });
      expect((await admin().call('GET', '/session', { key })).body.read_only).toBe(true);
      for (const path of [...READING, `/tenants/${id}`, `/tenants/${id}/usage`, `/tenants/${id}/tree`]) {
        expect([path, (await admin().call('GET', path, { key })).status]).toStrictEqual([path, 200]);
      }
      const changes = [
        ['POST', '/tenants', { id: freshTenant() }],
        ['POST', '/keys', { kind: 'admin' }],
        ['PATCH', `/tenants/${id}`, { settings: { max_files: 1 } }],
        ['POST', `/tenants/${id}/suspend`],
        ['POST', `/tenants/${id}/restore`, { at: '1m', dry_run: true }],
        ['DELETE', `/tenants/${id}`],
      ] as const;
      for (const [method, path, body] of changes) {
        const answer = await admin().call(method, path, { key, ...(body && { body }) });
        expect([path, ...problem(answer)]).toStrictEqual([
          path,
          403,
          'read_only_key',
          'This admin key is read-only.',
        ]);
      }
      expect((await admin().call('GET', `/tenants/${id}`)).body).toMatchObject({
        status: 'active',
        settings: { max_files: null },
      });
    });

    it('requires a credential on every route', async () => {
      const document = admin().app.swagger() as { paths: Record<string, Record<string, unknown>> };
      const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => [method.toUpperCase(), path] as const),
      );
      expect(routes.length).toBeGreaterThan(25);
      for (const [method, path] of routes) {
        const url = path.replace(/\{\w+\}/g, 'x');
        const { statusCode } = await admin().app.inject({ method: method as 'GET', url });
        expect([method, path, statusCode]).toStrictEqual([method, path, path.startsWith('/v1/') ? 401 : 200]);
      }
    });

    it('does not count requests without a credential as failed attempts', async () => {
      const own = await openAdmin(service(), { AUTH_FAILURES_PER_MINUTE: '2' });
      for (let i = 0; i < 5; i++) {
        expect((await own.call('GET', '/session', { headers: { authorization: '' } })).status).toBe(401);
      }
      expect((await own.call('GET', '/session')).status).toBe(200);
      await own.app.close();
    });

    it('returns 429 when an address has exceeded the limit on failed attempts', async () => {
      const own = await openAdmin(service(), { AUTH_FAILURES_PER_MINUTE: '2' });
      const guess = async () => {
        const { key } = await makeKey(service(), { isAdmin: true, expiresAt: '2020-01-01T00:00:00Z' });
        return (await own.call('GET', '/session', { key })).status;
      };
      expect([await guess(), await guess(), await guess()]).toStrictEqual([401, 401, 429]);
      await own.app.close();
    });
  },
  { AUTH: 'keys' },
);

describeService('the admin API without authentication', (service) => {
  const admin = useAdmin(service, { AUTH: 'none' });

  it('rejects requests with a Host or Origin header for another machine', async () => {
    const ask = async (headers: Record<string, string>) =>
      (await admin().app.inject({ url: '/v1/session', headers })).statusCode;
    expect(await ask({ host: 'localhost:8081' })).toBe(200);
    expect(await ask({ host: 'evil.example:8081' })).toBe(403);
    expect(await ask({ host: 'localhost:8081', origin: 'https://evil.example' })).toBe(403);
  });

  it('rejects requests from pages that other servers on this machine serve', async () => {
    const tenant = freshTenant('origin');
    const create = async (origin: string) => {
      const headers = { host: 'localhost:8081', origin, 'sec-fetch-site': 'same-site' };
      return (await admin().call('POST', '/tenants', { body: { id: tenant }, headers })).status;
    };
    expect(await create('http://localhost:3000')).toBe(403);
    expect(await create('http://127.0.0.1:8081')).toBe(403);
    expect(await create('null')).toBe(403);
    expect((await admin().call('GET', `/tenants/${tenant}`)).status).toBe(404);
    expect(await create('http://localhost:8081')).toBe(201);
  });

  it('identifies the caller as anonymous', async () => {
    expect((await admin().call('GET', '/session')).body).toMatchObject({
      actor: { type: 'anonymous' },
      read_only: false,
    });
  });
});

it('rejects a configuration without authentication if other machines can reach ADMIN_HOST', () => {
  const env = { ADMIN_PORT: '8081', ADMIN_HOST: '0.0.0.0' };
  const rejection =
    'The configuration is not valid:\n  AUTH none lets everyone who can reach 0.0.0.0 administer the service: set ADMIN_HOST to a loopback address, or AUTH to keys or jwt';
  expect(() => loadConfig({ ...env, AUTH: 'none' })).toThrow(rejection);
  expect(() => loadConfig({ ...env, AUTH: 'none', ALLOW_UNAUTHENTICATED: 'true' })).toThrow(rejection);
  expect(loadConfig({ ...env, AUTH: 'keys' })).toMatchObject({ ADMIN_PORT: 8081 });
  expect(loadConfig({ ADMIN_PORT: '8081', AUTH: 'none' })).toMatchObject({ ADMIN_HOST: '127.0.0.1' });
  expect(loadConfig({ ADMIN_HOST: '0.0.0.0', AUTH: 'none' }).ADMIN_PORT).toBeUndefined();
  expect(() => loadConfig({ ADMIN_PORT: '8080' })).toThrow('ADMIN_PORT must differ from PORT');
});
