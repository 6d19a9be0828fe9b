/**
 * Records in the read trail after their file or tenant changed: moved, deleted, redacted, pruned, renamed, forgotten.
 *
 * @module-tag long-on-pglite
 */
import type { Logger } from 'pino';
import { expect, it } from 'vitest';
import { pruneReads } from '../../src/features/reads/prune-reads.ts';
import { ReadLog } from '../../src/features/reads/read-log.ts';
import { useAdmin } from '../support/admin.ts';
import { runJobs } from '../support/run-jobs.ts';
import { cmd } from '../support/step-table.ts';
import {
  describeService,
  describeServiceOnOwnDatabase,
  freshTenant,
  startSharedService,
} from '../support/test-service.ts';
import { flushReads, listReads, mountTeam, reader, tenantWith, write } from './read-trail.ts';

const A = '/memories/a.md';
const B = '/memories/b.md';

describeService(
  'the read trail after a change',
  (service) => {
    const admin = useAdmin(service);
    const reads = (tenant: string, query?: Record<string, string>) =>
      listReads(service(), admin(), tenant, query);
    const call = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => {
      const response = await admin().call(method, path, body === undefined ? {} : { body });
      expect([response.status, response.body]).toMatchObject([
        expect.toSatisfy((code: number) => code < 300),
        {},
      ]);
      return response.body;
    };

    it('shows and filters by the path that the file has now', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      const laptop = await reader(service(), { tenant });
      await laptop.view('toolu_1', A);
      // The file moves before the read is recorded.
      await write(service(), tenant, cmd.rename(A, B));
      await laptop.view('toolu_2', B);
      expect(await reads(tenant)).toMatchObject([{ path: B, count: 2, tool_use_id: 'toolu_2' }]);
      await write(service(), tenant, cmd.rename(B, '/memories/c.md'));
      expect(await reads(tenant, { path: '/memories/c.md' })).toMatchObject([
        { path: '/memories/c.md', count: 2 },
      ]);
      await write(service(), tenant, cmd.create(A, 'another file'));
      expect(await reads(tenant, { path: A })).toStrictEqual([]);
    });

    it("shows a deleted file's last path until its history is redacted", async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      await (await reader(service(), { tenant })).view('toolu_1', A);
      await write(service(), tenant, cmd.delete(A));
      expect(await reads(tenant, { path: A })).toMatchObject([{ path: A, tool_use_id: 'toolu_1' }]);
      const { versions } = await call('GET', `/tenants/${tenant}/versions`);
      for (const { id } of versions as { id: string }[])
        await call('POST', `/tenants/${tenant}/versions/${id}/redact`, {});
      expect(await reads(tenant)).toMatchObject([{ path: null, tool_use_id: 'toolu_1' }]);
      expect(await reads(tenant, { path: A })).toStrictEqual([]);
    });

    it('shows no text that was erased from the path of a file', async () => {
      const path = '/memories/Ada Lovelace.md';
      const tenant = await tenantWith(service(), { [path]: 'one' });
      await (await reader(service(), { tenant })).view('toolu_1', path);
      expect(await reads(tenant)).toMatchObject([{ path }]);
      const tenants = { ids: [tenant] };
      const { id } = await call('POST', '/erase', { text: 'Ada Lovelace', tenants, dry_run: false });
      const stop = runJobs(service());
      await expect.poll(async () => (await call('GET', `/jobs/${id}`)).state).toBe('done');
      await stop();
      expect(await reads(tenant)).toMatchObject([{ path: '/memories/erased.md', tool_use_id: 'toolu_1' }]);
    });

    it('moves the records with a renamed tenant, and does not copy them', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      const shared = await tenantWith(service(), { [B]: 'two' });
      await mountTeam(service(), tenant, shared);
      const laptop = await reader(service(), { tenant });
      await laptop.view('toolu_1', A);
      await laptop.view('toolu_2', '/memories/team/b.md');
      await flushReads(service());
      const [copy, renamed] = [freshTenant('copy'), freshTenant('renamed')];
      await call('POST', `/tenants/${tenant}/copy`, { to: copy });
      await call('POST', `/tenants/${tenant}/rename`, { to: renamed });
      expect(await reads(copy)).toStrictEqual([]);
      expect(await reads(renamed)).toMatchObject([{ path: A, tool_use_id: 'toolu_1' }]);
      expect(await reads(shared)).toMatchObject([{ path: B, via_tenant: renamed }]);
    });

    it("deletes a tenant's records, and replaces its ID in other tenants' records when the tenant is forgotten", async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      const shared = await tenantWith(service(), { [B]: 'two' });
      await mountTeam(service(), tenant, shared);
      const laptop = await reader(service(), { tenant });
      await laptop.view('toolu_1', A);
      await laptop.view('toolu_2', '/memories/team/b.md');
      await flushReads(service());
      await call('DELETE', `/tenants/${tenant}?forget=true`);
      const rows = await service().query('SELECT count(*)::integer AS n FROM reads WHERE tenant_id = $1', [
        tenant,
      ]);
      expect(rows).toStrictEqual([{ n: 0 }]);
      expect(await reads(shared)).toMatchObject([
        { path: B, via_tenant: expect.stringMatching(/^forgotten_[0-9a-f]{32}$/) },
      ]);
    });

    it('drops a read if its tenant was replaced before the read was recorded', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      await (await reader(service(), { tenant })).view('toolu_1', A);
      await call('DELETE', `/tenants/${tenant}?force=true`);
      await call('POST', '/tenants', { id: tenant });
      await write(service(), tenant, cmd.create(A, 'other'));
      expect(await reads(tenant)).toStrictEqual([]);
    });
  },
  { AUTH: 'keys', READ_LOG_DAYS: '30' },
);

