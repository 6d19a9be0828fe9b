/** All tenants' changes, from the change log. */
import { expect, it } from 'vitest';
import { FleetLog } from '../../src/features/feed/fleet-log.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { startLog } from '../support/change-log.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

interface Page {
  events: {
    cursor: string;
    type: string;
    tenant: string;
    version: { id: string; path: string };
    content?: string;
  }[];
  cursor: string;
  has_more: boolean;
}

const FILE_EVENTS = 'type=created&type=modified&type=renamed&type=deleted&type=restored&type=redacted';

describeServiceOnOwnDatabase("all tenants' changes", (service) => {
  const admin = useAdmin(service);
  const get = async (query: string, key?: string) => {
    const { status, body } = await admin().call(
      'GET',
      `/changes${query.includes('type=') ? query : `${query}&${FILE_EVENTS}`}`,
      key === undefined ? {} : { key },
    );
    return { status, body: body as unknown as Page & { code: string; detail: string } };
  };
  const read = async (query: string, key?: string): Promise<Page> => {
    const { status, body } = await get(query, key);
    expect([status, body]).toMatchObject([200, {}]);
    return body;
  };
  /** Reads pages until there are as many events, because the log shows a change with a delay. */
  const readAll = async (after: string, limit: number, count: number, key?: string) => {
    const events: Page['events'] = [];
    for (let cursor = after; events.length < count; ) {
      const page = await read(`?after=${cursor}&limit=${limit}`, key);
      expect(page.events.length).toBeLessThanOrEqual(limit);
      events.push(...page.events);
      cursor = page.cursor;
    }
    return events;
  };
  const texts = (events: Page['events']) =>
    events.map(({ tenant, type, version }) => `${tenant} ${type} ${version.path}`);

  it('lists the changes to each tenant in order, page by page', async () => {
    await startLog(new FleetLog(service().database));
    const { cursor: start } = await read('?after=now');
    const files = Array.from({ length: 12 }, (_, i) => cmd.create(`/memories/d/f${i}`, 'x'));
    await run(service(), 'acme', ...files, cmd.rename('/memories/d', '/memories/e'));
    await run(service(), 'globex', cmd.create('/memories/a', 'x'), cmd.delete('/memories/a'));
    await run(service(), 'acme', cmd.replace('/memories/e/f1', 'x', 'y'));
    for (const limit of [1, 5, 100]) {
      const events = await readAll(start, limit, 27);
      for (const tenant of ['acme', 'globex']) {
        const own = await admin().call('GET', `/tenants/${tenant}/changes?limit=1000&${FILE_EVENTS}`);
        const expected = (own.body as unknown as Page).events;
        expect(texts(events.filter((event) => event.tenant === tenant))).toStrictEqual(texts(expected));
      }
      expect(events).toHaveLength(12 + 12 + 2 + 1);
      const [, second] = events;
      expect(texts((await read(`?after=${second?.cursor}&limit=2`)).events)).toStrictEqual(
        texts(events.slice(2, 4)),
      );
    }
    const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: ['globex'] });
    expect(texts(await readAll(start, 2, 2, key))).toStrictEqual([
      'globex created /memories/a',
      'globex deleted /memories/a',
    ]);
    expect((await read(`?after=${start}&tenant=acme`, key)).events).toStrictEqual([]);
    expect(
      texts((await read(`?after=${start}&tenant=acme&type=modified&content=true`)).events),
    ).toStrictEqual(['acme modified /memories/e/f1']);
    expect((await read(`?after=${start}&type=modified&content=true`)).events).toMatchObject([
      { content: 'y' },
    ]);
  });

  it('rejects a position that is not valid, and reading while the log is off', async () => {
    expect(await get('?after=x')).toMatchObject({ status: 400 });
    await startLog(new FleetLog(service().database));
    const { cursor } = await read('?after=now');
    await new FleetLog(service().database).maintain(0);
    expect(await get('?after=now')).toMatchObject({
      status: 409,
      body: {
        detail:
          "The log of all tenants' changes is off (CHANGE_LOG_DAYS=0), or was turned on seconds ago. Read each tenant's changes, or turn it on and try again.",
      },
    });
    expect(await get(`?after=${cursor}`)).toMatchObject({ status: 410, body: { code: 'changes_expired' } });
  });
});
