/**
 * `--forget` removes a deleted tenant's ID from every column in every table.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { withoutTenant } from '../../src/core/tenants/forget.ts';
import { useAdmin } from '../support/admin.ts';
import { runOn } from '../support/run-program.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const HASH = /^forgotten_[0-9a-f]{32}$/;

describeService(
  'forgetting a deleted tenant',
  (service) => {
    const admin = useAdmin(service);
    const call = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) => {
      const { status, body: result } = await admin().call(method, path, body === undefined ? {} : { body });
      expect([status, result], path).toMatchObject([expect.toSatisfy((code: number) => code < 300), {}]);
      return result;
    };
    /** Returns the rows in all tables that contain a text. */
    const rowsWith = async (text: string) => {
      const tables = await service().query(
        "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1",
      );
      const found: unknown[] = [];
      for (const { name } of tables) {
        const rows = await service().query(
          `SELECT '${name} ' || t::text AS row FROM ${name} AS t WHERE strpos(t::text, $1) > 0`,
          [text],
        );
        found.push(...rows.map(({ row }) => row));
      }
      return found;
    };
    const readEvents = async (tenant: string) =>
      (await admin().call('GET', `/audit?tenant=${tenant}&limit=100`)).body.events as Record<
        string,
        unknown
      >[];

    /** Creates a tenant whose ID occurs in every kind of event. */
    const mention = async (id: string) => {
      const other = freshTenant('other');
      for (const each of [id, other]) await call('POST', '/tenants', { id: each });
      await call('PATCH', `/tenants/${id}`, { name: `Notes of ${id}`, metadata: { owner: id, [id]: 'yes' } });
      await call('PUT', `/tenants/${other}/mounts/shared`, { tenant: id, access: 'read_only' });
      await call('DELETE', `/tenants/${other}/mounts/shared`);
      await call('POST', `/tenants/${other}/copy`, { to: `${id}-copy` });
      await call('DELETE', `/tenants/${id}-copy?forget=true`);
      const key = { kind: 'admin', tenants: [id, other], label: `exports of ${id}, daily` };
      const issued = await call('POST', '/keys', key);
      await call('PATCH', `/keys/${issued.id}`, { label: 'exports' });
      await call('DELETE', `/keys/${issued.id}`);
      await call('POST', '/keys', { kind: 'tenant', tenant: id, label: id });
      await call('POST', `/tenants/${id}/drafts`, { title: `Draft of ${id}` });
      for (const tenants of [{ ids: [id, other] }, { except: [id], search: `${id}` }]) {
        const job = await call('POST', '/find', { text: 'a text', by: `exports of ${id}, daily`, tenants });
        await call('POST', `/jobs/${job.id}/cancel`);
      }
      await call('POST', `/tenants/${id}/rename`, { to: `${id}-2` });
      await call('POST', `/tenants/${id}-2/rename`, { to: id });
      await admin().call('PUT', `/tenants/${id}/file?path=/memories/f.md`, {
        body: 'text',
        type: 'text/plain',
        headers: { 'if-none-match': '*' },
      });
      return other;
    };

    it("replaces a deleted tenant's ID with one hash in all audit events, including the deletion", async () => {
      const id = `${freshTenant('forget')}@example.com`;
      const other = await mention(id);
      const { body } = await admin().call('DELETE', `/tenants/${id}?forget=true`);
      expect(body).toMatchObject({
        id,
        erased: { entries: 2, keys: 1 },
        forgotten: { hash: expect.stringMatching(HASH), events: expect.any(Number) },
      });
      const { hash, events } = body.forgotten as { hash: string; events: number };
      const recorded = await readEvents(hash);
      expect(recorded[0]).toMatchObject({
        action: 'deleteTenant',
        outcome: 'ok',
        tenant: hash,
        details: { entries: 2, keys: 1, forgotten_events: events },
      });
      expect(recorded.map(({ action }) => action)).toEqual(
        expect.arrayContaining(['createTenant', 'updateTenant', 'createKey', 'createDraft', 'renameTenant']),
      );
      const ofOther = await readEvents(other);
      expect(ofOther).toMatchObject([
        { action: 'copyTenant', details: { to: expect.stringMatching(/^forgotten_/) } },
        { action: 'removeMount', details: { old: { tenant: hash, access: 'read_only' }, new: null } },
        { action: 'setMount', details: { new: { tenant: hash, access: 'read_only' } } },
        { action: 'createTenant', tenant: other },
      ]);
      // The revoked admin key keeps its latest label and its scope without the tenant.
      expect((await rowsWith(id)).filter((row) => !String(row).includes(`${id}-2`))).toStrictEqual([]);
      // A renamed tenant had two IDs, and each is forgotten by itself.
      expect((await admin().call('DELETE', `/tenants/${id}-2?forget=true`)).status).toBe(200);
      expect(await rowsWith(id)).toStrictEqual([]);
    });

    it('forgets a tenant after its deletion, and rejects an ID that no event contains', async () => {
      const id = freshTenant('forget');
      const run = (...args: string[]) => runOn(service(), args);
      await call('POST', '/tenants', { id });
      expect((await run('tenants', 'delete', id, '--yes')).code).toBe(0);
      expect((await rowsWith(id)).length).toBe(4);
      const { code, stdout } = await run('tenants', 'delete', id, '--forget', '--yes');
      expect(code).toBe(0);
      expect(stdout).toMatch(
        /^Replaced its ID with forgotten_[0-9a-f]{32} in 3 events of the audit trail\.\n$/,
      );
      expect(await rowsWith(id)).toStrictEqual([]);

      const unknown = await run('tenants', 'delete', id, '--forget', '--yes');
      expect([unknown.code, unknown.stdout]).toStrictEqual([1, '']);
      expect(unknown.stderr).toContain(`Tenant ${id} does not exist.`);
      expect((await admin().call('DELETE', `/tenants/${id}?forget=true`)).status).toBe(404);
      expect(await rowsWith(id)).toStrictEqual([]);
    });

    it('forgets a tenant when it is deleted with --forget', async () => {
      const id = freshTenant('forget');
      await call('POST', '/tenants', { id });
      const { stdout } = await runOn(service(), ['tenants', 'delete', id, '--forget', '--yes']);
      expect(stdout).toContain(`Deleted tenant ${id}: 1 row of tenants,`);
      expect(stdout).toMatch(
        /Replaced its ID with forgotten_[0-9a-f]{32} in 2 events of the audit trail\.\n$/,
      );
      expect(await rowsWith(id)).toStrictEqual([]);
    });
  },
  { AUTH: 'keys' },
);

it('replaces a forgotten ID only as a whole word, and keeps field names and fixed values', () => {
  const details = {
    kind: 'tenant',
    tenants: ['tenant', 'tenant-2'],
    access: 'read_only',
    file: 'created',
    label: 'tenant of the tenants, not my_tenant',
    metadata: { old: { tenant: 'a' }, new: { tenant: 'the tenant' } },
    name: { old: 'tenant', new: 'Tenant' },
  };
  expect(withoutTenant(details, 'tenant', 'HASH')).toStrictEqual({
    kind: 'tenant',
    tenants: ['HASH', 'tenant-2'],
    access: 'read_only',
    file: 'created',
    label: 'HASH of the tenants, not my_tenant',
    metadata: { old: { HASH: 'a' }, new: { HASH: 'the HASH' } },
    name: { old: 'HASH', new: 'Tenant' },
  });
  const operator = { type: 'operator', name: 'root' };
  expect(withoutTenant(operator, 'root', 'HASH')).toStrictEqual(operator);
  expect(withoutTenant({ type: 'jwt', subject: 'a@b.c' }, 'a@b.c', 'HASH')).toStrictEqual({
    type: 'jwt',
    subject: 'HASH',
  });
});
