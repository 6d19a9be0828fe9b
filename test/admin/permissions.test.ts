/**
 * Permissions for admin keys on every route. The test walks over all routes, so that it includes new ones.
 *
 * @module-tag long-on-pglite
 */
import { beforeAll, expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

/** Routes that require `read_write`. */
const MANAGING = [
  'DELETE /v1/kept-out/{entry}',
  'DELETE /v1/keys/{id}',
  'DELETE /v1/keys/{id}/previous-secret',
  'DELETE /v1/tenants/{tenant}',
  'DELETE /v1/tenants/{tenant}/invitations/{invitation}',
  'DELETE /v1/tenants/{tenant}/mounts/{name}',
  'DELETE /v1/tenants/{tenant}/shares/{share}',
  'DELETE /v1/webhooks/{webhook}',
  'PATCH /v1/keys/{id}',
  'PATCH /v1/webhooks/{webhook}',
  'POST /v1/kept-out',
  'POST /v1/keys',
  'POST /v1/keys/{id}/rotate',
  'POST /v1/tenants',
  'POST /v1/tenants/{tenant}/archive',
  'POST /v1/tenants/{tenant}/copy',
  'POST /v1/tenants/{tenant}/invitations',
  'POST /v1/tenants/{tenant}/rename',
  'POST /v1/tenants/{tenant}/shares',
  'POST /v1/webhooks',
  'POST /v1/webhooks/{webhook}/redeliver',
  'POST /v1/webhooks/{webhook}/rotate',
  'POST /v1/webhooks/{webhook}/test',
  'PUT /v1/tenants/{tenant}/mounts/{name}',
];

/** Routes that reject scoped keys. */
const OF_THE_FLEET = [
  'DELETE /v1/kept-out/{entry}',
  'GET /v1/kept-out',
  'GET /v1/receipt-key',
  'POST /v1/kept-out',
  'GET /v1/activity',
  'GET /v1/usage',
  'POST /v1/files/expire',
  'POST /v1/history/prune',
  'POST /v1/tenants',
  'POST /v1/tenants/{tenant}/copy',
  'POST /v1/tenants/{tenant}/rename',
];

interface IncludingRequest {
  body?: object;
  query?: string;
  /** Whether a scoped key's request concerns its tenants only, and has no effect on the fleet. */
  isNarrowed?: boolean;
}

/**
 * Routes that change data, each with the routes whose effects a request to it can have. A caller without enough access
 * for an included route must not get its effect through the first route.
 */
const INCLUDED: [route: string, included: string[], request?: IncludingRequest][] = [
  [
    'POST /v1/erase',
    ['PUT /v1/tenants/{tenant}/file', 'POST /v1/tenants/{tenant}/versions/{version}/redact'],
  ],
  ...[true, false].map((dry_run): (typeof INCLUDED)[number] => [
    'POST /v1/erase',
    ['POST /v1/kept-out'],
    { body: { text: 'a text of the detour', keep_out: true, dry_run }, isNarrowed: true },
  ]),
  [
    'POST /v1/erase',
    ['POST /v1/tenants/{tenant}/kept-out'],
    { body: { text: 'a text of the detour', keep_out: true, tenants: { ids: ['{tenant}'] } } },
  ],
  ['POST /v1/find', ['GET /v1/tenants/{tenant}/search', 'GET /v1/tenants/{tenant}/versions']],
  ['POST /v1/revert', ['POST /v1/tenants/{tenant}/revert']],
  ['POST /v1/jobs/{job}/apply', ['POST /v1/revert']],
  ['POST /v1/jobs/{job}/cancel', ['POST /v1/revert']],
  ['POST /v1/receipts/{receipt}/text', ['GET /v1/receipts/{receipt}']],
  ['POST /v1/files/expire', ['DELETE /v1/tenants/{tenant}/file']],
  ['POST /v1/history/prune', ['POST /v1/tenants/{tenant}/history/prune']],
  ['POST /v1/tenants', []],
  ['PATCH /v1/tenants/{tenant}', ['POST /v1/tenants/{tenant}/history/prune']],
  ['DELETE /v1/tenants/{tenant}', ['DELETE /v1/keys/{id}', 'DELETE /v1/tenants/{tenant}/file']],
  ['DELETE /v1/tenants/{tenant}', ['DELETE /v1/tenants/{tenant}/mounts/{name}'], { query: '?force=true' }],
  ['POST /v1/tenants/{tenant}/archive', []],
  ['POST /v1/tenants/{tenant}/copy', ['POST /v1/tenants', 'GET /v1/tenants/{tenant}/export']],
  ['POST /v1/tenants/{tenant}/rename', ['POST /v1/tenants', 'DELETE /v1/tenants/{tenant}']],
  ['POST /v1/tenants/{tenant}/suspend', []],
  ['POST /v1/tenants/{tenant}/resume', []],
  ['POST /v1/keys', []],
  ['PATCH /v1/keys/{id}', ['DELETE /v1/keys/{id}']],
  ['POST /v1/keys/{id}/rotate', ['POST /v1/keys', 'DELETE /v1/keys/{id}/previous-secret']],
  ['DELETE /v1/keys/{id}', ['DELETE /v1/keys/{id}/previous-secret']],
  ['DELETE /v1/keys/{id}/previous-secret', []],
  ['POST /v1/webhooks', ['GET /v1/changes']],
  ['PATCH /v1/webhooks/{webhook}', ['GET /v1/changes']],
  ['POST /v1/webhooks/{webhook}/redeliver', []],
  ['POST /v1/webhooks/{webhook}/rotate', []],
  ['POST /v1/webhooks/{webhook}/test', []],
  ['DELETE /v1/webhooks/{webhook}', []],
  ['POST /v1/kept-out', ['POST /v1/tenants/{tenant}/kept-out']],
  ['DELETE /v1/kept-out/{entry}', []],
  ['POST /v1/tenants/{tenant}/kept-out', []],
  ['DELETE /v1/tenants/{tenant}/kept-out/{entry}', []],
  ['PUT /v1/tenants/{tenant}/mounts/{name}', ['GET /v1/tenants/{tenant}/file']],
  ['DELETE /v1/tenants/{tenant}/mounts/{name}', []],
  ['POST /v1/tenants/{tenant}/invitations', ['GET /v1/tenants/{tenant}/file']],
  ['DELETE /v1/tenants/{tenant}/invitations/{invitation}', []],
  ['POST /v1/tenants/{tenant}/shares', []],
  ['DELETE /v1/tenants/{tenant}/shares/{share}', []],
  ['PUT /v1/tenants/{tenant}/file', []],
  ['DELETE /v1/tenants/{tenant}/file', []],
  ['POST /v1/tenants/{tenant}/move', ['PUT /v1/tenants/{tenant}/file', 'DELETE /v1/tenants/{tenant}/file']],
  [
    'POST /v1/tenants/{tenant}/execute',
    ['PUT /v1/tenants/{tenant}/file', 'DELETE /v1/tenants/{tenant}/file', 'GET /v1/tenants/{tenant}/file'],
  ],
  ['POST /v1/tenants/{tenant}/import', ['PUT /v1/tenants/{tenant}/file']],
  ['POST /v1/tenants/{tenant}/restore', ['PUT /v1/tenants/{tenant}/file']],
  ['POST /v1/tenants/{tenant}/revert', ['PUT /v1/tenants/{tenant}/file', 'DELETE /v1/tenants/{tenant}/file']],
  ['POST /v1/tenants/{tenant}/history/prune', []],
  ['POST /v1/tenants/{tenant}/versions/{version}/redact', []],
  ['POST /v1/tenants/{tenant}/directories/redact', []],
  ['POST /v1/tenants/{tenant}/drafts', []],
  ['POST /v1/tenants/{tenant}/drafts/{draft}/close', []],
  ['POST /v1/tenants/{tenant}/drafts/{draft}/comments', []],
  ['PATCH /v1/tenants/{tenant}/drafts/{draft}/comments/{comment}', []],
  ['DELETE /v1/tenants/{tenant}/drafts/{draft}/comments/{comment}', []],
  ['POST /v1/tenants/{tenant}/drafts/{draft}/merge', ['PUT /v1/tenants/{tenant}/file']],
  ['POST /v1/tenants/{tenant}/drafts/{draft}/replace', ['PUT /v1/tenants/{tenant}/file']],
];

const REJECTIONS = ['read_only_key', 'operate_only_key', 'outside_scope'];

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

    /** Returns the code for a rejection by the permissions. Requests without a body are invalid or change no data. */
    const rejection = async (key: string, tenant: string, route: string, body?: object, query = '') => {
      const [method = '', path = ''] = route.split(' ');
      const url = path
        .replace('/v1', '')
        .replace('{tenant}', tenant)
        .replace(/\{\w+\}/g, 'none');
      const sent = body && JSON.parse(JSON.stringify(body).replaceAll('{tenant}', tenant));
      const { code } = (
        await admin().call(method as 'GET', url + query, { key, ...(sent && { body: sent }) })
      ).body;
      return code !== undefined && REJECTIONS.includes(code) ? code : undefined;
    };

    /** Returns the routes that reject a key, with the error code. */
    const rejectedRoutes = async (key: string, tenant: string) => {
      const codes: Record<string, string> = {};
      for (const route of routes) {
        const code = await rejection(key, tenant, route);
        if (code !== undefined) codes[route] = code;
      }
      return codes;
    };
    const mapToCode = (chosen: string[], code: string) =>
      Object.fromEntries(chosen.map((route) => [route, code]));
    const issue = async (purpose: Parameters<typeof makeKey>[1]) =>
      (await makeKey(service(), { isAdmin: true, ...purpose })).key;

    it('allows a key with full access to use every route', async () => {
      expect(routes.length).toBeGreaterThan(30);
      expect(await rejectedRoutes(await issue({}), 'nobody')).toStrictEqual({});
    });

    it('allows a read-only key to use GET routes and no others', async () => {
      const changing = routes.filter((route) => !route.startsWith('GET '));
      const codes = await rejectedRoutes(await issue({ access: 'read_only' }), 'nobody');
      expect(codes).toStrictEqual(mapToCode(changing, 'read_only_key'));
    });

    it('allows a key with the access operate to do everything except manage keys and tenants', async () => {
      const codes = await rejectedRoutes(await issue({ access: 'operate' }), 'nobody');
      expect(codes).toStrictEqual(mapToCode(MANAGING, 'operate_only_key'));
    });

    it('lists, for every route that changes data, the routes whose effects it can have', () => {
      const changing = routes.filter((route) => !route.startsWith('GET ')).toSorted();
      expect([...new Set(INCLUDED.map(([route]) => route))].toSorted()).toStrictEqual(changing);
    });

    it.each(
      (['read_only', 'operate', 'read_write'] as const).flatMap((access) => [
        { access, scope: 'all tenants' },
        { access, scope: 'one tenant' },
      ]),
    )(
      "rejects a $access key for $scope on each route that includes a forbidden route's effect",
      async ({ access, scope }) => {
        const tenant = freshTenant('included');
        await new Tenants(service().database).create(tenant);
        const key = await issue({ access, ...(scope === 'one tenant' && { onlyTenants: [tenant] }) });
        const lacking = await rejectedRoutes(key, 'nobody');
        const own = scope === 'one tenant' ? await rejectedRoutes(key, tenant) : lacking;
        const gained: string[] = [];
        for (const [route, included, { body, query, isNarrowed = false } = {}] of INCLUDED) {
          const missing = included.filter((each) => own[each] !== undefined);
          if (missing.length === 0 || (isNarrowed && scope === 'one tenant')) continue;
          if ((await rejection(key, tenant, route, body, query)) === undefined)
            gained.push(`${route} includes ${missing}`);
        }
        expect(gained).toStrictEqual([]);
      },
    );

    it('rejects a scoped key on routes for other tenants and on routes for all tenants', async () => {
      const key = await issue({ onlyTenants: [mine] });
      const ofTenants = routes.filter((route) => route.includes('{tenant}'));
      const others = mapToCode([...ofTenants, ...OF_THE_FLEET], 'outside_scope');
      expect(await rejectedRoutes(key, 'nobody')).toStrictEqual(others);
      expect(await rejectedRoutes(key, mine)).toStrictEqual(mapToCode(OF_THE_FLEET, 'outside_scope'));
    });

    it('restricts a scoped key to the tenants, keys, and events in the scope', async () => {
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

    it("updates a key's scope when a tenant in the scope is renamed or deleted", async () => {
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
