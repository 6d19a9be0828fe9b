/**
 * The event `limit_near`, by each way to change a tenant's usage or limits.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { type Admin, useAdmin } from '../support/admin.ts';
import { entry } from '../support/create-archive.ts';
import { Drafting } from '../support/drafting.ts';
import { sdk } from '../support/memory-stores.ts';
import { readSnapshot, run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const A = '/memories/a.md';
const B = '/memories/b.md';
const C = '/memories/c.md';
/** Limits on files and bytes that the tests come near: 3 of 3 files, 90 of 100 bytes. */
const LIMITS = { max_files: 3, max_bytes: 100 };

describeService('the event limit_near', (service) => {
  const admin = useAdmin(service);
  const drafting = new Drafting(service);
  const call = async (...[method, path, options]: Parameters<Admin['call']>) => {
    const response = await admin().call(method, path, options);
    expect([response.status, response.body]).toMatchObject([expect.toSatisfy((code) => code < 300), {}]);
    return response.body;
  };
  const newTenant = async (settings: object = LIMITS) => {
    const { id } = await call('POST', '/tenants', { body: { id: freshTenant(), settings } });
    return String(id);
  };
  const limit = (tenant: string, settings: object) =>
    call('PATCH', `/tenants/${tenant}`, { body: { settings } });
  const events = async (tenant: string) => {
    const page = await call('GET', `/tenants/${tenant}/changes?type=limit_near&limit=1000`);
    return page.events as { limit: string; used_percent: number; actor: object }[];
  };
  const near = async (tenant: string) =>
    (await events(tenant)).map((event) => `${event.limit} ${event.used_percent}`);

  it('records an event after the write in the feed, with its actor', async () => {
    const tenant = await newTenant();
    await run(service(), tenant, cmd.create(A), cmd.create(B), cmd.create(C));
    const { events: all } = await call('GET', `/tenants/${tenant}/changes`);
    expect((all as { type: string }[]).map(({ type }) => type)).toStrictEqual([
      'tenant_created',
      'created',
      'created',
      'created',
      'limit_near',
    ]);
    expect(await events(tenant)).toStrictEqual([
      {
        cursor: expect.any(String),
        type: 'limit_near',
        tenant,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        actor: { type: 'anonymous' },
        limit: 'files',
        used_percent: 100,
      },
    ]);
    const agents = await service().app.inject({
      url: '/v1/changes?type=limit_near',
      headers: { 'x-tenant-id': tenant },
    });
    expect(agents.json().events).toMatchObject([{ limit: 'files', used_percent: 100 }]);
  });

  it('records an event at 90 % of the bytes, and not below', async () => {
    const tenant = await newTenant();
    await run(service(), tenant, cmd.create(A, 'x'.repeat(89)));
    expect(await near(tenant)).toStrictEqual([]);
    await run(service(), tenant, cmd.insert(A, 0, ''));
    expect(await near(tenant)).toStrictEqual(['bytes 90']);
  });

  it('records one event while the usage stays near the limit, and another after it fell', async () => {
    const tenant = await newTenant();
    await run(
      service(),
      tenant,
      cmd.create(A, 'x'.repeat(90)),
      cmd.replace(A, 'x'.repeat(90), 'y'.repeat(95)),
    );
    await run(service(), tenant, cmd.create(B, 'z'), cmd.delete(B));
    expect(await near(tenant)).toStrictEqual(['bytes 90']);
    await run(service(), tenant, cmd.delete(A), cmd.create(A, 'x'.repeat(99)));
    expect(await near(tenant)).toStrictEqual(['bytes 90', 'bytes 99']);
  });

  it('records two events for a write that comes near both limits', async () => {
    const tenant = await newTenant({ max_files: 1, max_bytes: 100 });
    await run(service(), tenant, cmd.create(A, 'x'.repeat(93)));
    expect(await near(tenant)).toStrictEqual(['files 100', 'bytes 93']);
  });

  it('records no event for a rejected write, or without a limit', async () => {
    const tenant = await newTenant();
    await run(service(), tenant, cmd.create(A, 'x'));
    const { body } = await service().execute(cmd.create(B, 'x'.repeat(100)), { tenant });
    expect(body).toMatchObject({ is_error: true });
    await limit(tenant, { max_files: 0, max_bytes: 0 });
    await run(service(), tenant, cmd.create(B, 'x'.repeat(100)));
    expect(await near(tenant)).toStrictEqual([]);
  });

  it('records one event for a retried write', async () => {
    const tenant = await newTenant();
    const headers = { 'idempotency-key': 'once' };
    for (let i = 0; i < 2; i++) {
      const { body } = await service().execute(cmd.create(A, 'x'.repeat(90)), { tenant, headers });
      expect(body).toMatchObject({ is_error: false });
    }
    expect(await near(tenant)).toStrictEqual(['bytes 90']);
  });

  it('records one event for each limit in an array of writes', async () => {
    const tenant = await newTenant();
    const blocks = [A, B, C].map((path) => ({
      type: 'tool_use',
      id: path,
      name: 'memory',
      input: cmd.create(path, 'x'.repeat(31)),
    }));
    await service().execute(blocks, { tenant });
    expect((await near(tenant)).sort()).toStrictEqual(['bytes 93', 'files 100']);
  });

  it('records events for writes in the Memory Stores API', async () => {
    const { memoryStores } = sdk(service(), 'any').beta;
    const { memories } = memoryStores;
    const { id: store } = await memoryStores.create({ name: 'notes' });
    await limit(store, LIMITS);
    const { id } = await memories.create(store, { path: '/a', content: 'x'.repeat(90) });
    await memories.update(id, { memory_store_id: store, content: 'x' });
    await memories.update(id, { memory_store_id: store, content: 'x'.repeat(97) });
    expect(await near(store)).toStrictEqual(['bytes 90', 'bytes 97']);
  });

  it('records events for an upload and an import, and none for a dry run', async () => {
    const tenant = await newTenant();
    await call('PUT', `/tenants/${tenant}/file?path=${A}`, {
      body: 'x'.repeat(91),
      type: 'text/plain',
      headers: { 'if-none-match': '*' },
    });
    const body = Buffer.concat([
      entry({ name: 'memories/b.md', content: 'b' }),
      entry({ name: 'memories/c.md', content: 'c' }),
      Buffer.alloc(1024),
    ]);
    const archive = { body, type: 'application/x-tar' };
    await call('POST', `/tenants/${tenant}/import?dry_run=true`, archive);
    await call('POST', `/tenants/${tenant}/import`, archive);
    expect(await near(tenant)).toStrictEqual(['bytes 91', 'files 100']);
    expect((await events(tenant))[1]?.actor).toMatchObject({ type: 'admin_key' });
  });

  it('records an event for a merge in the tenant, and none in the draft', async () => {
    const tenant = await newTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const draft = await drafting.create(tenant);
    await run(service(), draft.id, cmd.replace(A, 'one', 'x'.repeat(94)));
    expect(await near(tenant)).toStrictEqual([]);
    await drafting.merge(draft);
    expect(await events(tenant)).toMatchObject([
      { limit: 'bytes', used_percent: 94, actor: { type: 'operator', name: 'grace' } },
    ]);
    const count = 'SELECT count(*)::int AS count FROM tenant_events WHERE tenant_id = $1::text';
    expect(await service().query(count, [draft.id])).toStrictEqual([{ count: 0 }]);
  });

  it('records an event for a restore, and none for its dry run', async () => {
    const tenant = await newTenant();
    await run(service(), tenant, cmd.create(A, 'x'.repeat(92)));
    const { at } = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.delete(A));
    await call('POST', `/tenants/${tenant}/restore`, { body: { at, dry_run: true } });
    expect(await near(tenant)).toStrictEqual(['bytes 92']);
    await call('POST', `/tenants/${tenant}/restore`, { body: { at } });
    expect(await near(tenant)).toStrictEqual(['bytes 92', 'bytes 92']);
  });

  it('records no event for a change that deletes as much as it writes', async () => {
    const tenant = await newTenant();
    await run(service(), tenant, cmd.create(A, 'x'.repeat(92)));
    const { at } = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.rename(A, B), cmd.replace(B, 'x'.repeat(92), 'y'.repeat(93)));
    await call('POST', `/tenants/${tenant}/restore`, { body: { at } });
    expect(await near(tenant)).toStrictEqual(['bytes 92']);
  });

  it('records an event for a copy, and none for a rename', async () => {
    const tenant = await newTenant();
    await run(service(), tenant, cmd.create(A, 'x'.repeat(96)));
    const [copy, renamed] = [freshTenant(), freshTenant()];
    await call('POST', `/tenants/${tenant}/copy`, { body: { to: copy } });
    await call('POST', `/tenants/${tenant}/rename`, { body: { to: renamed } });
    expect(await near(copy)).toStrictEqual(['bytes 96']);
    expect(await near(renamed)).toStrictEqual(['bytes 96']);
  });

  it('records events for limits that an operator lowers or sets', async () => {
    const tenant = await newTenant({ max_files: 10, max_bytes: 0 });
    await run(service(), tenant, cmd.create(A, 'x'.repeat(50)), cmd.create(B));
    await limit(tenant, { max_files: 5 });
    expect(await near(tenant)).toStrictEqual([]);
    await limit(tenant, { max_files: 1 });
    await limit(tenant, { max_files: 2, ttl_days: 7 });
    await limit(tenant, { max_bytes: 55 });
    expect(await near(tenant)).toStrictEqual(['files 200', 'bytes 90']);
    expect((await events(tenant))[0]?.actor).toMatchObject({ type: 'admin_key', label: 'control plane' });
  });
});

