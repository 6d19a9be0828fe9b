import { expect, it } from 'vitest';
import { DatabaseError } from './database-errors.ts';
import { NodeShares } from './node-shares.ts';
import { parseQuery, type QueryExecutor } from './query.ts';

const statement = parseQuery<{ tenant: string | null }>('statement', 'SELECT $tenant');
const timeout = () => new DatabaseError({ code: '57014' });

/** A cluster with the nodes `a` and `b`. The first letter in a tenant's ID names the tenant's node. */
function cluster(share = 2) {
  let now = 0;
  const running: { tenant: unknown; end(error?: unknown): void }[] = [];
  const events: string[] = [];
  const lookups: string[] = [];
  const shares = new NodeShares(
    share,
    async (tenant) => {
      lookups.push(tenant);
      return tenant.charAt(0);
    },
    {
      nodeHangs: (node) => events.push(`${node} hangs`),
      nodeResponds: (node) => events.push(`${node} responds`),
    },
    () => now,
  );
  const execute: QueryExecutor = (_, { tenant }) =>
    new Promise((resolve, reject) => {
      const end = (error?: unknown) => {
        running.splice(running.indexOf(sent), 1);
        if (error) reject(error);
        else resolve({ rows: [], count: 0 });
      };
      const sent = { tenant, end };
      running.push(sent);
    });
  const startQuery = (executor: QueryExecutor) => (tenant: string | null) =>
    executor(statement, { tenant }).then(
      () => 'done',
      (error) => [error.code, error.status, error.retryAfter],
    );
  return {
    query: startQuery(shares.executor(execute, { waits: true })),
    inTransaction: startQuery(shares.executor(execute, { waits: false })),
    running: () => running.map(({ tenant }) => tenant),
    /** Ends a tenant's oldest statement. */
    end: (tenant: string | null, error?: unknown) =>
      running.find((each) => each.tenant === tenant)?.end(error),
    wait: (ms: number) => {
      now += ms;
    },
    /** Lets the statements that were sent run until they wait. */
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    events,
    lookups,
  };
}

const REJECTED = ['database_unavailable', 503, 2];

it('limits the statements that run on one node, and runs statements on other nodes at the same time', async () => {
  const { query, running, end, nextTurn, lookups } = cluster();
  const outcomes = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', null].map(query);
  await nextTurn();
  expect(running()).toStrictEqual([null, 'a1', 'a2', 'b1', 'b2']);
  for (const tenant of ['a1', 'a2', 'b1', 'b2', null]) end(tenant);
  await nextTurn();
  expect(running()).toStrictEqual(['a3', 'a4']);
  for (const tenant of ['a3', 'a4']) end(tenant);
  expect(new Set(await Promise.all(outcomes))).toStrictEqual(new Set(['done']));
  const again = query('a1');
  await nextTurn();
  end('a1');
  expect(await again).toBe('done');
  expect(lookups).toStrictEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2']);
});

it('rejects statements for a node whose running statements get no result, but serves other nodes', async () => {
  const { query, inTransaction, running, wait, nextTurn, end } = cluster();
  const first = [query('a1'), query('a2')];
  await nextTurn();
  wait(1999);
  const patient = query('a3');
  await nextTurn();
  wait(1);
  expect(await query('a4')).toStrictEqual(REJECTED);
  expect(await inTransaction('a4')).toStrictEqual(REJECTED);
  const other = query('b1');
  await nextTurn();
  expect(running()).toStrictEqual(['a1', 'a2', 'b1']);
  for (const tenant of ['a1', 'b1']) end(tenant);
  await nextTurn();
  for (const tenant of ['a2', 'a3']) end(tenant);
  expect(await Promise.all([...first, patient, other])).toStrictEqual(['done', 'done', 'done', 'done']);
  const next = query('a4');
  await nextTurn();
  end('a4');
  expect(await next).toBe('done');
});

it('sends one statement at a time to a node after timeouts, until one statement succeeds', async () => {
  const { query, inTransaction, running, wait, nextTurn, end, events } = cluster(5);
  const first = [query('a1'), query('a2')];
  await nextTurn();
  wait(10_000);
  for (const tenant of ['a1', 'a2']) end(tenant, timeout());
  expect(await Promise.all(first)).toStrictEqual([
    ['database_busy', 503, 1],
    ['database_busy', 503, 1],
  ]);
  expect(events).toStrictEqual(['a hangs']);
  for (let probes = 0; probes < 2; probes++) {
    const probe = query('a3');
    await nextTurn();
    expect(await Promise.all([query('a1'), inTransaction('a2')])).toStrictEqual([REJECTED, REJECTED]);
    expect(running()).toStrictEqual(['a3']);
    wait(10_000);
    end('a3', timeout());
    expect(await probe).toStrictEqual(['database_busy', 503, 1]);
  }
  const probe = inTransaction('a3');
  await nextTurn();
  end('a3');
  expect(await probe).toBe('done');
  expect(events).toStrictEqual(['a hangs', 'a responds']);
  const all = ['a1', 'a2', 'a3'].map(query);
  await nextTurn();
  expect(running()).toStrictEqual(['a1', 'a2', 'a3']);
  for (const tenant of ['a1', 'a2', 'a3']) end(tenant);
  await Promise.all(all);
});

it('does not suspect a node if one statement is slow but other statements return results', async () => {
  const { query, wait, nextTurn, end, events } = cluster(2);
  const slow = query('a1');
  await nextTurn();
  for (let n = 0; n < 10; n++) {
    wait(1000);
    const quick = query('a2');
    await nextTurn();
    // A statement that ends with an error also counts as a result.
    end('a2', n % 2 === 0 ? undefined : new DatabaseError({ code: '23505' }));
    expect(await quick).toStrictEqual(n % 2 === 0 ? 'done' : ['internal_error', 500, undefined]);
  }
  end('a1', timeout());
  expect(await slow).toStrictEqual(['database_busy', 503, 1]);
  expect(events).toStrictEqual([]);
});

it('does not suspect a node that was idle or that rejects statements immediately', async () => {
  const { query, wait, nextTurn, end, events, running } = cluster(1);
  for (let n = 0; n < 3; n++) {
    wait(60_000);
    const failed = query('a1');
    await nextTurn();
    end('a1', new DatabaseError({ code: '08006' }));
    expect(await failed).toStrictEqual(REJECTED);
  }
  wait(60_000);
  const [first, second] = [query('a1'), query('a2')];
  await nextTurn();
  expect(running()).toStrictEqual(['a1']);
  end('a1');
  await nextTurn();
  end('a2');
  expect(await Promise.all([first, second])).toStrictEqual(['done', 'done']);
  expect(events).toStrictEqual([]);
});
