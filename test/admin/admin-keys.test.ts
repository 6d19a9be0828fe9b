/**
 * Keys for control planes: reading one key, filters, changes, rotation, and repeated creation.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { lockKeyQuery } from '../../src/core/tenants/key-queries.ts';
import { hashKey } from '../../src/core/tenants/keys.ts';
import { problem, useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { isCitus } from '../support/test-database.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService(
  'keys in the admin API',
  (service, kind) => {
    const admin = useAdmin(service);
    const call: ReturnType<typeof admin>['call'] = (...args) => admin().call(...args);
    const create = async (body: object = {}) => {
      const tenant = freshTenant('keys');
      expect((await call('POST', '/tenants', { body: { id: tenant } })).status).toBe(201);
      const made = await call('POST', '/keys', { body: { kind: 'tenant', tenant, ...body } });
      expect(made.status).toBe(201);
      return { tenant, id: String(made.body.id), key: String(made.body.key) };
    };
    const view = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await service().execute(cmd.view('/memories'), { headers })).status;
    };

    it('rejects names and labels that are unsafe to print, but shows existing keys with such labels', async () => {
      const { id, tenant, key } = await create();
      const rule =
        'must be one line without control and invisible characters, without spaces at its ends, and must not start with "-"';
      for (const name of ['a\nb', 'a\u202eb', ' a', '-a']) {
        const rejected: [string, 'POST' | 'PATCH', string, object][] = [
          ['label', 'POST', '/keys', { kind: 'tenant', tenant, label: name }],
          ['source', 'POST', '/keys', { kind: 'tenant', tenant, source: name }],
          ['label', 'PATCH', `/keys/${id}`, { label: name }],
          ['title', 'POST', `/tenants/${tenant}/drafts`, { title: name }],
          ['name', 'PATCH', `/tenants/${tenant}`, { name }],
        ];
        for (const [field, method, url, body] of rejected) {
          expect(problem(await call(method, url, { body }))).toStrictEqual([
            400,
            'invalid_parameter',
            `The field ${field} ${rule}`,
          ]);
        }
      }
      await service().query("UPDATE api_keys SET label = '-old' || chr(10) WHERE id = $1", [id]);
      expect((await call('GET', `/keys/${id}`)).body).toMatchObject({ label: '-old\n' });
      expect(await view(key)).toBe(200);
      expect((await call('PATCH', `/keys/${id}`, { body: { label: 'new' } })).body).toMatchObject({
        label: 'new',
      });
    });

    it('renames and deletes an existing tenant whose ID is no longer allowed', async () => {
      await service().query("INSERT INTO tenants (id) VALUES ('-old')");
      expect((await call('GET', '/tenants/-old')).status).toBe(200);
      const rejected = await call('POST', '/tenants/-old/rename', { body: { to: '-new' } });
      expect(problem(rejected)).toStrictEqual([
        400,
        'invalid_parameter',
        'The field to must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -, without "-" or "draft_" at the start, and not "." or ".."',
      ]);
      const to = freshTenant('renamed');
      expect((await call('POST', '/tenants/-old/rename', { body: { to } })).status).toBe(200);
      expect((await call('DELETE', `/tenants/${to}`)).status).toBe(200);
    });

    it("returns a key by ID, and changes the key's label and expiry", async () => {
      const { id, tenant } = await create({ label: 'worker' });
      const changed = await call('PATCH', `/keys/${id}`, {
        body: { label: 'batch', expires_at: '2099-01-01T00:00:00Z' },
      });
      expect(changed.body).toMatchObject({ label: 'batch', expires_at: '2099-01-01T00:00:00.000000Z' });
      expect((await call('GET', `/keys/${id}`)).body).toStrictEqual({ ...changed.body, previous: null });
      const kept = await call('PATCH', `/keys/${id}`, { body: { expires_at: null } });
      expect(kept.body).toMatchObject({ label: 'batch', expires_at: null, tenant });
      for (const body of [
        {},
        { expires_at: '2020-01-01T00:00:00Z' },
        { expires_at: '9999-12-31T23:59:59-01:00' },
        { access: 'read_only' },
      ]) {
        expect((await call('PATCH', `/keys/${id}`, { body })).status).toBe(400);
      }
      const { events } = (await call('GET', `/audit?key=${id}&action=updateKey&outcome=ok`)).body;
      expect(events).toMatchObject([
        { tenant, details: { expires_at: { old: '2099-01-01T00:00:00.000000Z', new: null } } },
        { details: { label: { old: 'worker', new: 'batch' }, expires_at: { old: null } } },
      ]);
      await call('DELETE', `/keys/${id}`);
      expect((await call('PATCH', `/keys/${id}`, { body: { label: 'again' } })).status).toBe(404);
      expect(problem(await call('GET', '/keys/key_none'))).toStrictEqual([
        404,
        'not_found',
        'Key key_none does not exist.',
      ]);
    });

    it('accepts an expiry with an offset that Postgres cannot read', async () => {
      const { id } = await create({ expires_at: '3617-05-27T15:23:28.0-19:31' });
      expect((await call('GET', `/keys/${id}`)).body.expires_at).toBe('3617-05-28T10:54:28.000000Z');
      const changed = await call('PATCH', `/keys/${id}`, {
        body: { expires_at: '3617-05-27T15:23:28.1234567+23:59' },
      });
      expect(changed.body.expires_at).toBe('3617-05-26T15:24:28.123456Z');
    });

    it('filters keys by kind, status, and part of the ID or label', async () => {
      const { tenant, id } = await create({ label: '100% Worker' });
      const add = async (body: object) =>
        (await call('POST', '/keys', { body: { kind: 'tenant', tenant, ...body } })).body.id;
      const expired = await add({ label: 'expired' });
      await service().query(
        "UPDATE api_keys SET expires_at = now() - interval '1 hour' WHERE id = $1::text",
        [String(expired)],
      );
      const revoked = await add({ label: 'revoked' });
      await call('DELETE', `/keys/${revoked}`);
      const ids = async (query: string) => {
        const { status, body } = await call('GET', `/keys?tenant=${tenant}&${query}`);
        expect(status).toBe(200);
        return (body.keys as { id: string }[]).map((each) => each.id);
      };
      expect(await ids('')).toStrictEqual([revoked, expired, id]);
      expect(await ids('status=active')).toStrictEqual([id]);
      expect(await ids('status=expired')).toStrictEqual([expired]);
      expect(await ids('status=revoked')).toStrictEqual([revoked]);
      expect(await ids('search=0%25%20work')).toStrictEqual([id]);
      expect(await ids(`search=${id.slice(4).toUpperCase()}`)).toStrictEqual([id]);
      expect(await ids('search=_%25')).toStrictEqual([]);
      expect(await ids('kind=tenant')).toHaveLength(3);
      const ofPart = await call('GET', `/keys?tenant_contains=${tenant.slice(1).toUpperCase()}&limit=200`);
      expect((ofPart.body.keys as { id: string }[]).map((each) => each.id)).toContain(id);
      expect(await ids('tenant_contains=_%25')).toStrictEqual([]);
      expect(await ids('kind=admin')).toStrictEqual([]);
      const admins = (await call('GET', '/keys?kind=admin&limit=200')).body.keys as { kind: string }[];
      expect(new Set(admins.map(({ kind }) => kind))).toStrictEqual(new Set(['admin']));
    });

    it('filters keys by last use and expiry, and sorts them by creation, expiry, or last use across pages', async () => {
      const { tenant, id: used } = await create({ label: 'used' });
      const add = async (expires_at: string | null) =>
        String((await call('POST', '/keys', { body: { kind: 'tenant', tenant, expires_at } })).body.id);
      const daysFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
      const [soon, later, never] = [await add(daysFromNow(10)), await add(daysFromNow(200)), await add(null)];
      const age = (column: string, days: number, id: string) =>
        service().query(
          `UPDATE api_keys SET ${column} = now() - $1::integer * interval '1 day' WHERE id = $2::text`,
          [days, id],
        );
      await age('last_used_at', 100, used);
      await age('created_at', 120, used);
      await age('created_at', 95, later);
      const list = async (query: string) => {
        const { status, body } = await call('GET', `/keys?tenant=${tenant}&${query}`);
        expect(status).toBe(200);
        return { ids: (body.keys as { id: string }[]).map(({ id }) => id), next: body.next };
      };
      expect((await list('unused_days=90')).ids).toStrictEqual([later, used]);
      expect((await list('unused_days=99')).ids).toStrictEqual([used]);
      expect((await list('expires_in_days=30')).ids).toStrictEqual([soon]);
      expect((await list('expires_in_days=300&sort=expires')).ids).toStrictEqual([soon, later]);
      for (const [sort, order] of Object.entries({
        created: [never, soon, later, used],
        expires: [soon, later],
        used: [never, soon, later, used],
      })) {
        const ids: string[] = [];
        for (let next: unknown = ''; next !== null; ) {
          const page = await list(`sort=${sort}&limit=1${next === '' ? '' : `&after=${next}`}`);
          ids.push(...page.ids);
          next = page.next;
        }
        expect(ids).toHaveLength(4);
        // Keys without an expiry, and keys that were never used, are sorted by ID.
        if (sort === 'created') expect(ids).toStrictEqual(order);
        if (sort === 'expires') expect(ids.slice(0, 2)).toStrictEqual(order);
        if (sort === 'used') expect(ids[3]).toBe(used);
      }
      await service().query(
        "UPDATE api_keys SET expires_at = now() - interval '1 hour' WHERE id = $1::text",
        [soon],
      );
      expect((await list('sort=expires')).ids[0]).toBe(later);
      const { next } = await list('limit=1');
      expect(problem(await call('GET', `/keys?sort=used&after=${next}`))[0]).toBe(400);
    });

    it("revokes a rotated key's previous secret on request, and keeps the current secret", async () => {
      const { id, key } = await create();
      const rotate = async () =>
        String((await call('POST', `/keys/${id}/rotate`, { body: { overlap_seconds: 3600 } })).body.key);
      await rotate();
      const last = await rotate();
      const shown = (await call('GET', `/keys/${id}`)).body;
      expect(shown.previous_expires_at).toBe((shown.previous as { expires_at: string }).expires_at);
      for (let i = 0; i < 2; i++)
        expect((await call('DELETE', `/keys/${id}/previous-secret`)).status).toBe(204);
      expect((await call('GET', `/keys/${id}`)).body).toMatchObject({
        previous: null,
        previous_expires_at: null,
      });
      expect(
        await service().query(
          'SELECT FROM api_keys WHERE id = $1::text AND (expires_at IS NULL OR expires_at > now())',
          [id],
        ),
      ).toHaveLength(1);
      expect([await view(key), await view(last)]).toStrictEqual([401, 200]);
      await call('DELETE', `/keys/${id}`);
      expect((await call('DELETE', `/keys/${id}/previous-secret`)).status).toBe(404);
    });

    it('accepts the old and the new secret after a rotation until the overlap ends', async () => {
      const { id, key, tenant } = await create({ label: 'worker', expires_at: '2099-01-01T00:00:00Z' });
      const before = (await call('GET', `/keys/${id}`)).body;
      const rotated = await call('POST', `/keys/${id}/rotate`, { body: { overlap_seconds: 3600 } });
      const next = String(rotated.body.key);
      expect(rotated.status).toBe(200);
      const { previous: _, ...unchanged } = before;
      expect(rotated.body).toStrictEqual({
        ...unchanged,
        previous_expires_at: expect.any(String),
        key: next,
      });
      expect(next).not.toBe(key);
      expect([await view(key), await view(next)]).toStrictEqual([200, 200]);
      const shown = (await call('GET', `/keys/${id}`)).body;
      expect(shown.previous).toMatchObject({ expires_at: expect.any(String) });
      const overlap = Date.parse((shown.previous as { expires_at: string }).expires_at) - Date.now();
      expect(overlap).toBeGreaterThan(0);
      expect(overlap).toBeLessThanOrEqual(3_605_000);
      expect((await call('GET', `/keys?tenant=${tenant}`)).body.keys).toMatchObject([
        { id, label: 'worker' },
      ]);
      const events = (await call('GET', `/audit?key=${id}&action=rotateKey`)).body.events;
      expect(events).toMatchObject([{ tenant, outcome: 'ok', details: { overlap_seconds: 3600 } }]);
      expect(JSON.stringify(events)).not.toContain(next);

      // A third secret without overlap ends all earlier secrets. A revocation also ends all earlier secrets.
      const third = (await call('POST', `/keys/${id}/rotate`, { body: { overlap_seconds: 0 } })).body;
      const rows = await service().query(
        'SELECT count(*)::int AS live FROM api_keys WHERE id = $1::text AND expires_at > now()',
        [id],
      );
      expect(rows).toMatchObject([{ live: 1 }]);
      expect((await call('DELETE', `/keys/${id}`)).status).toBe(204);
      expect(await view(String(third.key))).toBe(401);
      expect(
        await service().query('SELECT FROM api_keys WHERE id = $1::text AND revoked_at IS NULL', [id]),
      ).toHaveLength(0);
      expect((await call('POST', `/keys/${id}/rotate`, { body: { overlap_seconds: 0 } })).status).toBe(404);
    });

    it('applies simultaneous rotations to a key one by one, and leaves the last two secrets valid', async () => {
      const { id, key } = await create();
      const rotate = () => call('POST', `/keys/${id}/rotate`, { body: { overlap_seconds: 3600 } });
      // Concurrent rotations lock all the key's secrets in one order, independent of their hashes.
      const rotated = await Promise.all(Array.from({ length: 8 }, rotate));
      expect(rotated.filter(({ status }) => status !== 200)).toStrictEqual([]);
      const secrets = [key, ...rotated.map(({ body }) => String(body.key))];
      const statuses = await Promise.all(secrets.map(view));
      // The secret from the last rotation, and the secret before it.
      expect(statuses.filter((status) => status === 200)).toHaveLength(2);
      expect(statuses.filter((status) => status === 401)).toHaveLength(7);
      expect((await call('GET', `/keys?search=${id}`)).body.keys).toHaveLength(1);
    });

    // On Citus, the coordinator does not show that a rotation waits for a lock.
    it.skipIf(kind === 'pglite' || isCitus())(
      "dates a rotation from when it acquires the key's lock, not from when it starts",
      async () => {
        const { id } = await create();
        const waiting =
          "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        let rotated: ReturnType<typeof call> | undefined;
        const at = await service().database.transaction(async (query) => {
          await query(lockKeyQuery, { id });
          rotated = call('POST', `/keys/${id}/rotate`, { body: { overlap_seconds: 3600 } });
          while ((await service().query(waiting)).length === 0);
          return (await service().query('SELECT clock_timestamp()::text AS at'))[0]?.at;
        });
        expect((await rotated)?.status).toBe(200);
        const late =
          'SELECT rotated_at > $2::timestamptz AS late FROM api_keys WHERE id = $1 AND rotated_at IS NOT NULL';
        expect(await service().query(late, [id, at])).toStrictEqual([{ late: true }]);
      },
    );

    it('keeps at most one previous secret valid after rotations, and none if the overlap is 0', async () => {
      const { id, key } = await create();
      const rotate = async (overlap_seconds: number) =>
        String((await call('POST', `/keys/${id}/rotate`, { body: { overlap_seconds } })).body.key);
      const second = await rotate(3600);
      const third = await rotate(604_800);
      expect(await Promise.all([key, second, third].map(view))).toStrictEqual([401, 200, 200]);
      // A later key expiry does not revive a secret.
      await call('PATCH', `/keys/${id}`, { body: { expires_at: '2099-01-01T00:00:00Z' } });
      const fourth = await rotate(0);
      await call('PATCH', `/keys/${id}`, { body: { expires_at: null } });
      const live = await service().query(
        'SELECT hash FROM api_keys WHERE id = $1::text AND (expires_at IS NULL OR expires_at > now())',
        [id],
      );
      expect(live).toStrictEqual([{ hash: hashKey(fourth) }]);
      expect((await call('GET', `/keys/${id}`)).body.previous).toBeNull();
    });

    it('rejects a rotation for an expired key', async () => {
      const { id } = await create();
      await service().query('UPDATE api_keys SET expires_at = now() WHERE id = $1::text', [id]);
      expect(
        problem(await call('POST', `/keys/${id}/rotate`, { body: { overlap_seconds: 0 } })),
      ).toStrictEqual([409, 'rejected', `Key ${id} has expired. Change its expiry first.`]);
      for (const body of [{}, { overlap_seconds: -1 }, { overlap_seconds: 604801 }]) {
        expect((await call('POST', `/keys/${id}/rotate`, { body })).status).toBe(400);
      }
    });

    it('creates one key for requests with the same Idempotency-Key, but a new secret for each request', async () => {
      const { tenant } = await create();
      const repeat = (label: string, headers = { 'idempotency-key': `once-${tenant}` }) =>
        call('POST', '/keys', { headers, body: { kind: 'tenant', tenant, label } });
      const both = await Promise.all([repeat('job'), repeat('job')]);
      expect(both.map(({ status }) => status)).toStrictEqual([201, 201]);
      const last = await repeat('job');
      expect(new Set([...both, last].map(({ body }) => body.id)).size).toBe(1);
      expect(new Set([...both, last].map(({ body }) => body.key)).size).toBe(3);
      for (const { body } of both) expect(await view(String(body.key))).toBe(401);
      expect(problem(await repeat('another job'))).toStrictEqual([
        422,
        'idempotency_key_reused',
        'The Idempotency-Key was used for another request. Use a new one for each key.',
      ]);

      await service().query('UPDATE api_keys SET last_used_at = now() WHERE id = $1::text', [
        String(last.body.id),
      ]);
      expect(problem(await repeat('job'))).toStrictEqual([
        409,
        'rejected',
        `Key ${last.body.id} was created by this request and has been used, rotated or revoked since.`,
      ]);
      expect(await view(String(last.body.key))).toBe(200);
      await service().query(
        "UPDATE api_keys SET created_at = now() - interval '25 hours' WHERE id = $1::text",
        [String(last.body.id)],
      );
      const later = await repeat('job');
      expect([later.status, later.body.id === last.body.id]).toStrictEqual([201, false]);
      expect((await repeat('job', { 'idempotency-key': 'a b' })).status).toBe(400);
    });

    it('creates two keys if two admins use the same Idempotency-Key', async () => {
      const { tenant } = await create();
      const other = String((await call('POST', '/keys', { body: { kind: 'admin' } })).body.key);
      const make = async (key: string) => {
        const headers = { 'idempotency-key': `shared-${tenant}` };
        return (await call('POST', '/keys', { key, headers, body: { kind: 'tenant', tenant } })).body.id;
      };
      expect(await make(other)).not.toBe(await make(admin().key.key));
    });

    it('accepts the access `operate` and a scope only for admin keys', async () => {
      const { tenant } = await create();
      const make = async (body: object) => await call('POST', '/keys', { body });
      const made = await make({ kind: 'admin', access: 'operate', tenants: [tenant] });
      expect(made.body).toMatchObject({ kind: 'admin', tenant: null, access: 'operate', tenants: [tenant] });
      for (const [body, detail] of [
        [{ kind: 'service', access: 'operate' }, 'The field access can be operate only for admin keys.'],
        [{ kind: 'service', tenants: [tenant] }, 'The field tenants is only for admin keys.'],
        [{}, 'The field kind is missing.'],
        [{ kind: 'admin', tenants: [] }, 'The field tenants must not be empty.'],
        [
          { kind: 'admin', tenants: Array(101).fill(tenant) },
          'The field tenants must have at most 100 items.',
        ],
      ] as const) {
        expect(problem(await make(body))).toStrictEqual([400, 'invalid_parameter', detail]);
      }
      expect((await make({ kind: 'admin', tenants: [tenant, 'nobody'] })).status).toBe(404);
    });
  },
  { AUTH: 'keys' },
);