describeService(
  "the event limit_near at the service's limits",
  (service) => {
    const admin = useAdmin(service, { MAX_TENANT_FILES: '2', MAX_TENANT_BYTES: '100' });

    it('records events for a tenant without its own limits', async () => {
      const tenant = freshTenant();
      await run(service(), tenant, cmd.create(A, 'x'.repeat(70)), cmd.insert(A, 0, 'x'.repeat(20)));
      await run(service(), tenant, cmd.create(B));
      const { body } = await admin().call('GET', `/tenants/${tenant}/changes?type=limit_near`);
      expect(body.events).toMatchObject([
        { limit: 'bytes', used_percent: 91 },
        { limit: 'files', used_percent: 100 },
      ]);
    });

    it('records an event for a tenant whose own limit is removed', async () => {
      const tenant = freshTenant();
      const [id, settings] = [tenant, { max_files: 100 }];
      await admin().call('POST', '/tenants', { body: { id, settings } });
      await run(service(), tenant, cmd.create(A), cmd.create(B));
      await admin().call('PATCH', `/tenants/${tenant}`, { body: { settings: { max_files: null } } });
      const { body } = await admin().call('GET', `/tenants/${tenant}/changes?type=limit_near`);
      expect(body.events).toMatchObject([{ limit: 'files', used_percent: 100 }]);
    });
  },
  { MAX_TENANT_FILES: '2', MAX_TENANT_BYTES: '100' },
);
