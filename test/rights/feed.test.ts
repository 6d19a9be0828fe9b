/** Rights by path in the change feed: hidden changes show in no event, position, or count. */
import { expect, it } from 'vitest';
import { eraseVersion } from '../../src/core/history/redact.ts';
import { OPERATOR } from '../support/restore-run.ts';
import { type KeyClient, keyClient, tenantWithFiles } from '../support/rights-client.ts';
import { cmd } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';

interface Page {
  events: { type: string; cursor: string; version: { memory_id: string; path: string | null } }[];
  cursor: string;
  has_more: boolean;
}

const changes = async ({ request }: KeyClient, query = '') =>
  (await request('GET', `/v1/changes?${query}`)) as Page;

describeService(
  'the change feed for a key with hidden paths',
  (service) => {
    const open = async (files: Record<string, string> = {}) => {
      const all = await tenantWithFiles(service(), files);
      const limited = await keyClient(service(), all.tenant, { '/memories/secret': 'none' });
      return { all, limited };
    };

    it('keeps its position, and has no more to read, after hidden changes only', async () => {
      const { all, limited } = await open();
      for (const name of ['a', 'b', 'c']) await all.send(cmd.create(`/memories/${name}.md`, name));
      const before = await changes(limited);
      const last = await changes(limited, `limit=1&after=${before.events.at(-2)?.cursor}`);
      expect(last).toStrictEqual({ ...before, events: before.events.slice(-1) });
      for (const name of ['a', 'b', 'c']) await all.send(cmd.create(`/memories/secret/${name}.md`, name));
      expect(await changes(limited)).toStrictEqual(before);
      expect(await changes(limited, `after=${before.cursor}`)).toStrictEqual({ ...before, events: [] });
      expect(await changes(limited, `limit=1&after=${before.events.at(-2)?.cursor}`)).toStrictEqual(last);
    });

    it('says that there is more to read only if an event is seen', async () => {
      const { all, limited } = await open();
      const { cursor } = await changes(limited, 'after=now');
      for (const path of ['a.md', 'secret/b.md', 'c.md', 'secret/d.md'])
        await all.send(cmd.create(`/memories/${path}`, 'x'));
      const pages = [];
      for (let after = cursor, hasMore = true; hasMore; ) {
        const page = await changes(limited, `limit=1&after=${after}`);
        pages.push(page.events.map(({ version }) => version.path));
        expect(page.cursor).toBe(page.events.at(-1)?.cursor);
        after = page.cursor;
        hasMore = page.has_more;
      }
      expect(pages).toStrictEqual([['/memories/a.md'], ['/memories/c.md']]);
    });

    it('reports redactions of files whose paths are all seen', async () => {
      const { all, limited } = await open();
      const moved = '/memories/moved.md';
      for (const path of ['/memories/a.md', '/memories/secret/b.md', '/memories/secret/c.md'])
        await all.send(cmd.create(path, 'one'));
      for (const path of ['/memories/a.md', '/memories/secret/b.md', '/memories/secret/c.md'])
        await all.send(cmd.replace(path, 'one', 'two'));
      await all.send(cmd.rename('/memories/secret/c.md', moved));
      await all.send(cmd.replace(moved, 'two', 'three'));
      const { events } = await changes(all);
      const { cursor } = await changes(limited, 'after=now');
      const { database } = service();
      for (const { type, version } of events as { type: string; version: { id?: string } }[])
        if (type === 'created') await eraseVersion(database, all.tenant, version.id ?? '', OPERATOR.origin);
      const redactions = async (client: KeyClient, after: string) =>
        (await changes(client, `after=${after}`)).events.map(({ type, version: { memory_id, path } }) => ({
          ...{ type, memory_id, path },
        }));
      const redacted = events
        .filter(({ type }) => type === 'created')
        .map(({ version: { memory_id } }) => ({ type: 'redacted', memory_id, path: null }));
      expect(await redactions(all, cursor)).toStrictEqual(redacted);
      expect(await redactions(limited, cursor)).toStrictEqual(redacted.slice(0, 1));
    });
  },
  { AUTH: 'keys' },
);
