/**
 * Permissions of admin keys on every route. The test walks over all routes, so that it includes new ones.
 *
 * @module-tag long-on-pglite
 */
import { beforeAll, expect, it } from 'vitest';
import { Tenants } from '../../src/tenants/tenants.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { describeService, freshTenant } from '../support/service.ts';

/** Routes that require `read_write`. */
const MANAGING = [
  'DELETE /v1/kept-out/{entry}',
  'DELETE /v1/keys/{id}',
  'DELETE /v1/keys/{id}/previous-secret',
  'DELETE /v1/tenants/{tenant}',
  'DELETE /v1/tenants/{tenant}/mounts/{name}',
  'PATCH /v1/keys/{id}',
  'POST /v1/kept-out',
  'POST /v1/keys',
  'POST /v1/keys/{id}/rotate',
  'POST /v1/tenants',
  'POST /v1/tenants/{tenant}/copy',
  'POST /v1/tenants/{tenant}/rename',
  'PUT /v1/tenants/{tenant}/mounts/{name}',
];

/** Routes that reject scoped keys. */
const OF_THE_FLEET = [
  'DELETE /v1/kept-out/{entry}',
  'GET /v1/kept-out',
  'GET /v1/receipt-key',
  'POST /v1/kept-out',
  'GET /v1/usage',
  'POST /v1/files/expire',
  'POST /v1/history/prune',
  'POST /v1/tenants',
  'POST /v1/tenants/{tenant}/copy',
  'POST /v1/tenants/{tenant}/rename',
];

const REFUSALS = ['read_only_key', 'operate_only_key', 'outside_scope'];

describeService(
  'the permissions of admin keys',
  (service) => {
    const admin = useAdmin(service);
    let routes: string[];
    let mine: string;

    beforeAll(async () => {
      const { paths } = admin().app.swagger() as { paths: Record<string, Record<string, unknown>> };
      routes = Object.entries(paths)
        .filter(([path]) => path.startsWith('/v1/'))
        .flatMap(([path, operations]) => Object.keys(operations).map((m) => `${m.toUpperCase()} ${path}`))
        // Deletes the tenant last.
        .sort(
          (a, b) => Number(a === 'DELETE /v1/tenants/{tenant}') - Number(b === 'DELETE /v1/tenants/{tenant}'),
        );
      mine = freshTenant('mine');
      expect(await new Tenants(service().database).create(mine)).toBe(true);
    });

    /**
     * Returns the routes that reject a key, with the error code. The requests are otherwise invalid or change no data.
     */
    const refused = async (key: string, tenant: string) => {
      const codes: Record<string, string> = {};
      for (const route of routes) {
        const [method = '', path = ''] = route.split(' ');
        const url = path
          .replace('/v1', '')
          .replace('{tenant}', tenant)
          .replace(/\{\w+\}/g, 'none');
        const { body } = await admin().call(method as 'GET', url, { key });
        if (body.code !== undefined && REFUSALS.includes(body.code)) codes[route] = body.code;
      }
      return codes;
    };
    const all = (chosen: string[], code: string) => Object.fromEntries(chosen.map((route) => [route, code]));
    const issue = async (purpose: Parameters<typeof makeKey>[1]) =>
      (await makeKey(service(), { isAdmin: true, ...purpose })).key;

    it('allows a key with full access to use every route', async () => {
      expect(routes.length).toBeGreaterThan(30);
      expect(await refused(await issue({}), 'nobody')).toStrictEqual({});
    });

    it('allows a read-only key to use all routes that read', async () => {
      const changing = routes.filter((route) => !route.startsWith('GET '));
      const codes = await refused(await issue({ access: 'read_only' }), 'nobody');
      expect(codes).toStrictEqual(all(changing, 'read_only_key'));
    });

    it('allows an operate key everything but managing keys and tenants', async () => {
      const codes = await refused(await issue({ access: 'operate' }), 'nobody');
      expect(codes).toStrictEqual(all(MANAGING, 'operate_only_key'));
    });

    it('rejects a scoped key on routes of other tenants and of the fleet', async () => {
      const key = await issue({ onlyTenants: [mine] });
      const ofTenants = routes.filter((route) => route.includes('{tenant}'));
      const others = all([...ofTenants, ...OF_THE_FLEET], 'outside_scope');
      expect(await refused(key, 'nobody')).toStrictEqual(others);
      expect(await refused(key, mine)).toStrictEqual(all(OF_THE_FLEET, 'outside_scope'));
    });

    it('restricts a scoped key to data of its tenants', async () => {
      const [own, other] = [freshTenant('own'), freshTenant('other')];
      for (const id of [own, other]) {
        expect((await admin().call('POST', '/tenants', { body: { id } })).status).toBe(201);
      }
      const key = await issue({ onlyTenants: [own] });
      const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
        admin().call(method, path, { key, ...(body && { body }) });
      const theirs = (await admin().call('POST', '/keys', { body: { kind: 'tenant', tenant: other } })).body;
      const made = await call('POST', '/keys', { kind: 'tenant', tenant: own });
      expect(made.status).toBe(201);

      const tenants = (await call('GET', '/tenants?limit=200')).body.tenants as { id: string }[];
      expect(tenants.map(({ id }) => id)).toStrictEqual([own]);
      const byUse = (await call('GET', '/tenants?sort=used')).body.tenants as { id: string }[];
      expect(byUse.map(({ id }) => id)).toStrictEqual([own]);
      const keys = (await call('GET', '/keys?limit=200')).body.keys as { id: string }[];
      expect(keys.map(({ id }) => id)).toStrictEqual([made.body.id]);
      const events = (await call('GET', '/audit?limit=200')).body.events as { tenant: string }[];
      expect(events.map(({ tenant }) => tenant)).toStrictEqual([own, own]);
      expect((await call('GET', `/audit?tenant=${other}`)).body.events).toStrictEqual([]);
      expect((await call('GET', '/session')).body).toMatchObject({ access: 'read_write', tenants: [own] });

      for (const [method, path, body] of [
        ['GET', `/keys/${theirs.id}`],
        ['PATCH', `/keys/${theirs.id}`, { label: 'taken' }],
        ['POST', `/keys/${theirs.id}/rotate`, { overlap_seconds: 0 }],
        ['DELETE', `/keys/${theirs.id}`],
      ] as const) {
        expect([method, (await call(method, path, body)).status]).toStrictEqual([method, 404]);
      }
      for (const body of [{ kind: 'tenant', tenant: other }, { kind: 'service' }, { kind: 'admin' }]) {
        expect((await call('POST', '/keys', body)).body.code).toBe('outside_scope');
      }
      expect((await call('GET', `/keys?tenant=${other}`)).body.code).toBe('outside_scope');
      expect((await admin().call('GET', `/keys/${theirs.id}`)).body).toMatchObject({
        label: '',
        revoked_at: null,
      });
    });

    it('keeps the scope of a key on a renamed tenant and removes a deleted one from it', async () => {
      const [before, after] = [freshTenant('before'), freshTenant('after')];
      await admin().call('POST', '/tenants', { body: { id: before } });
      const { id } = await makeKey(service(), { isAdmin: true, onlyTenants: [before] });
      const tenants = async () => (await admin().call('GET', `/keys/${id}`)).body.tenants;
      expect((await admin().call('POST', `/tenants/${before}/rename`, { body: { to: after } })).status).toBe(
        200,
      );
      expect(await tenants()).toStrictEqual([after]);
      await admin().call('DELETE', `/tenants/${after}`);
      expect(await tenants()).toStrictEqual([]);
    });
  },
  { AUTH: 'keys' },
);
