import { expect, it } from 'vitest';
import { BatchQueue } from './batch-queue.ts';
import { type BatchQuery, parseQuery, type QueryExecutor } from './query.ts';
import { BatchLimits } from './running-statements.ts';

const batch: BatchQuery = parseQuery(
  'reads',
  'SELECT item FROM unnest($tenant::text[]) WITH ORDINALITY AS c (tenant, item)',
);
const query = parseQuery<{ tenant: string }, { tenant: string }>('read', 'SELECT $tenant AS tenant', batch);

it("runs a tenant's calls one by one if the batch returned nothing for them", async () => {
  const running = new Map<string, number>();
  let most = 0;
  let mostOfOne = 0;
  const change = (tenant: string, by: number) => {
    running.set(tenant, (running.get(tenant) ?? 0) + by);
    most = Math.max(
      most,
      [...running.values()].reduce((sum, each) => sum + each),
    );
    mostOfOne = Math.max(mostOfOne, ...running.values());
  };
  const single = (async (_, { tenant }) => {
    change(String(tenant), 1);
    await new Promise(setImmediate);
    change(String(tenant), -1);
    return { rows: [{ tenant }], count: 1 };
  }) as QueryExecutor;
  const batched = (async () => ({ rows: [], count: 0 })) as QueryExecutor;
  const queue = new BatchQueue({ batched, single }, new BatchLimits(32, 1));

  const tenants = Array.from({ length: 12 }, (_, i) => `t${i % 3}`);
  const results = await Promise.all(tenants.map((tenant) => queue.query(query, { tenant })));
  expect(results.map(({ rows }) => rows[0]?.tenant)).toStrictEqual(tenants);
  expect([mostOfOne, most]).toStrictEqual([1, 3]);
});

it.each([
  ['side by side', false, 3],
  ['one at a time for results in order', true, 1],
])('runs statements %s', async (_, inOrder, most) => {
  let running = 0;
  const finish: (() => void)[] = [];
  const batched = ((_statement, { tenant }) => {
    running++;
    const rows = (tenant as string[]).map((_each, i) => ({ item: i + 1 }) as never);
    return new Promise((resolve) => finish.push(() => resolve({ rows, count: rows.length })));
  }) as QueryExecutor;
  const queue = new BatchQueue({ batched, single: batched }, new BatchLimits(32, 4));
  const each = { ...query, batch: { ...batch, inOrder } };
  const order: string[] = [];
  const calls: Promise<unknown>[] = [];
  for (const tenant of ['a', 'b', 'c']) {
    calls.push(queue.query(each, { tenant }).then(() => order.push(tenant)));
    await new Promise(setImmediate);
  }
  expect(running).toBe(most);
  while (order.length < calls.length) {
    finish.shift()?.();
    // The next result arrives after the queue's own immediate, as from a server.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  expect(order).toStrictEqual(['a', 'b', 'c']);
});
