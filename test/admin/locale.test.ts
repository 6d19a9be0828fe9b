/** Lists in a service whose database has the locale C, in which `lower` in SQL changes only ASCII. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Admin, makeKey, openAdmin } from '../support/admin.ts';
import { dropDatabase } from '../support/postgres/database-cluster.ts';
import { databaseUrl } from '../support/postgres/test-server.ts';
import { runJobs } from '../support/run-jobs.ts';
import { cmd } from '../support/step-table.ts';
import { connectTo, isCitus } from '../support/test-database.ts';
import { type Service, startService } from '../support/test-service.ts';

const DATABASE = 'locale_c';
/** On Citus, these tests are skipped, because a cluster has one locale. */
describe.skipIf(isCitus())('a service whose database uses the locale C', () => {
  let service: Service;
  let admin: Admin;

  beforeAll(async () => {
    const { cluster } = inject('postgres');
    const [node = ''] = cluster.nodes;
    const client = await connectTo(databaseUrl(node, 'postgres'));
    const [version] = (await client.query('SHOW server_version_num')).rows;
    const provider = Number(version?.server_version_num) >= 150_000 ? 'LOCALE_PROVIDER libc' : '';
    await client.query(
      `CREATE DATABASE ${DATABASE} TEMPLATE template0 ENCODING 'UTF8' ${provider} LOCALE 'C'`,
    );
    await client.end();
    service = await startService('postgres', { DATABASE_URL: databaseUrl(node, DATABASE), AUTH: 'keys' });
    admin = await openAdmin(service);
  });
  afterAll(async () => {
    await admin.app.close();
    await service.close();
    await dropDatabase(inject('postgres').cluster, DATABASE);
  });

  const get = async (path: string) => {
    const response = await admin.call('GET', path);
    expect([response.status, response.text]).toStrictEqual([200, expect.any(String)]);
    return response.body;
  };

  it('ignores case, also in non-ASCII letters, when it searches names, labels, paths, and actors', async () => {
    const name = 'Konto MÜLLER';
    await admin.call('POST', '/tenants', { body: { id: 'acme', name } });
    const { key, id } = await makeKey(service, { tenant: null, label: 'Ökonom ÉVA' });
    await service.execute(cmd.create('/memories/Übersicht.md', 'x'), {
      tenant: 'acme',
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await service.query("SELECT lower('Ü') AS lower")).toStrictEqual([{ lower: 'Ü' }]);
    expect(await get('/tenants?search=müller')).toMatchObject({ tenants: [{ id: 'acme' }] });
    expect(await get('/tenants?search=ACME')).toMatchObject({ tenants: [{ id: 'acme' }] });
    expect(await get('/tenants?search=mueller')).toMatchObject({ tenants: [] });
    expect(await get('/keys?search=ökonom')).toMatchObject({ keys: [{ id }] });
    const versions = '/tenants/acme/versions';
    for (const query of ['path_contains=ÜBERSICHT', 'by_contains=ÖKONOM%20éva', 'path_contains=übersicht'])
      expect(await get(`${versions}?${query}`)).toMatchObject({ versions: [{ operation: 'created' }] });
    expect(await get('/audit?by_contains=CONTROL&tenant_contains=ACM')).toMatchObject({
      events: [{ tenant: 'acme' }],
    });
  });

  it('ignores case when an erase job selects tenants and counts matches in settings and audit events', async () => {
    const stop = runJobs(service);
    const body = { text: 'konto müller', tenants: { search: 'KONTO müller' }, dry_run: false };
    const { id } = (await admin.call('POST', '/erase', { body })).body;
    await expect.poll(async () => (await get(`/jobs/${id}`)).state).toBe('done');
    await stop();
    expect(await get(`/jobs/${id}`)).toMatchObject({ tenants: 1, counts: { settings: 2 } });
    expect(await get(`/jobs/${id}/tenants?search=AC`)).toMatchObject({ total: 1 });
  });
});
