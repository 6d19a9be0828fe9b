import { expect, it } from 'vitest';
import type { Services } from '../../src/core/files/services.ts';
import type { ServerSentEvent } from '../../src/core/lib/server-sent-events.ts';
import { ChangeFeed } from '../../src/features/feed/change-feed.ts';
import { Changes } from '../../src/features/feed/changes.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

function newSignal<T = void>() {
  let resolve = (_value: T) => {};
  const promise = new Promise<T>((each) => {
    resolve = each;
  });
  return { promise, resolve };
}

describeService('the followers of a tenant', (service) => {
  it('sends a change that was committed while another follower read', async () => {
    const { database } = service();
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/a', '1'));
    const [held, released, first] = [newSignal(), newSignal(), newSignal<ServerSentEvent>()];
    let isHolding = false;
    const read: string[] = [];
    const query: typeof database.query = async (statement, params) => {
      const found = await database.query(statement, params);
      read.push(statement.name);
      if (isHolding && statement.name === 'list_changes') {
        isHolding = false;
        held.resolve();
        await released.promise;
      }
      return found;
    };
    const wakes: (() => Promise<void>)[] = [];
    const follow = (_tenant: string, wake: () => Promise<void>) => {
      wakes.push(wake);
      return () => {};
    };
    const feed = new ChangeFeed({
      database: { ...database, query },
      watches: { follow },
    } as unknown as Services);
    const start = await new Changes(database).begin(tenant, 'now');
    const ending = new AbortController();
    /** Follows the tenant until the test ends. */
    const open = (send: (event: ServerSentEvent) => void) =>
      feed.follow(tenant, start, { limit: 10, content: false })({
        signal: ending.signal,
        send: async (event) => send(event),
      });
    const other = open((event) => {
      if (event.data !== undefined) first.resolve(event);
    });
    await expect.poll(() => read).toContain('feed_state');
    isHolding = true;
    const one = open(() => {});
    await held.promise;
    await run(service(), tenant, cmd.create('/memories/b', '1'));
    await wakes[0]?.();
    released.resolve();
    expect(await first.promise).toMatchObject({
      data: { type: 'created', version: { path: '/memories/b' } },
    });
    ending.abort();
    await Promise.all([one, other]);
  });
});
