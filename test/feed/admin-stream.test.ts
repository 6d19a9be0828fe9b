/** Live streams of changes from the admin API, over sockets. */
import { beforeAll, expect, it } from 'vitest';
import { Keys } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { FleetLog } from '../../src/features/feed/fleet-log.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { startLog } from '../support/change-log.ts';
import { ChangeReader } from '../support/change-reader.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

describeServiceOnOwnDatabase('live changes for operators', (service) => {
  const admin = useAdmin(service, { AUTH_CACHE_SECONDS: '1' });
  const open = (path: string, key = admin().key.key, headers: Record<string, string> = {}) =>
    ChangeReader.open(admin().app, path, { authorization: `Bearer ${key}`, ...headers });
  beforeAll(async () => {
    await admin().app.listen({ host: '127.0.0.1', port: 0 });
    await startLog(new FleetLog(service().database));
  });

  it("sends a tenant's changes, and continues after the last event's ID", async () => {
    await run(service(), 'acme', cmd.create('/memories/a', '1'));
    const reader = await open('tenants/acme/changes?after=now');
    await run(service(), 'acme', cmd.create('/memories/b', '1'));
    const { id = '' } = await reader.next();
    reader.close();
    await run(service(), 'acme', cmd.delete('/memories/b'));
    const again = await open('tenants/acme/changes?after=now', undefined, { 'last-event-id': id });
    expect(await again.change()).toBe('deleted /memories/b');
    again.close();
  });

  it("sends all tenants' changes, and to a limited key its tenants' changes without other tenants' IDs", async () => {
    await run(service(), 'globex', cmd.create('/memories/a', '1'));
    await new Tenants(service().database).create('initech');
    const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: ['globex'] });
    const mount = { body: { tenant: 'globex', access: 'read_write' } };
    expect((await admin().call('PUT', '/tenants/initech/mounts/shared', mount)).status).toBe(200);
    const [all, own] = [await open('changes?after=now'), await open('changes?after=now', key)];
    await run(service(), 'initech', cmd.create('/memories/c', '1'), cmd.create('/memories/shared/d', '1'));
    expect(await all.nextChange()).toMatchObject({ tenant: 'initech', version: { path: '/memories/c' } });
    const expected = { tenant: 'globex', version: { path: '/memories/d', via_tenant: 'initech' } };
    expect(await all.nextChange()).toMatchObject(expected);
    const hidden = { tenant: 'globex', version: { path: '/memories/d', via_tenant: null } };
    expect(await own.nextChange()).toMatchObject(hidden);
    all.close();
    own.close();
  });

  it('rejects a position that is not valid, and a tenant that does not exist', async () => {
    const headers = { accept: 'text/event-stream' };
    const get = async (path: string) => {
      const { status, body } = await admin().call('GET', path, { headers });
      return [status, body.code];
    };
    expect(await get('/changes?after=x')).toStrictEqual([400, 'invalid_parameter']);
    expect(await get('/tenants/acme/changes?after=x')).toStrictEqual([400, 'invalid_parameter']);
    expect(await get('/tenants/nobody/changes')).toStrictEqual([404, 'not_found']);
  });

  it('ends with a problem when the admin key is revoked', async () => {
    const { key, id } = await makeKey(service(), { isAdmin: true });
    const reader = await open('changes?after=now', key);
    await new Keys(service().database).revoke(id);
    let message = await reader.next();
    // The filter leaves the key's own events out, but sends their positions.
    while (message.data === undefined) message = await reader.next();
    expect(message).toMatchObject({ event: 'problem', data: { code: 'unauthorized' } });
    await expect(reader.next()).rejects.toThrow('The stream has ended.');
  });
});
