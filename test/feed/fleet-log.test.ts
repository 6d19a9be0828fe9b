import { setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { decodeCursor, encodeCursor } from '../../src/core/lib/cursor.ts';
import { FleetLog, type FleetPosition, fleetPosition } from '../../src/features/feed/fleet-log.ts';
import { fuzzParameters } from '../support/arbitraries.ts';
import { Drafting } from '../support/drafting.ts';
import { createRandom, type Random } from '../support/random.ts';
import { readSnapshot, restore, run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { connectTo, createTestDatabase } from '../support/test-database.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

type Change = [tenant: string, at: string];

/** Returns the position after all changes. Transactions in databases of other tests delay a log's first tick. */
async function startPosition(log: FleetLog): Promise<FleetPosition> {
  for (;;) {
    const position = await log.latest();
    if (position !== undefined) return position;
  }
}

/** Reads all changes after a position, in pages. */
async function readAll(log: FleetLog, from: FleetPosition, limit = 100): Promise<Change[]> {
  const read: Change[] = [];
  for (let position = from; ; ) {
    const page = await log.page(position, limit);
    if (page === undefined) throw new Error('the position is older than the log');
    if (page.changes.length === 0) return read;
    read.push(...page.changes.map(({ tenant, at }): Change => [tenant, at]));
    position = page.position;
  }
}

const CHANGE_TIMES = `SELECT DISTINCT tenant_id, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
  FROM (
    SELECT tenant_id, created_at AS at FROM memory_versions UNION ALL SELECT tenant_id, at FROM tenant_events
  ) AS changes`;

describeServiceOnOwnDatabase("the fleet's change log", (service) => {
  const drafting = new Drafting(service);
  const log = () => new FleetLog(service().database, 0);
  beforeAll(() => log().prune(7));

  it('logs each change by any command once', async () => {
    const [tenant, from] = [freshTenant(), await startPosition(log())];
    await run(
      service(),
      tenant,
      cmd.create('/memories/d/a.md', 'one'),
      cmd.create('/memories/d/b.md', 'one'),
      cmd.replace('/memories/d/a.md', 'one', 'two'),
    );
    const { at } = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.rename('/memories/d', '/memories/e'), cmd.delete('/memories/e'));
    await restore(service(), tenant, at);
    const read = await readAll(log(), from);
    const versions = await service().query(`${CHANGE_TIMES} WHERE tenant_id = $1 ORDER BY 2`, [tenant]);
    expect(read).toStrictEqual(versions.map((row) => [tenant, row.at]));
    expect(read).toHaveLength(7);
  });

  it('returns each change once, for any page size', async () => {
    const from = await startPosition(log());
    const names = [freshTenant(), freshTenant(), freshTenant()];
    for (const name of [...names, ...names, ...names])
      await run(service(), name, cmd.create(`/memories/${crypto.randomUUID()}`, 'x'));
    const all = await readAll(log(), from);
    expect(all).toHaveLength(12);
    for (const limit of [1, 2, 4, 12]) expect(await readAll(log(), from, limit)).toStrictEqual(all);
  });

  it("leaves out drafts' changes, but has a merge's change, and the draft's events", async () => {
    const [tenant, from] = [freshTenant(), await startPosition(log())];
    await run(service(), tenant, cmd.create('/memories/a.md', 'one'));
    const draft = await drafting.create(tenant);
    await run(service(), draft.id, cmd.replace('/memories/a.md', 'one', 'two'));
    await drafting.merge(draft);
    expect((await readAll(log(), from)).map(([name]) => name)).toStrictEqual(Array(5).fill(tenant));
  });

  it('rejects the position of a reader that has not read the forgotten rows', async () => {
    const [tenant, behind] = [freshTenant(), await startPosition(log())];
    await run(service(), tenant, cmd.create('/memories/a.md', 'one'));
    await startPosition(log());
    for (let part = 0; part < 3; part++) {
      await service().query('UPDATE change_log_state SET since = $1::timestamptz', ['2026-01-01T00:00:00Z']);
      await log().prune(7);
      if (part < 2) expect(await readAll(log(), behind)).toHaveLength(2);
    }
    expect(await log().page(behind, 10)).toBeUndefined();
  });

  it('makes a tick only if there are rows that the last one does not see', async () => {
    const tenant = freshTenant();
    const first = await startPosition(log());
    expect(await startPosition(log())).toStrictEqual(first);
    await run(service(), tenant, cmd.create('/memories/a.md', 'one'));
    expect(await startPosition(log())).not.toStrictEqual(first);
  });

  it('rejects all positions after a restore on another server', async () => {
    const [tenant, from] = [freshTenant(), await startPosition(log())];
    await service().query("UPDATE change_ticks SET system = '1'");
    await run(service(), tenant, cmd.create('/memories/a.md', 'one'));
    await log().latest();
    expect(await log().page(from, 10)).toBeUndefined();
    expect(await readAll(log(), await startPosition(log()))).toStrictEqual([]);
  });

  it('stores no rows and no ticks while it is off', async () => {
    const [tenant, from] = [freshTenant(), await startPosition(log())];
    await log().prune(0);
    await run(service(), tenant, cmd.create('/memories/a.md', 'one'));
    expect(await service().query('SELECT FROM change_log')).toStrictEqual([]);
    expect([await log().latest(), await log().oldest(), await log().page(from, 10)]).toStrictEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await log().prune(7);
    const started = await startPosition(log());
    await run(service(), tenant, cmd.create('/memories/b.md', 'one'));
    expect(await readAll(log(), started)).toHaveLength(1);
  });
});

const CREATE = `SELECT outcome FROM memory_create($1, $2, 'text', gen_random_uuid(), true, '{}', NULL, NULL, NULL, 0, 0, $3)`;

describe('the change log under concurrent transactions', () => {
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  /** Databases for two replicas. */
  let replicas: Database[];
  let clients: pg.Client[];
  const logs = () => replicas.map((replica) => new FleetLog(replica, 0));

  beforeAll(async () => {
    own = await createTestDatabase();
    const config = loadConfig({ DATABASE_URL: own.url, DB_POOL_MAX: '4' });
    replicas = await Promise.all([openDatabase(config), openDatabase(config)]);
    clients = await Promise.all(Array.from({ length: 6 }, () => connectTo(own.url)));
    await logs()[0]?.prune(7);
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await Promise.all(replicas.map((replica) => replica.close()));
    await own.drop();
  });

  let files = 0;
  const create = async (client: pg.Client | undefined, tenant: string, waits = true) =>
    (await client?.query(CREATE, [tenant, `/memories/${files++}`, waits]))?.rows[0]?.outcome;

  it('delivers a transaction that commits after a later one', async () => {
    const [log] = logs() as [FleetLog];
    const [one, other] = clients;
    const from = await startPosition(log);
    await one?.query('BEGIN');
    await create(one, 'late');
    await create(other, 'early');
    const page = await log.page(from, 10);
    expect(page?.changes.map(({ tenant }) => tenant)).toStrictEqual(['early', 'early']);
    await one?.query('COMMIT');
    expect((await readAll(log, page?.position ?? from)).map(([tenant]) => tenant)).toStrictEqual([
      'late',
      'late',
    ]);
  });

  it("keeps a tenant's order when an older transaction changes it later, while another one runs", async () => {
    const [log] = logs() as [FleetLog];
    const [one, other, open] = clients;
    const from = await startPosition(log);
    await one?.query('BEGIN');
    await create(one, 'order-a');
    await open?.query('BEGIN');
    await create(open, 'order-c');
    await create(other, 'order-b');
    await create(one, 'order-b');
    await one?.query('COMMIT');
    const before = await readAll(log, from, 1);
    await open?.query('ROLLBACK');
    const after = await readAll(log, from, 1);
    expect(before.map(([tenant]) => tenant)).toStrictEqual([
      'order-a',
      'order-a',
      'order-b',
      'order-b',
      'order-b',
    ]);
    expect(after).toStrictEqual(before);
  });

  it('shows a reader the changes that were committed while another reader made a tick', async () => {
    const [replica] = replicas as [Database];
    let [hold, release] = [() => {}, () => {}];
    const held = new Promise<void>((resolve) => {
      hold = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isFirst = true;
    const log = new FleetLog(
      {
        ...replica,
        query: async (query, params) => {
          const found = await replica.query(query, params);
          if (isFirst && query.name === 'find_unseen_change') {
            isFirst = false;
            hold();
            await released;
          }
          return found;
        },
      },
      0,
    );
    const from = await startPosition(new FleetLog(replica, 0));
    const earlier = log.page(from, 10);
    await held;
    await create(clients[0], 'meanwhile');
    const page = await log.page(from, 10);
    expect(page?.changes.map(({ tenant }) => tenant)).toStrictEqual(['meanwhile', 'meanwhile']);
    release();
    await earlier;
  });

  it('starts only after the transactions that ran when it was turned on', async () => {
    const [log] = logs() as [FleetLog];
    const [one] = clients;
    await log.prune(0);
    await one?.query('BEGIN');
    await create(one, 'unlogged');
    await log.prune(7);
    expect(await log.latest()).toBeUndefined();
    await one?.query('COMMIT');
    await expect(startPosition(log)).resolves.toHaveLength(1);
  });

  const { seed, numRuns } = fuzzParameters(16);

  it.for(Array.from({ length: numRuns }, (_, i) => [seed + i] as const))(
    'delivers every committed change once and in order to every reader (seed %d)',
    { tags: 'random' },
    async ([each], { signal }) => {
      const random = createRandom(each);
      const names = Array.from({ length: 12 }, (_, i) => `r${each}-${i}`);
      const from = await startPosition(logs()[0] as FleetLog);
      let isDone = false;
      const readers = logs().flatMap((log) =>
        [1, 7, 50].map((limit) => readUntil(log, from, limit, () => isDone || signal.aborted)),
      );
      await Promise.all(clients.map((client) => writeRandomly(client, names, random)));
      isDone = true;
      const { rows } = await (clients[0] as pg.Client).query(`${CHANGE_TIMES} WHERE tenant_id = ANY ($1)`, [
        names,
      ]);
      const committed = groupByTenant(
        rows.map(({ tenant_id: tenant, at }): Change => [tenant, at]).sort(byTime),
      );
      for (const read of await Promise.all(readers)) expect(groupByTenant(read)).toStrictEqual(committed);
    },
  );

  /** Runs transactions that change one or several tenants, some of them for long, and rolls some of them back. */
  async function writeRandomly(client: pg.Client, names: readonly string[], random: Random): Promise<void> {
    for (let transaction = 0; transaction < 40; transaction++) {
      const writes = 1 + random.below(5);
      await client.query('BEGIN');
      for (let write = 0; write < writes; write++) {
        // A transaction that holds the lock of a tenant never waits for another tenant.
        await create(client, random.of(names), write === 0);
        for (let rounds = random.below(8) ** 2; rounds > 0; rounds--) await setImmediate();
      }
      await client.query(random.below(5) === 0 ? 'ROLLBACK' : 'COMMIT');
    }
  }
});

/** Reads changes in pages until `isDone` and nothing more is found. Sends each position as a cursor. */
async function readUntil(
  log: FleetLog,
  from: FleetPosition,
  limit: number,
  isDone: () => boolean,
): Promise<Change[]> {
  const read: Change[] = [];
  let position = from;
  for (;;) {
    const wasDone = isDone();
    const page = await log.page(position, limit);
    if (page === undefined) throw new Error('the position is older than the log');
    read.push(...page.changes.map(({ tenant, at }): Change => [tenant, at]));
    if (wasDone && page.changes.length === 0) return read;
    const decoded = decodeCursor(fleetPosition, encodeCursor(page.position));
    if (decoded === undefined) throw new Error('the cursor cannot be decoded');
    position = decoded;
  }
}

const byTime = ([, one]: Change, [, other]: Change) => (one < other ? -1 : 1);

/** Groups times by tenant, in the given order. */
function groupByTenant(changes: readonly Change[]): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const [tenant, at] of changes) groups[tenant] = [...(groups[tenant] ?? []), at];
  return groups;
}
