/** Watchers in a process, and the statements that their checks send. */
import { expect, it } from 'vitest';
import type { Database } from '../../src/core/database/database.ts';
import { type Changes, Watches } from '../../src/core/files/watches.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { recordNames } from '../support/record-names.ts';
import { toRights } from '../support/rights-client.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

/** Creates watches without a timer, so that all checks are the test's. */
function createWatches(database: Database): Watches {
  const watches = new Watches(database);
  watches.close();
  return watches;
}

describeService('watches', (service) => {
  it('reports no changes after the tenant was deleted and created again', async () => {
    const { database } = service();
    const [tenants, watches] = [new Tenants(database), createWatches(database)];
    const tenant = freshTenant('replaced');
    await tenants.create(tenant);
    const { createdAt = null } = (await tenants.find(tenant)) ?? {};
    const seen: Changes[] = [];
    await watches.watch({ tenant, createdAt, paths: ['/memories/a'] }, (each) => seen.push(each));
    await service().execute(cmd.create('/memories/a', 'x'), { tenant });
    await watches.check();
    expect(seen).toHaveLength(1);
    await tenants.delete(tenant);
    await tenants.create(tenant);
    await service().execute(cmd.create('/memories/a', 'of the new customer'), { tenant });
    await watches.check();
    expect(seen).toHaveLength(1);
    const late = watches.watch({ tenant, createdAt, paths: [] }, (each) => seen.push(each));
    await expect(late).rejects.toMatchObject({ reason: 'tenant_replaced' });
  });

  it('reads a changed tenant once, and reports to each watcher only the paths that it watches', async () => {
    const { database, names } = recordNames(service().database);
    const watches = createWatches(database);
    const [changed, quiet] = [freshTenant('changed'), freshTenant('quiet')];
    const run = (tenant: string, input: object) => service().execute(input, { tenant });
    for (const tenant of [changed, quiet]) await run(tenant, cmd.create('/memories/0', 'x'));
    const seen: Changes[][] = Array.from({ length: 100 }, () => []);
    const stops = await Promise.all(
      seen.map((changes, i) =>
        watches.watch({ tenant: changed, createdAt: null, paths: [`/memories/${i}`] }, (each) =>
          changes.push(each),
        ),
      ),
    );
    const elsewhere: Changes[] = [];
    await watches.watch({ tenant: quiet, createdAt: null, paths: ['/memories/0'] }, (each) =>
      elsewhere.push(each),
    );
    await run(changed, cmd.replace('/memories/0', 'x', 'y'));
    await run(changed, cmd.create('/memories/1', 'x'));
    stops[2]?.();
    names.length = 0;
    await watches.check();
    expect(names.sort()).toStrictEqual(['last_change', 'last_change', 'watched_state']);
    const listOnly = [{ paths: [], isListChanged: true }];
    expect(seen.slice(0, 4)).toStrictEqual([
      [{ paths: ['/memories/0'], isListChanged: true }],
      [{ paths: ['/memories/1'], isListChanged: true }],
      [],
      listOnly,
    ]);
    expect(seen.slice(3).every((changes) => changes.length === 1)).toBe(true);
    expect(elsewhere).toStrictEqual([]);
    names.length = 0;
    await watches.check();
    expect(names).toStrictEqual(['last_change', 'last_change']);
    for (const stop of stops) stop();
    names.length = 0;
    await watches.check();
    expect(names).toStrictEqual(['last_change']);
  });

  it('reports no changes to hidden files, and reads the files once for watchers with the same rights', async () => {
    const { database, names } = recordNames(service().database);
    const watches = createWatches(database);
    const tenant = freshTenant('partial');
    const run = (input: object) => service().execute(input, { tenant });
    await run(cmd.create('/memories/secret/a', 'x'));
    const seen: Changes[] = [];
    const rights = toRights({ '/memories/secret': 'none' });
    for (const each of [undefined, rights, [...rights]])
      await watches.watch({ tenant, createdAt: null, paths: ['/memories'], rights: each }, (changes) =>
        seen.push(changes),
      );
    const check = async (...inputs: object[]) => {
      for (const input of inputs) await run(input);
      seen.length = 0;
      names.length = 0;
      await watches.check();
      return [...seen];
    };
    const [list, text] = [true, false].map((isListChanged) => ({ paths: ['/memories'], isListChanged }));
    const hidden = [cmd.create('/memories/secret/b', 'x'), cmd.replace('/memories/secret/a', 'x', 'y')];
    expect(await check(...hidden)).toStrictEqual([list]);
    expect(names.sort()).toStrictEqual(['last_change', 'watched_state', 'watched_state']);
    expect(await check(cmd.create('/memories/c', 'x'))).toStrictEqual([list, list, list]);
    expect(await check(cmd.replace('/memories/c', 'x', 'y'))).toStrictEqual([text, text, text]);
    expect(await check(cmd.rename('/memories/secret/a', '/memories/a'))).toStrictEqual([list, list, list]);
    expect(await check(cmd.delete('/memories/secret'))).toStrictEqual([list]);
    expect(await check(cmd.delete('/memories/a'))).toStrictEqual([list, list, list]);
  });
});
