/** The statements with which a replica serves many streams of all tenants' changes. */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { Services } from '../../src/core/files/services.ts';
import type { ServerSentEvent } from '../../src/core/lib/server-sent-events.ts';
import { changeFeed } from '../../src/features/feed/change-feed.ts';
import { beginFleet } from '../../src/features/feed/fleet-events.ts';
import { FleetLog } from '../../src/features/feed/fleet-log.ts';
import { createSecretScanner } from '../../src/features/secrets/scanner.ts';
import { recordNames } from '../support/record-names.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

describeServiceOnOwnDatabase('streams of all changes', (service) => {
  it('shares the reads among streams, also with different filters', async () => {
    const { database, names } = recordNames(service().database);
    const services = new Services(loadConfig({}), database, createSecretScanner());
    const log = new FleetLog(database);
    await log.maintain(7);
    await run(service(), 'acme', cmd.create('/memories/a', 'x'));
    const start = await beginFleet(log, 'now');
    const ending = new AbortController();
    const feed = services.featureService(changeFeed);
    const received: ServerSentEvent[][] = Array.from({ length: 100 }, () => []);
    const streams = received.map((events, i) => {
      const send = async (event: ServerSentEvent) => void events.push(event);
      const tenants = i < 50 ? undefined : [i < 75 ? 'acme' : 'globex', `tenant-${i}`];
      const options = { limit: 100, content: false, tenants };
      return feed.followAll(start, options)({ signal: ending.signal, send });
    });
    await run(service(), 'acme', cmd.delete('/memories/a'));
    const changes = () => received.map((events) => events.filter(({ data }) => data !== undefined).length);
    const expected = received.map((_, i) => (i < 75 ? 1 : 0));
    await expect.poll(changes, { timeout: 10_000 }).toStrictEqual(expected);
    // There are 51 filters.
    expect(names.filter((name) => name === 'list_changes').length).toBeLessThan(10);
    ending.abort();
    await Promise.all(streams);
    await services.close();
  });
});
