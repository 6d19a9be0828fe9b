/**
 * A tenant that uses every feature is copied, renamed, deleted, and forgotten. The tests name every column in every
 * table that contains its ID afterwards.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { jobKinds } from '../../src/features/incidents/kinds.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import { flushReads } from '../reads/read-trail.ts';
import { useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

/** Tables without tenant data. */
const OF_INSTALLATION = ['change_log_state', 'change_ticks', 'ended_sessions', 'fleet_usage', 'installation'];

describeServiceOnOwnDatabase(
  "a tenant's ID",
  (service) => {
    const admin = useAdmin(service, { SHARING: 'on' });
    let runner: JobRunner | undefined;
    afterAll(() => runner?.stop());
    /** Runs all jobs, in threads that the tests share. */
    const runJobs = () => {
      runner ??= new JobRunner(
        service().database,
        jobKinds(service().database, loadConfig({})),
        (_, error) => {
          throw error;
        },
      );
      return runner.run();
    };

    const call = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) => {
      const {
        status,
        text,
        body: result,
      } = await admin().call(method, path, body === undefined ? {} : { body });
      expect([path, status, text]).toStrictEqual([
        path,
        expect.toSatisfy((code: number) => code < 300),
        text,
      ]);
      return result;
    };
    const write = async (tenant: string, input: object, key?: string) => {
      const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
      expect((await service().execute(input, { tenant, headers })).body).toMatchObject({ is_error: false });
    };

    const columns = () =>
      service().query(
        `SELECT table_name::text AS table, column_name::text AS column FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name IN (
         SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       )
       ORDER BY 1, 2`,
      );

    /** Returns the columns that contain a text, as `table.column`. */
    const columnsWith = async (text: string) => {
      const found: string[] = [];
      for (const { table, column } of await columns()) {
        const [row] = await service().query(
          `SELECT count(*)::integer AS n FROM "${table}" WHERE strpos("${column}"::text, $1) > 0`,
          [text],
        );
        if (row?.n !== 0) found.push(`${table}.${column}`);
      }
      return found;
    };

    /** Creates a tenant with rows in every table, and its ID in every column that can contain the ID. */
    const useEverything = async (id: string) => {
      const other = freshTenant('other');
      await service().query('INSERT INTO change_log_state VALUES (0, now()) ON CONFLICT DO NOTHING');
      for (const each of [id, other]) await call('POST', '/tenants', { id: each });
      await call('PATCH', `/tenants/${id}`, { name: `Notes of ${id}`, metadata: { owner: id } });
      await call('PUT', `/tenants/${other}/mounts/shared`, { tenant: id, access: 'read_only' });
      await call('PUT', `/tenants/${id}/mounts/shared`, { tenant: other, access: 'read_only' });
      await write(id, cmd.create('/memories/dir/a.md', 'the planted text'), 'one');
      await write(id, cmd.replace('/memories/dir/a.md', 'planted', 'changed'));
      await write(id, cmd.delete('/memories/dir'));
      await write(id, cmd.create('/memories/b.md', 'the planted text'));
      const [version] = await service().query('SELECT id::text FROM versions WHERE tenant_id = $1 LIMIT 1', [
        id,
      ]);
      await call('POST', `/tenants/${id}/versions/${version?.id}/redact?receipt=true`, {});
      const draft = await call('POST', `/tenants/${id}/drafts`, { title: `Draft of ${id}` });
      await write(String(draft.id), cmd.create('/memories/c.md', 'proposed'));
      await call('POST', `/tenants/${id}/drafts/${draft.id}/comments`, { text: `For ${id}` });
      await call('POST', '/keys', { kind: 'tenant', tenant: id, label: `key of ${id}` });
      await call('POST', '/keys', { kind: 'admin', tenants: [id, other], label: 'scoped' });
      await call('POST', `/tenants/${id}/kept-out`, { text: 'a text to keep out', label: `of ${id}` });
      const removed = await call('POST', `/tenants/${id}/kept-out`, { text: 'another text to keep out' });
      await call('DELETE', `/tenants/${id}/kept-out/${removed.id}`);
      await call('POST', '/find', { text: 'planted', tenants: { ids: [id, other] } });
      await call('POST', '/erase', { text: 'planted', tenants: { ids: [id] } });
      await runJobs();
      await write(other, cmd.create('/memories/o.md', 'shared'));
      for (const path of ['/memories/b.md', '/memories/shared/o.md'])
        await service().execute(cmd.view(path), { tenant: id });
      await flushReads(service());
      await service().app.usageCounts.flush();
      await service().app.activity.flush();
      const webhook = await call('POST', '/webhooks', { tenant: id, url: 'https://127.0.0.1' });
      await call('POST', `/webhooks/${webhook.id}/test`);
      const invitation = { reusable: true };
      const given = await call('POST', `/tenants/${id}/invitations`, invitation);
      await call('POST', `/tenants/${other}/shares`, { token: given.token, name: 'given' });
      const received = await call('POST', `/tenants/${other}/invitations`, invitation);
      await call('POST', `/tenants/${id}/shares`, { token: received.token, name: 'received' });
      // A job that has not ended notes arriving tenants.
      await call('POST', '/find', { text: 'planted' });
      return { other, draft: String(draft.id) };
    };

    it("stores a tenant's ID in every table if the tenant uses every feature", async () => {
      const id = freshTenant('all');
      const { draft } = await useEverything(id);
      const names = new Set(
        [...(await columnsWith(id)), ...(await columnsWith(draft))].map((each) => each.split('.')[0]),
      );
      const tables = new Set((await columns()).map(({ table }) => String(table)));
      expect([...tables].filter((table) => !names.has(table))).toStrictEqual(OF_INSTALLATION);
    });

    it("stores a new copy's tenant ID only in the listed columns", async () => {
      const id = freshTenant('all');
      await useEverything(id);
      const copy = freshTenant('copy');
      await call('POST', `/tenants/${id}/copy`, { to: copy });
      expect(await columnsWith(copy)).toStrictEqual([
        'audit_events.details',
        'change_log.tenant_id',
        'entries.tenant_id',
        'jobs.arrived',
        'kept_out.tenant_id',
        'tenant_events.tenant_id',
        'tenants.id',
      ]);
    });

    it('keeps the old tenant ID after a rename only in audit events, receipts, and user texts', async () => {
      const id = freshTenant('all');
      await useEverything(id);
      const before = await columnsWith(id);
      const renamed = freshTenant('new');
      await call('POST', `/tenants/${id}/rename`, { to: renamed });
      const records = [
        'activity.calls',
        'audit_events.details',
        'audit_events.tenant_id',
        'change_log.tenant_id',
        'receipts.body',
        'receipts.tenant_id',
        'tenant_events.details',
        'tenant_events.tenant_id',
        'webhook_deliveries.tenant_id',
      ];
      const texts = ['api_keys.label', 'drafts.comments', 'drafts.title', 'kept_out.label'];
      const details = ['tenants.metadata', 'tenants.name'];
      const kept = [...texts, ...details, ...records].sort();
      expect(await columnsWith(id)).toStrictEqual(kept);
      const moved = [
        ...before.filter((each) => !kept.includes(each)),
        'audit_events.details',
        'change_log.tenant_id',
        'jobs.arrived',
        'tenant_events.tenant_id',
      ];
      expect(await columnsWith(renamed)).toStrictEqual(moved.sort());
    });

    it("keeps a deleted tenant's ID only in records, mounts, and jobs until the tenant is forgotten", async () => {
      const id = freshTenant('all');
      await useEverything(id);
      const copy = freshTenant('copy');
      await call('POST', `/tenants/${id}/rename`, { to: copy });
      await call('POST', `/tenants/${copy}/rename`, { to: id });
      await call('DELETE', `/tenants/${id}?force=true&receipt=true`);
      expect(await columnsWith(id)).toStrictEqual([
        'activity.calls',
        'audit_events.details',
        'audit_events.tenant_id',
        'change_log.tenant_id',
        'jobs.arrived',
        'jobs.only_tenants',
        // Replicas read there that the entries are removed.
        'kept_out.tenant_id',
        'reads.via_tenant',
        'receipts.body',
        'receipts.tenant_id',
        'tenant_events.details',
        'tenant_events.tenant_id',
        'tenants.mounts',
        'webhook_deliveries.tenant_id',
      ]);
      for (const each of [id, copy]) await call('DELETE', `/tenants/${each}?forget=true`);
      expect(await columnsWith(id)).toStrictEqual([]);
      expect(await columnsWith(copy)).toStrictEqual([]);
    });
  },
  { READ_LOG_DAYS: '30' },
);
