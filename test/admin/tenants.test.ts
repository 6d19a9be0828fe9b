/** @module-tag long-on-pglite */
import { expect, it } from 'vitest';
import { problem, useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

const NONE = {
  max_file_bytes: null,
  max_bytes: null,
  max_files: null,
  max_view_chars: null,
  rate_per_minute: null,
  max_body_bytes: null,
  ttl_days: null,
  secrets: null,
  create_existing: null,
  history_days: null,
  max_history_bytes: null,
  max_drafts: null,
  max_draft_bytes: null,
  draft_days: null,
  max_context_chars: null,
  pinned_paths: null,
  read_log_days: null,
  read_log: null,
  provenance: null,
};
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

// Uses its own database, because the tests list all tenants and keys.
describeServiceOnOwnDatabase(
  'tenants in the admin API',
  (service) => {
    const admin = useAdmin(service);
    const call: ReturnType<typeof admin>['call'] = (...args) => admin().call(...args);

    it('creates, changes, suspends, resumes, and deletes a tenant', async () => {
      const created = await call('POST', '/tenants', {
        body: { id: 'acme', settings: { max_files: 500, secrets: 'mask' } },
      });
      expect([created.status, created.headers.location]).toStrictEqual([201, '/v1/tenants/acme']);
      const tenant = {
        id: 'acme',
        name: 'acme',
        description: '',
        metadata: {},
        mounts: [],
        draft_of: null,
        status: 'active',
        created_at: TIME,
        suspended_at: null,
        archived_at: null,
        last_change_at: null,
        files: 0,
        bytes: 0,
        history_versions: 0,
        history_bytes: 0,
        history_since: TIME,
        used_percent: 0,
        settings: { ...NONE, max_files: 500, secrets: 'mask' },
        effective: {
          max_file_bytes: 1048576,
          max_bytes: 104857600,
          max_files: 500,
          max_view_chars: 100000,
          rate_per_minute: 6000,
          max_body_bytes: 6356992,
          ttl_days: 0,
          secrets: 'mask',
          create_existing: 'error',
          history_days: 30,
          max_history_bytes: 1073741824,
          max_drafts: 20,
          max_draft_bytes: 524288000,
          draft_days: 30,
          max_context_chars: 16000,
          pinned_paths: '',
          read_log_days: 0,
          read_log: 'daily',
          provenance: 'never',
        },
      };
      expect(created.body).toStrictEqual(tenant);
      expect((await call('GET', '/tenants/acme')).body).toStrictEqual(tenant);
      expect(problem(await call('POST', '/tenants', { body: { id: 'acme' } }))).toStrictEqual([
        409,
        'tenant_exists',
        'Tenant acme already exists.',
      ]);

      const changed = await call('PATCH', '/tenants/acme', {
        body: { settings: { max_files: null, ttl_days: 90 } },
      });
      expect(changed.body.settings).toStrictEqual({ ...NONE, secrets: 'mask', ttl_days: 90 });

      const suspended = await call('POST', '/tenants/acme/suspend');
      expect(suspended.body).toMatchObject({ status: 'suspended', suspended_at: TIME });
      const again = await call('POST', '/tenants/acme/suspend');
      expect(again.body.suspended_at).toBe(suspended.body.suspended_at);
      const resumed = await call('POST', '/tenants/acme/resume');
      expect(resumed.body).toMatchObject({ status: 'active', suspended_at: null });

      const erased = await call('DELETE', '/tenants/acme');
      expect([erased.status, erased.body]).toStrictEqual([
        200,
        {
          id: 'acme',
          erased: { entries: 0, versions: 0, directories: 0, stored_results: 0, keys: 0 },
        },
      ]);
      for (const [method, path] of [
        ['GET', '/tenants/acme'],
        ['DELETE', '/tenants/acme'],
        ['POST', '/tenants/acme/suspend'],
        ['GET', '/tenants/acme/usage'],
        ['GET', '/tenants/acme/tree'],
        ['GET', '/tenants/acme/file?path=/memories/a'],
        ['GET', '/tenants/acme/versions'],
        ['GET', '/tenants/acme/activity'],
        ['GET', '/tenants/acme/search?query=a'],
        ['GET', '/tenants/acme/export'],
        ['GET', '/keys?tenant=acme'],
      ] as const) {
        expect([path, ...problem(await call(method, path))]).toStrictEqual([
          path,
          404,
          'not_found',
          'Tenant acme does not exist.',
        ]);
      }
    });

    it("stores a tenant's name, description, and metadata", async () => {
      const created = await call('POST', '/tenants', {
        body: { id: 'described', name: 'Described', metadata: { plan: 'pro', region: 'eu' } },
      });
      expect(created.body).toMatchObject({
        name: 'Described',
        description: '',
        metadata: { plan: 'pro', region: 'eu' },
      });
      const change = (body: object) => call('PATCH', '/tenants/described', { body });
      const changed = await change({
        description: 'Notes',
        metadata: { plan: null, owner: 'a' },
        settings: { max_files: 5 },
      });
      expect(changed.body).toMatchObject({
        name: 'Described',
        description: 'Notes',
        settings: { max_files: 5 },
        metadata: { region: 'eu', owner: 'a' },
      });
      const pairs = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${i}`, 'v']));
      expect(problem(await change(JSON.parse(`{"metadata":{"__proto__":"x"}}`)))).toStrictEqual([
        400,
        'invalid_parameter',
        'The field metadata must not have a pair named __proto__.',
      ]);
      expect(problem(await change({ metadata: pairs, settings: { max_files: 6 } }))).toStrictEqual([
        400,
        'invalid_parameter',
        'The metadata must have at most 16 pairs.',
      ]);
      expect((await change({})).status).toBe(400);
      expect((await change({ name: '' })).status).toBe(400);
      expect((await call('GET', '/tenants/described')).body).toStrictEqual(changed.body);
      const { events } = (await call('GET', '/audit?tenant=described&action=updateTenant&outcome=ok')).body;
      expect(events).toMatchObject([{ details: { description: { old: '', new: 'Notes' } } }]);
    });

    it('changes settings and metadata in one request, or neither if the settings are rejected', async () => {
      await call('POST', '/tenants', { body: { id: 'whole' } });
      const { body: draft } = await call('POST', '/tenants/whole/drafts', { body: { title: 'tidy' } });
      const body = { metadata: { plan: 'pro' }, settings: { max_files: 7 } };
      expect(await call('PATCH', `/tenants/${draft.id}`, { body })).toMatchObject({
        status: 409,
        body: { code: 'rejected' },
      });
      expect((await call('GET', `/tenants/${draft.id}`)).body.metadata).toStrictEqual({});
      expect((await call('PATCH', '/tenants/whole', { body })).body).toMatchObject(body);
      expect((await call('GET', `/tenants/${draft.id}`)).body.settings).toMatchObject({ max_files: 7 });
      await call('DELETE', '/tenants/whole');
    });

    it('copies and renames a tenant', async () => {
      await call('POST', '/tenants', {
        body: { id: 'from', settings: { max_files: 7 }, metadata: { a: 'b' } },
      });
      await call('PUT', '/tenants/from/file?path=/memories/note', {
        body: 'text',
        type: 'text/plain',
        headers: { 'if-none-match': '*' },
      });
      const key = (await call('POST', '/keys', { body: { kind: 'tenant', tenant: 'from' } })).body;
      const copied = await call('POST', '/tenants/from/copy', { body: { to: 'copy' } });
      expect([copied.status, copied.body]).toMatchObject([
        200,
        { id: 'copy', files: 1, bytes: 4, metadata: { a: 'b' }, settings: { max_files: 7 } },
      ]);
      expect((await call('GET', '/keys?tenant=copy')).body.keys).toStrictEqual([]);
      expect((await call('GET', '/tenants/copy/versions')).body.versions).toMatchObject([
        { operation: 'created', actor: { type: 'admin_key', id: admin().key.id } },
      ]);
      for (const way of ['copy', 'rename']) {
        const tryRenameOrCopy = async (from: string, id: string) =>
          problem(await call('POST', `/tenants/${from}/${way}`, { body: { to: id } }));
        expect(await tryRenameOrCopy('from', 'copy')).toStrictEqual([
          409,
          'tenant_exists',
          'Tenant copy already exists.',
        ]);
        expect((await tryRenameOrCopy('nobody', 'x'))[0]).toBe(404);
        expect((await tryRenameOrCopy('from', '..'))[0]).toBe(400);
      }
      const renamed = await call('POST', '/tenants/from/rename', { body: { to: 'renamed' } });
      expect([renamed.status, renamed.body]).toMatchObject([
        200,
        { id: 'renamed', name: 'renamed', files: 1 },
      ]);
      expect((await call('GET', '/tenants/from')).status).toBe(404);
      expect((await call('GET', '/keys?tenant=renamed')).body.keys).toMatchObject([{ id: key.id }]);
      const { events } = (await call('GET', '/audit?action=renameTenant&outcome=ok')).body;
      expect(events).toMatchObject([{ tenant: 'from', details: { to: 'renamed' } }]);
    });

    it('rejects invalid fields and query parameters, and names them in the error', async () => {
      const creationProblem = async (body: object) => problem(await call('POST', '/tenants', { body }));
      expect(await creationProblem({ id: 'a b' })).toStrictEqual([
        400,
        'invalid_parameter',
        'The field id must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -, without "-" or "draft_" at the start, and not "." or ".."',
      ]);
      expect((await creationProblem({ id: '-x' }))[2]).toBe(
        'The field id must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -, without "-" or "draft_" at the start, and not "." or ".."',
      );
      expect(await creationProblem({ id: 'x', setings: {} })).toStrictEqual([
        400,
        'invalid_parameter',
        'The body has an unknown field: setings.',
      ]);
      expect((await creationProblem({ id: 'x', settings: { max_files: -1 } }))[2]).toBe(
        'The field settings.max_files must be at least 0.',
      );
      for (const [body, words] of [
        [{}, 'The field id is missing.'],
        [{ id: 7 }, 'The field id must be a string.'],
        [[], 'The body must be an object.'],
        [{ id: 'x', settings: { max_files: '7' } }, 'The field settings.max_files must be a whole number.'],
        [{ id: 'x', metadata: null }, 'The field metadata must be an object.'],
        [{ id: 'x', metadata: { '': 'x' } }, 'The field metadata. has a name that is not valid.'],
        [
          { id: 'x', settings: { ttl_days: 99_999_999 } },
          'The field settings.ttl_days must be at most 36500.',
        ],
        [{ id: 'x', settings: { max_files: 1.5 } }, 'The field settings.max_files must be a whole number.'],
        [
          { id: 'x', settings: { secrets: 'all' } },
          'The field settings.secrets must be one of store, mask, reject.',
        ],
      ] as const) {
        expect(await creationProblem(body)).toStrictEqual([400, 'invalid_parameter', words]);
      }
      const query = async (given: string) => problem(await call('GET', `/tenants?${given}`))[2];
      for (const limit of ['x', '1.5'])
        expect(await query(`limit=${limit}`)).toBe('The query parameter limit must be a whole number.');
      expect(await query('limit=-1')).toBe('The query parameter limit must be at least 1.');
      expect(await query('foo=1')).toBe('The query has an unknown parameter: foo.');
      expect(await query(`search=${'x'.repeat(256)}`)).toBe(
        'The query parameter search must have at most 255 characters.',
      );
      for (const pairs of ['metadata=plan', 'metadata=', 'metadata=plan=pro&metadata=eu'])
        expect(await query(pairs)).toBe(
          'The query parameter metadata must be a key of 1 to 64 characters, an equals sign, and a value of at most 512 characters, such as plan=pro.',
        );
      expect(await query('metadata=plan=pro&metadata=plan=free')).toBe(
        'The query parameter metadata must not have the same key twice.',
      );
      expect(await query('after=x')).toBe(
        'The query parameter `after` is not valid: use the `next` of the previous page, with the same other parameters.',
      );
      expect((await call('GET', '/tenants/x')).status).toBe(404);
      for (const query of [
        'limit=0',
        'limit=201',
        'limit=x',
        'sort=size',
        'status=gone',
        'archived=true',
        'after=x',
        'foo=1',
        'limit=1&limit=2',
      ]) {
        expect([query, (await call('GET', `/tenants?${query}`)).status]).toStrictEqual([query, 400]);
      }
      const beyond = Buffer.from('{"key":1e999,"id":"\\u0000"}').toString('base64url');
      expect((await call('GET', `/tenants?sort=bytes&after=${beyond}`)).status).toBe(400);
      // Postgres has no year 0.
      const time = '0000-01-01T00:00:00.000000Z';
      for (const [list, position] of [
        ['keys', { time, id: 'a' }],
        ['audit', { at: time, id: '00000000-0000-0000-0000-000000000000' }],
        ['drafts', { time, id: 'a' }],
      ] as const) {
        const after = Buffer.from(JSON.stringify(position)).toString('base64url');
        expect([list, (await call('GET', `/${list}?after=${after}`)).status]).toStrictEqual([list, 400]);
      }
    });

    it('accepts an empty JSON body on routes that need no body, and rejects it on other routes', async () => {
      await call('POST', '/tenants', { body: { id: 'bodiless' } });
      const send = async (method: 'POST' | 'DELETE', path: string) =>
        (await call(method, path, { body: '', type: 'application/json' })).status;
      expect(await send('POST', '/tenants/bodiless/suspend')).toBe(200);
      expect(await send('DELETE', '/tenants/bodiless')).toBe(200);
      expect(problem(await call('POST', '/tenants', { body: '', type: 'application/json' }))).toStrictEqual([
        400,
        'invalid_json',
        'The body is empty; send a JSON object.',
      ]);
    });

    it('lists tenants by page, in each sort order, and filtered by search text, status, and metadata', async () => {
      for (const [id, files] of [
        ['p-1', 3],
        ['p-2', 1],
        ['P-3', 2],
        ['p-4', 0],
      ] as const) {
        await call('POST', '/tenants', { body: { id, settings: { max_files: id === 'p-2' ? 1 : 100 } } });
        for (let i = 0; i < files; i++) {
          await call('PUT', `/tenants/${id}/file?path=/memories/${i}`, {
            body: 'x'.repeat(10 - files),
            type: 'text/plain',
            headers: { 'if-none-match': '*' },
          });
        }
      }
      await call('POST', '/tenants/p-4/suspend');
      const listIds = async (query: string) => {
        const ids: unknown[] = [];
        for (let after: unknown; ; ) {
          const page = await call(
            'GET',
            `/tenants?search=p-&limit=2&${query}${after ? `&after=${after}` : ''}`,
          );
          expect(page.status).toBe(200);
          const tenants = page.body.tenants as { id: string }[];
          expect(tenants.length).toBeLessThanOrEqual(2);
          ids.push(...tenants.map(({ id }) => id));
          after = page.body.next;
          if (after === null) return ids;
        }
      };
      expect(await listIds('')).toStrictEqual(['P-3', 'p-1', 'p-2', 'p-4']);
      expect(await listIds('sort=files')).toStrictEqual(['p-1', 'P-3', 'p-2', 'p-4']);
      // 3 × 7, 1 × 9, and 2 × 8 bytes.
      expect(await listIds('sort=bytes')).toStrictEqual(['p-1', 'P-3', 'p-2', 'p-4']);
      expect(await listIds('sort=used')).toStrictEqual(['p-2', 'p-1', 'P-3', 'p-4']);
      expect(await listIds('sort=changed')).toStrictEqual(['P-3', 'p-2', 'p-1', 'p-4']);
      expect(await listIds('status=suspended')).toStrictEqual(['p-4']);
      expect(await listIds('status=active')).toStrictEqual(['P-3', 'p-1', 'p-2']);
      const byFiles = (await call('GET', '/tenants?sort=files&limit=1')).body.next;
      expect(problem(await call('GET', `/tenants?sort=bytes&limit=1&after=${byFiles}`))).toStrictEqual([
        400,
        'invalid_parameter',
        'The query parameter `after` is not valid: use the `next` of the previous page, with the same other parameters.',
      ]);
      expect((await call('GET', '/tenants?search=%25')).body).toStrictEqual({
        tenants: [],
        next: null,
        totals: null,
      });
      const totals = async (query: string) =>
        (await call('GET', `/tenants?search=p-&limit=1&totals=true&${query}`)).body.totals;
      const history_bytes = expect.any(Number);
      expect(await totals('')).toStrictEqual({ tenants: 4, files: 6, bytes: 46, history_bytes });
      expect(await totals('status=suspended')).toMatchObject({ tenants: 1, files: 0, bytes: 0 });
      await call('PATCH', '/tenants/p-1', { body: { metadata: { plan: 'pro', 'a=b': 'c' } } });
      await call('PATCH', '/tenants/p-2', { body: { metadata: { plan: 'free' } } });
      await call('PATCH', '/tenants/p-4', { body: { name: 'École P-', metadata: { plan: 'pro=1' } } });
      const name = encodeURIComponent('éCOLE');
      expect((await call('GET', `/tenants?search=${name}`)).body.tenants).toMatchObject([{ id: 'p-4' }]);
      expect(await listIds('metadata=plan%3Dpro')).toStrictEqual(['p-1']);
      expect(await listIds('metadata=plan=pro')).toStrictEqual(['p-1']);
      expect(await listIds('metadata=plan=pro=1')).toStrictEqual(['p-4']);
      expect(await listIds('metadata=plan=PRO')).toStrictEqual([]);
      expect(await listIds('metadata=plan=')).toStrictEqual([]);
      await call('PATCH', '/tenants/p-1', { body: { metadata: { region: 'eu' } } });
      expect(await listIds('metadata=plan=pro&metadata=region=eu')).toStrictEqual(['p-1']);
      expect(await listIds('metadata=plan=pro&metadata=region=us')).toStrictEqual([]);
      expect(await totals('metadata=plan=pro&sort=used')).toMatchObject({ tenants: 1, files: 3, bytes: 21 });
      await service().query(`UPDATE tenants SET archived_at = now() WHERE id IN ('P-3', 'p-4')`);
      expect(await listIds('status=archived')).toStrictEqual(['P-3']);
      expect(await listIds('status=suspended')).toStrictEqual(['p-4']);
      expect(await listIds('status=active&sort=changed')).toStrictEqual(['p-2', 'p-1']);
      const readStatus = async (id: string) => (await call('GET', `/tenants/${id}`)).body.status;
      expect([await readStatus('p-1'), await readStatus('P-3'), await readStatus('p-4')]).toStrictEqual([
        'active',
        'archived',
        'suspended',
      ]);
      expect((await call('GET', '/tenants/p-2')).body).toMatchObject({
        used_percent: 100,
        last_change_at: TIME,
      });
    });

    it('creates, lists, and revokes a tenant key that is valid immediately', async () => {
      await call('POST', '/tenants', { body: { id: 'keyed' } });
      const made = await call('POST', '/keys', {
        body: { kind: 'tenant', tenant: 'keyed', label: 'worker', expires_at: '2099-01-01T00:00:00Z' },
      });
      expect([made.status, made.body]).toStrictEqual([
        201,
        {
          id: expect.stringMatching(/^key_[0-9a-f]{12}$/),
          kind: 'tenant',
          tenant: 'keyed',
          access: 'read_write',
          tenants: null,
          manages_stores: false,
          rights: [],
          can_share: false,
          source: '',
          label: 'worker',
          created_at: TIME,
          expires_at: '2099-01-01T00:00:00.000000Z',
          revoked_at: null,
          last_used_at: null,
          previous_expires_at: null,
          key: expect.stringMatching(/^msk_[A-Za-z0-9_-]{49}$/),
        },
      ]);
      const headers = { authorization: `Bearer ${made.body.key}` };
      const written = await service().execute(cmd.create('/memories/a', 'by the worker'), { headers });
      expect(written.content).toBe('File created successfully at: /memories/a');
      const listed = await call('GET', '/keys?tenant=keyed');
      expect(listed.body).toStrictEqual({
        keys: [
          {
            id: made.body.id,
            kind: 'tenant',
            tenant: 'keyed',
            access: 'read_write',
            tenants: null,
            manages_stores: false,
            rights: [],
            can_share: false,
            source: '',
            label: 'worker',
            created_at: TIME,
            expires_at: '2099-01-01T00:00:00.000000Z',
            revoked_at: null,
            last_used_at: expect.toSatisfy((at) => at === null || typeof at === 'string'),
            previous_expires_at: null,
          },
        ],
        next: null,
      });
      const revoked = await call('DELETE', `/keys/${made.body.id}`);
      expect([revoked.status, revoked.text]).toStrictEqual([204, '']);
      expect(problem(await call('DELETE', `/keys/${made.body.id}`))).toStrictEqual([
        404,
        'not_found',
        `Key ${made.body.id} does not exist or is already revoked.`,
      ]);
      expect((await call('GET', '/keys?tenant=keyed')).body).toMatchObject({ keys: [{ revoked_at: TIME }] });
    });

    it('creates service and admin keys, and rejects invalid field combinations', async () => {
      const make = (body: object) => call('POST', '/keys', { body });
      expect((await make({ kind: 'service', access: 'read_only' })).body).toMatchObject({
        kind: 'service',
        tenant: null,
        access: 'read_only',
      });
      const { key } = (await make({ kind: 'admin', label: 'console' })).body;
      expect((await call('GET', '/session', { key: String(key) })).body).toMatchObject({
        actor: { label: 'console' },
      });
      for (const body of [
        { kind: 'tenant' },
        { kind: 'service', tenant: 'keyed' },
        { kind: 'admin', tenant: 'keyed' },
        { kind: 'service', expires_at: '2020-01-01T00:00:00Z' },
        { kind: 'service', label: 'a\0b' },
        { kind: 'service', hash: 'x' },
        {},
      ]) {
        expect([body, (await make(body)).status]).toStrictEqual([body, 400]);
      }
      expect(problem(await make({ kind: 'tenant', tenant: 'nobody' }))[0]).toBe(404);
    });

    it('lists keys page by page, the newest first', async () => {
      const all = (await call('GET', '/keys?limit=200')).body.keys as { id: string }[];
      expect(all.length).toBeGreaterThan(3);
      const ids: string[] = [];
      for (let after = ''; ; ) {
        const { body } = await call('GET', `/keys?limit=2${after}`);
        ids.push(...(body.keys as { id: string }[]).map(({ id }) => id));
        if (body.next === null) break;
        after = `&after=${body.next}`;
      }
      expect(ids).toStrictEqual(all.map(({ id }) => id));
    });

    it("reports a tenant's usage", async () => {
      await call('POST', '/tenants', { body: { id: 'used', settings: { max_bytes: 0, max_files: 4 } } });
      await service().execute(cmd.create('/memories/a', '12345'), {
        headers: {
          authorization: `Bearer ${(await call('POST', '/keys', { body: { kind: 'tenant', tenant: 'used' } })).body.key}`,
          'idempotency-key': 'k',
        },
      });
      expect((await call('GET', '/tenants/used/usage')).body).toStrictEqual({
        id: 'used',
        files: { used: 1, limit: 4 },
        bytes: { used: 5, limit: null },
        history_bytes: { used: 0, limit: 1073741824 },
        history_versions: 0,
        stored_results: 1,
        last_activity_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
    });
  },
  { AUTH: 'keys' },
);
