/**
 * The audit trail for administrative changes: actor, tenant or key, changed values, address, and outcome.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { DatabaseError } from '../../src/core/database/database-errors.ts';
import { pruneAudit } from '../../src/core/tenants/audit.ts';
import { buildApp } from '../../src/service/agents-app.ts';
import { makeKey, openAdmin, useAdmin } from '../support/admin.ts';
import { sdk, storeKey } from '../support/memory-stores.ts';
import { runOn } from '../support/run-program.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService(
  'the audit trail',
  (service) => {
    const admin = useAdmin(service);
    const create = async () => {
      const id = freshTenant('audit');
      expect((await admin().call('POST', '/tenants', { body: { id } })).status).toBe(201);
      return id;
    };
    const events = async (query: string) => {
      const { status, body } = await admin().call('GET', `/audit?${query}`);
      expect(status).toBe(200);
      return body.events as Record<string, unknown>[];
    };

    it("records each change's actor, address, and old and new values", async () => {
      const id = await create();
      for (const settings of [{ max_files: 10 }, { max_files: null, secrets: 'mask' }]) {
        expect((await admin().call('PATCH', `/tenants/${id}`, { body: { settings } })).status).toBe(200);
      }
      const common = {
        id: expect.any(String),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        actor: { type: 'admin_key', id: admin().key.id, label: 'control plane' },
        channel: 'admin_api',
        address: '127.0.0.1',
        request_id: expect.any(String),
        dry_run: false,
        tenant: id,
        key: null,
        outcome: 'ok',
      };
      expect(await events(`tenant=${id}`)).toStrictEqual([
        {
          ...common,
          action: 'updateTenant',
          details: { max_files: { old: 10, new: null }, secrets: { old: null, new: 'mask' } },
        },
        { ...common, action: 'updateTenant', details: { max_files: { old: null, new: 10 } } },
        { ...common, action: 'createTenant', details: {} },
      ]);
    });

    it('records the ID but not the secret when a key is created or revoked', async () => {
      const id = await create();
      const body = { kind: 'tenant', tenant: id, label: 'worker' };
      const issued = (await admin().call('POST', '/keys', { body })).body;
      await admin().call('DELETE', `/keys/${issued.id}`);
      const recorded = await events(`key=${issued.id}`);
      expect(recorded.map(({ action, tenant, details }) => ({ action, tenant, details }))).toStrictEqual([
        { action: 'revokeKey', tenant: id, details: {} },
        {
          action: 'createKey',
          tenant: id,
          details: {
            kind: 'tenant',
            access: 'read_write',
            tenants: null,
            manages_stores: false,
            rights: [],
            can_share: false,
            label: 'worker',
            source: '',
            expires_at: null,
          },
        },
      ]);
      expect(JSON.stringify(recorded)).not.toContain(String(issued.key));
    });

    it('records rejected requests and dry runs, but no paths or file contents', async () => {
      const id = await create();
      const path = '/memories/secret-name.md';
      const file = `/tenants/${id}/file?path=${encodeURIComponent(path)}`;
      const headers = { 'if-none-match': '*' };
      for (const status of [201, 412]) {
        const written = await admin().call('PUT', file, {
          body: 'secret words',
          type: 'text/plain',
          headers,
        });
        expect(written.status).toBe(status);
      }
      const restore = { at: '0s', dry_run: true };
      expect((await admin().call('POST', `/tenants/${id}/restore`, { body: restore })).status).toBe(200);
      const recorded = await events(`tenant=${id}`);
      expect(
        recorded.map(({ action, dry_run, outcome, details }) => [action, dry_run, outcome, details]),
      ).toStrictEqual([
        ['restore', true, 'ok', { files: 0, directories_made: 0, directories_removed: 0 }],
        ['writeFile', false, 'precondition_failed', {}],
        ['writeFile', false, 'ok', { file: 'created' }],
        ['createTenant', false, 'ok', {}],
      ]);
      expect(JSON.stringify(recorded)).not.toMatch(/secret/);
      expect((await events(`tenant=${id}&outcome=failed`)).length).toBe(1);
    });

    it('records no reads in the audit trail', async () => {
      const id = await create();
      await admin().call('GET', `/tenants/${id}`);
      await admin().call('GET', `/tenants/${id}/tree`);
      expect((await events(`tenant=${id}`)).map(({ action }) => action)).toStrictEqual(['createTenant']);
    });

    it('records the console as the channel if Sec-Fetch-Site is same-origin', async () => {
      const id = await create();
      await admin().call('POST', `/tenants/${id}/suspend`, { headers: { 'sec-fetch-site': 'same-origin' } });
      expect(await events(`tenant=${id}&action=suspendTenant`)).toMatchObject([
        { channel: 'console', details: { suspended: { old: false, new: true } } },
      ]);
    });

    it('records the console as the channel on a route with declared header parameters', async () => {
      const id = await create();
      const file = `/tenants/${id}/file?path=/memories/a.md`;
      const headers = { 'sec-fetch-site': 'same-origin', 'if-none-match': '*' };
      const written = await admin().call('PUT', file, { body: 'text', type: 'text/plain', headers });
      expect(written.status).toBe(201);
      expect(await events(`tenant=${id}&action=writeFile`)).toMatchObject([{ channel: 'console' }]);
    });

    it('records a change that is rejected because the key is read-only or has another scope', async () => {
      const id = await create();
      const { key: issued, id: reader } = await makeKey(service(), { isAdmin: true, access: 'read_only' });
      const rejectionCode = async (method: 'POST' | 'DELETE' | 'GET', path: string, key: string) => {
        const body = method === 'POST' ? { id: 'secret-name', label: 'secret words' } : undefined;
        return (await admin().call(method, path, { key, ...(body === undefined ? {} : { body }) })).body.code;
      };
      expect(await rejectionCode('POST', '/tenants', issued)).toBe('read_only_key');
      expect(await rejectionCode('DELETE', `/tenants/${id}?dry_run=true`, issued)).toBe('read_only_key');
      expect(await rejectionCode('POST', `/tenants/no%20id/suspend`, issued)).toBe('read_only_key');
      const elsewhere = await makeKey(service(), { isAdmin: true, onlyTenants: [await create()] });
      expect(await rejectionCode('POST', `/tenants/${id}/suspend`, elsewhere.key)).toBe('outside_scope');
      expect(await rejectionCode('GET', `/tenants/${id}`, elsewhere.key)).toBe('outside_scope');

      const common = { dry_run: false, key: null, details: {}, channel: 'admin_api' };
      // Events in one millisecond have the same time on PGlite.
      const recorded = await events(`by=${reader}`);
      expect(recorded.sort((a, b) => String(a.action).localeCompare(String(b.action)))).toMatchObject([
        { ...common, action: 'createTenant', tenant: null, outcome: 'read_only_key' },
        { ...common, action: 'deleteTenant', tenant: id, outcome: 'read_only_key' },
        { ...common, action: 'suspendTenant', tenant: null, outcome: 'read_only_key' },
      ]);
      expect(await events(`by=${elsewhere.id}`)).toMatchObject([
        { ...common, action: 'suspendTenant', tenant: id, outcome: 'outside_scope' },
      ]);
      expect(JSON.stringify(recorded)).not.toMatch(/secret|no id/);
    });

    it('records tenant changes that are made with commands', async () => {
      const id = freshTenant('audit');
      const run = (...args: string[]) => runOn(service(), args);
      expect((await run('tenants', 'create', id, '--max-files', '5')).code).toBe(0);
      expect((await run('tenants', 'set', id, '--max-files', '7')).code).toBe(0);
      expect((await run('tenants', 'create', id)).code).toBe(1);
      expect((await run('tenants', 'set', id, '--max-files', '9', '--dry-run')).code).toBe(0);
      expect((await run('tenants', 'suspend', id)).code).toBe(0);
      const recorded = await events(`tenant=${id}`);
      expect(recorded).toMatchObject([
        { action: 'suspendTenant', outcome: 'ok', details: { suspended: { old: false, new: true } } },
        { action: 'updateTenant', dry_run: true, details: { max_files: { old: 7, new: 9 } } },
        { action: 'createTenant', outcome: 'tenant_exists', channel: 'command_line', request_id: null },
        { action: 'updateTenant', outcome: 'ok', details: { max_files: { old: 5, new: 7 } } },
        { action: 'createTenant', outcome: 'ok', actor: { type: 'operator', name: expect.any(String) } },
      ]);
      const shown = await run('audit', '--tenant', id, '--outcome', 'ok', '--limit', '1');
      expect(shown.stdout).toMatch(
        /^TIME +WHO +ACTION +TENANT +KEY +OUTCOME +DETAILS\n\S+ +operator \S+ +suspendTenant +\S+ +- +ok +\{"suspended":\{"new":true,"old":false\}\}\n$/,
      );
    });

    it('records file changes that are made with commands, but no paths or contents', async () => {
      const id = await create();
      const run = (args: string[], stdin = '') => runOn(service(), args, { stdin });
      const path = '/memories/secret-path.md';
      expect((await run(['put', id, path], 'secret one')).code).toBe(0);
      expect((await run(['put', id, path], 'secret two')).code).toBe(1);
      expect((await run(['put', id, path, '--force'], 'secret three')).code).toBe(0);
      expect((await run(['rm', id, path])).code).toBe(0);
      expect((await run(['rm', id, path])).code).toBe(1);
      const recorded = await events(`tenant=${id}`);
      expect(recorded).toMatchObject([
        { action: 'deleteFile', channel: 'command_line', outcome: 'not_found', details: {} },
        { action: 'deleteFile', channel: 'command_line', outcome: 'ok', details: { recursive: false } },
        { action: 'writeFile', channel: 'command_line', outcome: 'ok', details: { file: 'replaced' } },
        { action: 'writeFile', channel: 'command_line', outcome: 'precondition_failed', details: {} },
        { action: 'writeFile', channel: 'command_line', outcome: 'ok', details: { file: 'created' } },
        { action: 'createTenant' },
      ]);
      expect(JSON.stringify(recorded)).not.toContain('secret');
    });

    it('completes a change even if the outcome cannot be recorded in the audit trail', async () => {
      const { database: real } = service();
      const database: Database = {
        ...real,
        query: (query, params) =>
          query.name === 'finish_audit_event'
            ? Promise.reject(new DatabaseError(Object.assign(new Error('canceled'), { code: '57014' })))
            : real.query(query, params),
      };
      const ids = [freshTenant('audit'), freshTenant('audit')] as const;

      const faulty = await openAdmin({ ...service(), database });
      expect((await faulty.call('POST', '/tenants', { body: { id: ids[0] } })).status).toBe(201);
      await faulty.app.close();

      const ran = await runOn({ ...service(), database }, ['tenants', 'create', ids[1]]);
      expect(ran.code).toBe(0);
      expect(ran.stderr).toBe(
        'Warning: the outcome of this command could not be recorded in the audit trail.\n',
      );

      const config = loadConfig({ AUTH: 'keys', LOG_LEVEL: 'silent' });
      const app = await buildApp({ config, database });
      const key = await storeKey(service());
      const store = await sdk({ ...service(), app }, key).beta.memoryStores.create({ name: 'notes' });
      await app.close();

      for (const id of [...ids, store.id]) {
        expect((await admin().call('GET', `/tenants/${id}`)).status).toBe(200);
      }
      expect(await events(`by=${faulty.key.id}`)).toMatchObject([
        { action: 'createTenant', tenant: ids[0], outcome: null },
      ]);
      expect(await events(`tenant=${ids[1]}`)).toMatchObject([{ action: 'createTenant', outcome: null }]);
    });

    it('filters the audit trail by part of a tenant ID or actor, and by several actions', async () => {
      const id = await create();
      const { key, id: keyId } = await makeKey(service(), { isAdmin: true, label: 'Ada Lovelace' });
      for (const action of ['suspend', 'resume'])
        await admin().call('POST', `/tenants/${id}/${action}`, { key });
      const actions = async (query: string) => (await events(query)).map(({ action }) => action);
      const part = id.slice(2).toUpperCase();
      expect(await actions(`tenant_contains=${part}`)).toStrictEqual([
        'resumeTenant',
        'suspendTenant',
        'createTenant',
      ]);
      expect(await actions(`tenant_contains=${part}&by_contains=LOVE`)).toStrictEqual([
        'resumeTenant',
        'suspendTenant',
      ]);
      expect(await actions(`tenant=${id}&by_contains=${keyId.slice(1, 6)}`)).toHaveLength(2);
      expect(await actions(`tenant=${id}&action=createTenant&action=suspendTenant`)).toStrictEqual([
        'suspendTenant',
        'createTenant',
      ]);
      expect(await actions(`tenant=${id}&by_contains=%25`)).toStrictEqual([]);
      expect(await actions(`tenant=${id}&by=Ada Lovelace`)).toHaveLength(2);
    });

    it('returns each event once across pages', async () => {
      const id = await create();
      for (let i = 0; i < 4; i++) {
        await admin().call('POST', `/tenants/${id}/${i % 2 === 0 ? 'suspend' : 'resume'}`);
      }
      const seen: unknown[] = [];
      let after = '';
      for (;;) {
        const { body } = await admin().call('GET', `/audit?tenant=${id}&limit=2${after}`);
        seen.push(...(body.events as { action: string }[]).map(({ action }) => action));
        if (body.next === null) break;
        after = `&after=${body.next}`;
      }
      expect(seen).toStrictEqual([
        'resumeTenant',
        'suspendTenant',
        'resumeTenant',
        'suspendTenant',
        'createTenant',
      ]);
      expect((await admin().call('GET', `/audit?tenant=${id}&limit=5`)).body.next).toBeNull();
    });

    it('shows the audit trail to a read-only key', async () => {
      const reader = await makeKey(service(), { isAdmin: true, access: 'read_only' });
      expect((await admin().call('GET', '/audit', { key: reader.key })).status).toBe(200);
    });

    it('prunes audit events that are older than the configured days', async () => {
      const id = await create();
      await service().query('UPDATE audit_events SET at = $2::text::timestamptz WHERE tenant_id = $1::text', [
        id,
        new Date(Date.now() - 40 * 86_400_000).toISOString(),
      ]);
      const kept = await create();
      expect(await pruneAudit(service().database, 30)).toBe(1);
      expect(await events(`tenant=${id}`)).toStrictEqual([]);
      expect((await events(`tenant=${kept}`)).length).toBe(1);
    });
  },
  { AUTH: 'keys' },
);