describeServiceOnOwnDatabase(
  'the job and the buffer of the read trail',
  (service, kind) => {
    const admin = useAdmin(service);

    it('records the buffered reads when the service stops', async () => {
      const stopped = await startSharedService(kind, { AUTH: 'keys', READ_LOG_DAYS: '30' });
      const other = await startSharedService(kind, { AUTH: 'keys' });
      const tenant = await tenantWith(stopped, { [A]: 'one' });
      await (await reader(stopped, { tenant })).view('toolu_1', A);
      const count = () => other.query('SELECT count FROM reads WHERE tenant_id = $1', [tenant]);
      expect(await count()).toStrictEqual([]);
      await stopped.close();
      expect(await count()).toStrictEqual([{ count: 1 }]);
      await other.close();
    });

    it('drops reads that cannot be recorded, with one log line and without a path', async () => {
      const tenant = await tenantWith(service(), { [A]: 'one' });
      const { services } = service().app;
      const lines: object[] = [];
      const error = (details: object, message: string) => lines.push({ ...details, message });
      const readLog = new ReadLog(services, { error } as unknown as Logger);
      const note = () => readLog.note(tenant, A, { actor: { type: 'anonymous' } });
      await service().execute(cmd.view(A), { headers: (await reader(service(), { tenant })).headers });
      await flushReads(service());
      await service().query('ALTER TABLE reads RENAME TO moved_reads');
      note();
      await readLog.flush();
      await service().query('ALTER TABLE moved_reads RENAME TO reads');
      expect(lines).toStrictEqual([
        expect.objectContaining({ job: 'reads', records: 1, message: 'reads were not recorded' }),
      ]);
      expect(JSON.stringify(lines)).not.toContain('a.md');
      await readLog.flush();
      expect(await listReads(service(), admin(), tenant)).toHaveLength(1);
      note();
      await readLog.flush();
      expect(await listReads(service(), admin(), tenant)).toHaveLength(2);
      await service().query('DELETE FROM reads');
    });

    it("deletes records older than the tenant's setting, and all records when the trail is off", async () => {
      const tenants: string[] = [];
      for (const readLogDays of [null, 7, 0]) {
        const tenant = await tenantWith(service(), { [A]: 'one' });
        await (await reader(service(), { tenant })).view('toolu_1', A);
        await flushReads(service());
        await service().query('UPDATE tenants SET read_log_days = $2 WHERE id = $1', [tenant, readLogDays]);
        tenants.push(tenant);
      }
      const left = async () => {
        const rows = await service().query('SELECT tenant_id FROM reads');
        return tenants.map((tenant) => rows.some((row) => row.tenant_id === tenant));
      };
      const inDays = (days: number) => new Date(Date.now() + days * 24 * 60 * 60 * 1000);
      const config = { READ_LOG_DAYS: 30 };
      expect(await left()).toStrictEqual([true, true, true]);
      expect(await pruneReads(service().database, config, inDays(1))).toBe(1);
      expect(await left()).toStrictEqual([true, true, false]);
      expect(await pruneReads(service().database, config, inDays(8))).toBe(1);
      expect(await left()).toStrictEqual([true, false, false]);
      expect(await pruneReads(service().database, config, inDays(31))).toBe(1);
      expect(await left()).toStrictEqual([false, false, false]);
      expect((await admin().call('GET', `/tenants/${tenants[0]}/reads`)).body).toStrictEqual({
        reads: [],
        next: null,
      });
    });
  },
  { AUTH: 'keys', READ_LOG_DAYS: '30' },
);
