/**
 * Tenant, draft, and key events in the change feed.
 *
 * @module-tag long-on-pglite
 */
import { beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/core/database/database.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { Changes } from '../../src/features/feed/changes.ts';
import { FleetLog } from '../../src/features/feed/fleet-log.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { startLog } from '../support/change-log.ts';
import { Drafting } from '../support/drafting.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

interface Event {
  cursor: string;
  type: string;
  tenant: string | null;
  at: string;
  actor: object;
  version?: { path: string };
  draft?: { id: string; state: string };
  key?: { id: string; kind: string; access: string };
  previous_tenant?: string;
}
interface Page {
  events: Event[];
  cursor: string;
  has_more: boolean;
}

const A = '/memories/a.md';

describeServiceOnOwnDatabase('events in the change feed', (service) => {
  const admin = useAdmin(service);
  const drafting = new Drafting(service);
  beforeAll(() => startLog(new FleetLog(service().database)));

  const call = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object, key?: string) => {
    const given = { ...(body !== undefined && { body }), ...(key !== undefined && { key }) };
    const response = await admin().call(method, path, given);
    expect([response.status, response.body]).toMatchObject([expect.toSatisfy((code) => code < 300), {}]);
    return response.body;
  };
  const list = async (tenant: string, query = '') =>
    (await call('GET', `/tenants/${tenant}/changes${query}`)) as unknown as Page;
  const types = ({ events }: Pick<Page, 'events'>) => events.map(({ type }) => type);
  const countEvents = async (tenant: string) => {
    const count = 'SELECT count(*)::int AS count FROM tenant_events WHERE tenant_id = $1::text';
    return (await service().query(count, [tenant]))[0]?.count;
  };
  const now = async () => (await call('GET', '/changes?after=now')).cursor as string;
  /** Reads all tenants' events up to a count, because the log shows a change with a delay. */
  const readFleet = async (after: string, count: number, limit = 100, key?: string) => {
    const events: Event[] = [];
    for (let cursor = after; events.length < count; ) {
      const page = await call('GET', `/changes?after=${cursor}&limit=${limit}`, undefined, key);
      events.push(...(page as unknown as Page).events);
      cursor = page.cursor as string;
    }
    return events;
  };

  it('lists the events of a tenant in order with its writes, to operators and agents', async () => {
    const tenant = freshTenant();
    await call('POST', '/tenants', { id: tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    for (const path of ['suspend', 'suspend', 'resume', 'resume'])
      await call('POST', `/tenants/${tenant}/${path}`);
    await new Tenants(service().database).suspend(tenant, true, { type: 'operator', name: 'ada' });
    const { events, cursor } = await list(tenant);
    expect(events.map(({ type, version }) => [type, version?.path])).toStrictEqual([
      ['tenant_created', undefined],
      ['created', A],
      ['tenant_suspended', undefined],
      ['tenant_resumed', undefined],
      ['tenant_suspended', undefined],
    ]);
    expect(events[4]).toStrictEqual({
      cursor,
      type: 'tenant_suspended',
      tenant,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      actor: { type: 'operator', name: 'ada' },
    });
    expect(events.map(({ at }) => at)).toStrictEqual(events.map(({ at }) => at).toSorted());
    for (const { cursor: after } of events)
      expect((await list(tenant, `?after=${after}`)).events).toStrictEqual(
        events.slice(events.findIndex((event) => event.cursor === after) + 1),
      );
    await new Tenants(service().database).suspend(tenant, false);
    const agents = await service().app.inject({
      url: `/v1/changes?after=${cursor}`,
      headers: { 'x-tenant-id': tenant },
    });
    expect(types(agents.json())).toStrictEqual(['tenant_resumed']);
  });

  it('keeps the time of the last change to a file', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const before = await call('GET', `/tenants/${tenant}`);
    await call('POST', `/tenants/${tenant}/suspend`);
    const after = await call('GET', `/tenants/${tenant}`);
    expect(after.last_change_at).toBe(before.last_change_at);
  });

  it('gives writes and events later times when the clock steps back', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    await service().query("UPDATE tenants SET last_event_at = '2099-01-01T00:00:00Z' WHERE id = $1::text", [
      tenant,
    ]);
    const { cursor } = await list(tenant, '?after=now');
    await run(service(), tenant, cmd.replace(A, 'one', 'two'));
    await call('POST', `/tenants/${tenant}/suspend`);
    expect((await list(tenant, `?after=${cursor}`)).events.map(({ type, at }) => [type, at])).toStrictEqual([
      ['modified', '2099-01-01T00:00:00.000001Z'],
      ['tenant_suspended', '2099-01-01T00:00:00.000002Z'],
    ]);
  });

  it('lists a tenant that a first write creates, before the file', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const { events } = await list(tenant);
    expect(types({ events })).toStrictEqual(['tenant_created', 'created']);
    expect(events[0]).toMatchObject({ tenant, actor: { type: 'anonymous' } });
  });

  it('records no event for a creation that fails', async () => {
    const tenant = freshTenant();
    const [row] = await service().query(
      `SELECT outcome FROM memory_create($1, '/memories/a', 'text', gen_random_uuid(), true, '{}', NULL, NULL, NULL, 0, 1, true)`,
      [tenant],
    );
    expect(row?.outcome).toBe('over_quota');
    expect(await countEvents(tenant)).toBe(0);
  });

  it('lists drafts of the tenant, with their states', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const { cursor } = await list(tenant);
    const [merged, replaced, rejected] = [
      await drafting.create(tenant),
      await drafting.create(tenant),
      await drafting.create(tenant),
    ];
    await run(service(), merged.id, cmd.replace(A, 'one', 'two'));
    await drafting.merge(merged);
    await drafting.replace(replaced);
    await call('POST', `/tenants/${tenant}/drafts/${rejected.id}/close`);
    const { events } = await list(tenant, `?after=${cursor}`);
    expect(events.map(({ type, draft }) => [type, draft])).toStrictEqual([
      ['draft_opened', { id: merged.id, state: 'open' }],
      ['draft_opened', { id: replaced.id, state: 'open' }],
      ['draft_opened', { id: rejected.id, state: 'open' }],
      ['modified', undefined],
      ['draft_merged', { id: merged.id, state: 'merged' }],
      ['modified', undefined],
      ['draft_merged', { id: replaced.id, state: 'replaced' }],
      ['draft_rejected', { id: rejected.id, state: 'rejected' }],
    ]);
    expect((await list(merged.id).catch(() => ({ events: [] }))).events).toStrictEqual([]);
  });

  it('filters events by type, path, and actor', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    await new Tenants(service().database).suspend(tenant, true, { type: 'operator', name: 'ada' });
    expect(types(await list(tenant, '?type=tenant_suspended&type=tenant_created'))).toStrictEqual([
      'tenant_created',
      'tenant_suspended',
    ]);
    expect(types(await list(tenant, '?path=/memories/a.md'))).toStrictEqual(['created']);
    expect(types(await list(tenant, '?by=ada'))).toStrictEqual(['tenant_suspended']);
  });

  it("lists keys only in the list of all tenants' changes, and keys without a tenant only to unlimited keys", async () => {
    const [tenant, after] = [freshTenant(), await now()];
    await run(service(), tenant, cmd.create(A, 'one'));
    const created = await call('POST', '/keys', {
      kind: 'tenant',
      tenant,
      label: 'laptop',
      access: 'read_only',
    });
    await call('POST', `/keys/${created.id}/rotate`, { overlap_seconds: 0 });
    const backend = await call('POST', '/keys', { kind: 'service', label: 'backend' });
    await call('DELETE', `/keys/${created.id}`);
    await call('DELETE', `/keys/${backend.id}`);
    const key = { id: created.id, kind: 'tenant', access: 'read_only' };
    const serviceKey = { id: backend.id, kind: 'service', access: 'read_write' };
    const events = await readFleet(after, 6);
    expect(events.map((event) => [event.type, event.tenant, event.key])).toStrictEqual([
      ['tenant_created', tenant, undefined],
      ['created', tenant, undefined],
      ['key_created', tenant, key],
      ['key_created', null, serviceKey],
      ['key_revoked', tenant, key],
      ['key_revoked', null, serviceKey],
    ]);
    expect(events[2]?.actor).toMatchObject({ type: 'admin_key' });
    for (const limit of [1, 2, 4])
      expect(await readFleet(after, 6, limit)).toMatchObject(events.map(({ at }) => ({ at })));
    expect(types(await list(tenant))).toStrictEqual(['tenant_created', 'created']);
    const { key: limited } = await makeKey(service(), { isAdmin: true, onlyTenants: [tenant] });
    expect(types({ events: await readFleet(after, 4, 100, limited) })).toStrictEqual([
      'tenant_created',
      'created',
      'key_created',
      'key_revoked',
    ]);
  });

  it('lists a deletion to readers of all tenants, and starts a new tenant with the same ID', async () => {
    const [tenant, after] = [freshTenant(), await now()];
    await run(service(), tenant, cmd.create(A, 'one'));
    const { cursor } = await list(tenant);
    await call('DELETE', `/tenants/${tenant}`);
    await call('POST', '/tenants', { id: tenant });
    expect(types({ events: await readFleet(after, 3) })).toStrictEqual([
      'tenant_created',
      'tenant_deleted',
      'tenant_created',
    ]);
    expect(types(await list(tenant))).toStrictEqual(['tenant_created']);
    expect(await admin().call('GET', `/tenants/${tenant}/changes?after=${cursor}`)).toMatchObject({
      status: 410,
    });
    await call('DELETE', `/tenants/${tenant}?forget=true`);
    expect(await countEvents(tenant)).toBe(0);
  });

  it('continues after a rename, with an event that has the previous ID', async () => {
    const [tenant, to] = [freshTenant(), freshTenant()];
    await run(service(), tenant, cmd.create(A, 'one'));
    const [after, { cursor }] = [await now(), await list(tenant)];
    await call('POST', `/tenants/${tenant}/rename`, { to });
    await run(service(), to, cmd.replace(A, 'one', 'two'));
    expect(types(await list(to))).toStrictEqual(['tenant_created', 'created', 'tenant_renamed', 'modified']);
    const { events } = await list(to, `?after=${cursor}`);
    expect(events).toMatchObject([
      { type: 'tenant_renamed', tenant: to, previous_tenant: tenant },
      { type: 'modified' },
    ]);
    expect(types({ events: await readFleet(after, 2) })).toStrictEqual(['tenant_renamed', 'modified']);
    await call('POST', `/tenants/${to}/rename`, { to: tenant });
    expect(types(await list(tenant))).toStrictEqual([
      'tenant_created',
      'created',
      'tenant_renamed',
      'modified',
      'tenant_renamed',
    ]);
  });

  it('records the creation of a copy', async () => {
    const [tenant, to] = [freshTenant(), freshTenant()];
    await run(service(), tenant, cmd.create(A, 'one'));
    await call('POST', `/tenants/${tenant}/copy`, { to });
    expect(types(await list(to))).toStrictEqual(['tenant_created', 'created']);
  });

  it('records no event for a transaction that is rolled back', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const { cursor } = await list(tenant);
    expect(await admin().call('POST', '/tenants', { body: { id: tenant } })).toMatchObject({ status: 409 });
    expect((await list(tenant, `?after=${cursor}`)).events).toStrictEqual([]);
  });

  it('prunes the events with the history and the log', async () => {
    const tenant = freshTenant();
    const { database } = service();
    await run(service(), tenant, cmd.create(A, 'one'), cmd.replace(A, 'one', 'two'), cmd.delete(A));
    await service().query("SELECT memory_prune_old($1::text, 'infinity', 1, '-infinity', $2::uuid, 100)", [
      tenant,
      '00000000-0000-0000-0000-000000000000',
    ]);
    expect((await list(tenant)).events).toStrictEqual([]);
    await new FleetLog(database).maintain(7);
    expect(await countEvents(tenant)).toBe(1);
    await new FleetLog(database).maintain(0);
    expect(await countEvents(tenant)).toBe(0);
    await new FleetLog(database).maintain(7);
  });

  it('skips no change that is committed while a page is read', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const { database } = service();
    let changed: Promise<unknown> | undefined;
    const query: Database['query'] = async (statement, params) => {
      if (statement.name === 'list_events' && changed !== undefined) {
        await changed;
        changed = undefined;
        await run(service(), tenant, cmd.replace(A, 'one', 'two'));
        await new Tenants(database).suspend(tenant, true);
      }
      const result = database.query(statement, params);
      if (statement.name === 'list_changes') changed ??= result;
      return result;
    };
    const changes = new Changes({ ...database, query } as Database);
    const page = await changes.page(tenant, await changes.begin(tenant, 'now'), { limit: 10 });
    const { events } = await new Changes(database).page(tenant, page.cursor, { limit: 10 });
    expect(types({ events: [...page.events, ...events] as unknown as Event[] })).toStrictEqual([
      'modified',
      'tenant_suspended',
    ]);
  });
});
