/**
 * `GET /v1/changes` and the operators' list of changes.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { restore, run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

interface Event {
  cursor: string;
  type: string;
  tenant: string;
  at: string;
  actor: object;
  version: { id: string; path: string | null; previous_path: string | null; memory_id: string };
  content?: string | null;
}
interface Page {
  events: Event[];
  cursor: string;
  has_more: boolean;
}

const A = '/memories/a.md';
const B = '/memories/b.md';
const FILE_EVENTS = 'type=created&type=modified&type=renamed&type=deleted&type=restored&type=redacted';

describeService('the changes to a memory', (service) => {
  const admin = useAdmin(service);
  const get = async (tenant: string, query = '') => {
    const url = `/v1/changes${query.includes('type=') ? query : `?${FILE_EVENTS}&${query.slice(1)}`}`;
    const response = await service().app.inject({ url, headers: { 'x-tenant-id': tenant } });
    return { status: response.statusCode, body: response.json() as Page & { code: string; detail: string } };
  };
  const read = async (tenant: string, query = ''): Promise<Page> => {
    const { status, body } = await get(tenant, query);
    expect([status, body]).toMatchObject([200, {}]);
    return body;
  };
  const types = async (tenant: string, query = '') =>
    (await read(tenant, query)).events.map(({ type, version }) => `${type} ${version.path}`);
  const call = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => {
    const response = await admin().call(method, path, body === undefined ? {} : { body });
    expect([response.status, response.body]).toMatchObject([expect.toSatisfy((code) => code < 300), {}]);
    return response.body;
  };

  it('lists each change once, in order, with its version and actor', async () => {
    const tenant = freshTenant();
    await run(
      service(),
      tenant,
      cmd.create(A, 'one'),
      cmd.replace(A, 'one', 'two'),
      cmd.rename(A, B),
      cmd.create('/memories/d/x', 'x'),
      cmd.delete(B),
    );
    const { events, cursor, has_more } = await read(tenant);
    expect(events.map(({ type, version }) => [type, version.path, version.previous_path])).toStrictEqual([
      ['created', A, null],
      ['modified', A, A],
      ['renamed', B, A],
      ['created', '/memories/d/x', null],
      ['deleted', B, B],
    ]);
    expect(has_more).toBe(false);
    expect(events[0]).toMatchObject({ tenant, actor: { type: 'anonymous' } });
    expect(events.every((event) => !('content' in event))).toBe(true);
    expect(events.at(-1)?.cursor).toBe(cursor);
    expect(await read(tenant, `?after=${cursor}`)).toStrictEqual({ events: [], cursor, has_more: false });
    const [first] = events as [Event];
    expect((await read(tenant, `?after=${first.cursor}&limit=2`)).events).toStrictEqual(events.slice(1, 3));
    const listed = await call('GET', `/tenants/${tenant}/changes?${FILE_EVENTS}`);
    expect(listed.events).toStrictEqual(events);
  });

  it('begins after the latest change with now', async () => {
    const tenant = freshTenant();
    const { cursor: empty } = await read(tenant, '?after=now');
    await run(service(), tenant, cmd.create(A, 'one'));
    expect(await types(tenant, `?after=${empty}`)).toStrictEqual([`created ${A}`]);
    const { cursor } = await read(tenant, '?after=now');
    expect(await types(tenant, `?after=${cursor}`)).toStrictEqual([]);
    await run(service(), tenant, cmd.replace(A, 'one', 'two'));
    expect(await types(tenant, `?after=${cursor}`)).toStrictEqual([`modified ${A}`]);
  });

  it('shows a restored file, and a redaction after the change whose path and content it removed', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'), cmd.replace(A, 'one', 'two'));
    const { events: before } = await read(tenant);
    await run(service(), tenant, cmd.delete(A));
    await restore(service(), tenant, before.at(-1)?.at ?? '');
    const { events, cursor } = await read(tenant, '?content=true');
    expect(events.map(({ type, content }) => [type, content])).toStrictEqual([
      ['created', 'one'],
      ['modified', 'two'],
      ['deleted', null],
      ['restored', 'two'],
    ]);
    await call('POST', `/tenants/${tenant}/versions/${before[0]?.version.id}/redact`);
    expect((await read(tenant, '?content=true')).events).toMatchObject([
      { type: 'created', content: null, version: { path: null, content_sha256: null } },
      { type: 'modified', content: 'two' },
      { type: 'deleted' },
      { type: 'restored' },
      { type: 'redacted', content: null, version: { id: before[0]?.version.id, path: null } },
    ]);
    expect(await types(tenant, `?after=${cursor}`)).toStrictEqual(['redacted null']);
    expect(await types(tenant, '?path=/memories/other')).toStrictEqual(['redacted null']);
  });

  it('filters by path, type, actor, and source, and moves on past other changes', async () => {
    const tenant = freshTenant();
    await run(
      service(),
      tenant,
      cmd.create('/memories/d/x', 'x'),
      cmd.create('/memories/dx', 'x'),
      cmd.rename('/memories/d/x', '/memories/e'),
      cmd.replace('/memories/dx', 'x', 'y'),
    );
    expect(await types(tenant, '?path=/memories/d')).toStrictEqual([
      'created /memories/d/x',
      'renamed /memories/e',
    ]);
    expect(await types(tenant, '?type=modified&type=renamed')).toStrictEqual([
      'renamed /memories/e',
      'modified /memories/dx',
    ]);
    expect(await types(tenant, '?by=anonymous&limit=1')).toStrictEqual(['created /memories/d/x']);
    expect(await types(tenant, '?source=web')).toStrictEqual([]);
    const { cursor } = await read(tenant);
    expect((await read(tenant, '?by=nobody')).cursor).toBe(cursor);
  });

  it('rejects parameters that are not valid', async () => {
    const tenant = freshTenant();
    expect(await get(tenant, '?after=x')).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_parameter',
        detail:
          'The query parameter `after` is not valid: use the `cursor` of an event or of a page of events, or `now`.',
      },
    });
    for (const query of ['?limit=0', '?limit=1001', '?type=made', '?path=/etc', '?by=a&source=b', '?x=1']) {
      expect([query, (await get(tenant, query)).status]).toStrictEqual([query, 400]);
    }
  });

  it('rejects a position that is older than the history', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const { cursor } = await read(tenant);
    await service().query("UPDATE tenants SET history_since = '2099-01-01T00:00:00Z' WHERE id = $1::text", [
      tenant,
    ]);
    expect(await get(tenant, `?after=${cursor}`)).toMatchObject({
      status: 410,
      body: {
        code: 'changes_expired',
        detail: `The position is before 2099-01-01T00:00:00.000000Z, where the history of tenant ${tenant} begins. Begin again with \`after=now\`, then read all files once.`,
      },
    });
  });

  it("rejects a position in an earlier tenant's changes", async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const { cursor } = await read(tenant);
    await call('DELETE', `/tenants/${tenant}`);
    expect((await get(tenant, `?after=${cursor}`)).status).toBe(410);
    await run(service(), tenant, cmd.create(A, 'one'));
    expect(await get(tenant, `?after=${cursor}`)).toMatchObject({
      status: 410,
      body: {
        detail: `Another tenant has the ID ${tenant} now, or an import has replaced the tenant's history. Begin again with \`after=now\`, then read all files once.`,
      },
    });
  });

  it('ends a page before contents of more than a mebibyte, but after one at least', async () => {
    const tenant = freshTenant();
    const text = 'x'.repeat(700_000);
    await run(service(), tenant, cmd.create(A, text), cmd.create(B, text));
    const first = await read(tenant, '?content=true');
    expect(first.events.map(({ version }) => version.path)).toStrictEqual([A]);
    expect(first.has_more).toBe(true);
    const second = await read(tenant, `?content=true&after=${first.cursor}`);
    expect(second.events.map(({ version }) => version.path)).toStrictEqual([B]);
    expect(second.has_more).toBe(false);
  });
});

describeService(
  'the changes to a memory that a key may read',
  (service) => {
    it('shows a propose-only key the memory to which it proposes, and only to its own tenant', async () => {
      const tenant = freshTenant();
      await new Tenants(service().database).create(tenant);
      const keyFor = async (access: 'read_write' | 'propose') => {
        const { key } = await makeKey(service(), { tenant, access });
        return { authorization: `Bearer ${key}` };
      };
      const paths = async (headers: Record<string, string>) => {
        const response = await service().app.inject({ url: `/v1/changes?${FILE_EVENTS}`, headers });
        return response.json().events.map(({ version }: Event) => version.path);
      };
      const [writer, proposer] = [await keyFor('read_write'), await keyFor('propose')];
      await service().execute(cmd.create(A, 'one'), { headers: writer });
      await service().execute(cmd.create(B, 'two'), { headers: proposer });
      expect(await paths(proposer)).toStrictEqual([A]);
      expect(await paths(writer)).toStrictEqual([A]);
      const denied = await service().app.inject({
        url: '/v1/changes',
        headers: { ...writer, 'x-tenant-id': 'other' },
      });
      expect(denied.statusCode).toBe(403);
    });
  },
  { AUTH: 'keys' },
);
