/**
 * Simultaneous writes that share statements without affecting each other.
 *
 * @module-tag long-on-pglite
 */
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { executorOn } from '../../src/core/database/pg.ts';
import type { ConnectionPool } from '../../src/core/database/pool.ts';
import { parseQuery, type QueryExecutor, type Value } from '../../src/core/database/query.ts';
import { BatchLimits } from '../../src/core/database/running-statements.ts';
import type { CallFunction, TypedWriteFunction } from '../../src/core/files/write-function.ts';
import { WriteQueue } from '../../src/core/files/write-queue.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import {
  connectTo,
  createTestDatabase,
  lockWait,
  openPool,
  openServicePool,
  skipOnCitus,
} from '../support/test-database.ts';
import { describeService, freshTenant, startService } from '../support/test-service.ts';

type Params = {
  tenant: string;
  keyHash: null;
  requestHash: null;
  result: string;
  createdAt: null;
};

/** A test function that divides 100 by the length of its result and locks its tenant like every write. */
const DIVIDE = `
CREATE FUNCTION test_divide(p_tenant text, p_result text, p_wait boolean, OUT outcome text, OUT data jsonb)
LANGUAGE plpgsql AS $$
BEGIN
  outcome := (memory_open_write(p_tenant, 1, NULL, NULL, p_wait)).outcome;
  IF outcome IS NULL THEN
    IF p_result = 'kill' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
    outcome := 'divided';
    data := jsonb_build_object('by', 100 / length(p_result));
  END IF;
END $$`;

const divide: TypedWriteFunction<Params, { kind: 'divided'; by: number }> = {
  name: 'test_divide',
  ofCalls: ['tenant', 'result'],
  mixesTenants: true,
  single: parseQuery<Record<string, Value>, { item: number; outcome: string; data: null }>(
    'test_divide',
    'SELECT 1 AS item, f.outcome, f.data FROM test_divide($tenant::text, $result::text, $wait::boolean) AS f',
  ),
  batch: parseQuery<Record<string, Value>, { item: number; outcome: string; data: null }>(
    'test_divide_batch',
    `SELECT c.item::integer, f.outcome, f.data
     FROM unnest($tenant::text[], $result::text[]) WITH ORDINALITY AS c (tenant, result, item),
       LATERAL test_divide(c.tenant, c.result, $wait::boolean) AS f`,
  ),
};

describe('the write queue', () => {
  skipOnCitus('there are no batches on Citus');
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let pool: pg.Pool;
  let servicePool: ConnectionPool;
  /** The number of calls in each statement, and whether the statement waits for locks. */
  let sent: { calls: number; wait: boolean }[] = [];
  let call: CallFunction;

  const createQueue = (size: number) => {
    const onPool = executorOn(servicePool);
    const countedQuery: QueryExecutor = (each, params) => {
      const { tenant, wait } = params as unknown as { tenant: string | string[]; wait: boolean };
      sent.push({ calls: Array.isArray(tenant) ? tenant.length : 1, wait });
      return onPool(each, params);
    };
    return new WriteQueue({ batched: countedQuery, single: countedQuery }, new BatchLimits(size, 1));
  };
  const createParams = (tenant: string, result: string): Params => ({
    tenant,
    result,
    keyHash: null,
    requestHash: null,
    createdAt: null,
  });
  const callAll = (calls: [tenant: string, result: string][]) =>
    Promise.allSettled(calls.map(([tenant, result]) => call(divide, createParams(tenant, result))));
  const dividedResult = (by: number) => ({ status: 'fulfilled', value: { kind: 'divided', by } });

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = openPool(database.url);
    servicePool = openServicePool(database.url);
    await pool.query(DIVIDE);
    await pool.query("INSERT INTO tenants (id) VALUES ('a'), ('b'), ('c')");
  });
  beforeEach(() => {
    sent = [];
    ({ call } = createQueue(8));
  });
  afterAll(async () => {
    await servicePool.end();
    await pool.end();
    await database.drop();
  });

  it('sends simultaneous calls in one statement, even several calls for one tenant', async () => {
    const outcomes = await callAll([
      ['a', 'x'],
      ['a', 'xx'],
      ['b', 'xxxx'],
      ['a', 'xxxxx'],
    ]);
    expect(outcomes).toStrictEqual([
      dividedResult(100),
      dividedResult(50),
      dividedResult(25),
      dividedResult(20),
    ]);
    expect(sent).toStrictEqual([{ calls: 4, wait: false }]);
  });

  it('sends at most a full batch in one statement, and one statement per tenant at a time', async () => {
    await callAll(Array.from({ length: 20 }, () => ['a', 'x']));
    expect(sent.map(({ calls }) => calls)).toStrictEqual([8, 8, 4]);
    sent = [];
    ({ call } = createQueue(1));
    await callAll(Array.from({ length: 3 }, () => ['a', 'x']));
    expect(sent).toStrictEqual(Array(3).fill({ calls: 1, wait: true }));
  });

  it("sends other tenants' calls while a tenant's statement runs, but delays that tenant's calls", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const onPool = executorOn(servicePool);
    const tenants: Value[] = [];
    const run: QueryExecutor = async (statement, params) => {
      tenants.push(params.tenant as Value);
      if (tenants.length === 1) await held;
      return onPool(statement, params);
    };
    const queue = new WriteQueue({ batched: run, single: run }, new BatchLimits(8, 2));
    const first = queue.call(divide, createParams('a', 'x'));
    await new Promise(setImmediate);
    const sameTenant = queue.call(divide, createParams('a', 'xx')).then(release);
    expect(await queue.call(divide, createParams('b', 'x'))).toStrictEqual({ kind: 'divided', by: 100 });
    release();
    await Promise.all([first, sameTenant]);
    expect(tenants).toStrictEqual(['a', 'b', 'a']);
  });

  it("sends a large call alone, and batches the other tenants' calls", async () => {
    const large = 'x'.repeat(40_000);
    const outcomes = await callAll([
      ['a', large],
      ['b', 'x'],
      ['c', 'x'],
    ]);
    expect(outcomes).toStrictEqual([dividedResult(0), dividedResult(100), dividedResult(100)]);
    expect(sent).toStrictEqual([
      { calls: 1, wait: true },
      { calls: 2, wait: false },
    ]);
  });

  it('repeats each call alone after a failed statement, so that only the invalid call fails', async () => {
    const outcomes = await callAll([
      ['a', 'x'],
      ['a', ''],
      ['b', 'xx'],
    ]);
    expect(outcomes).toMatchObject([
      dividedResult(100),
      { status: 'rejected', reason: { sqlState: '22012' } },
      dividedResult(50),
    ]);
    expect(sent.map(({ calls }) => calls).sort()).toStrictEqual([1, 1, 1, 3]);
  });

  it('repeats no call after a lost connection, because the calls may have been executed', async () => {
    const outcomes = await callAll([
      ['a', 'x'],
      ['b', 'kill'],
    ]);
    for (const outcome of outcomes) {
      expect(outcome.status).toBe('rejected');
      expect((outcome as PromiseRejectedResult).reason).toMatchObject({ isUnavailable: true });
    }
    expect(sent).toHaveLength(1);
    expect(await callAll([['a', 'x']])).toStrictEqual([dividedResult(100)]);
  });

  it("skips a tenant that another session has locked, and sends that tenant's calls together later", async () => {
    const other = await pool.connect();
    try {
      await other.query("BEGIN; SELECT FROM tenants WHERE id = 'a' FOR NO KEY UPDATE");
      const locked = callAll([
        ['a', 'x'],
        ['a', 'xx'],
      ]);
      expect(await callAll([['b', 'x']])).toStrictEqual([dividedResult(100)]);
      await lockWait(database.url);
      expect(sent).toStrictEqual([
        { calls: 3, wait: false },
        { calls: 2, wait: true },
      ]);
      await other.query('COMMIT');
      expect(await locked).toStrictEqual([dividedResult(100), dividedResult(50)]);
    } finally {
      other.release(true);
    }
  });

  it("waits only once for a tenant's lock, not once per call", async () => {
    const other = await pool.connect();
    const impatient = openServicePool(database.url, { options: '-c lock_timeout=50' });
    try {
      await other.query("BEGIN; SELECT FROM tenants WHERE id = 'a' FOR NO KEY UPDATE");
      const run = executorOn(impatient);
      const queue = new WriteQueue({ batched: run, single: run }, new BatchLimits(8, 1));
      const outcomes = await Promise.allSettled([
        queue.call(divide, createParams('a', 'x')),
        queue.call(divide, createParams('a', 'x')),
      ]);
      expect(outcomes.map((each) => (each as PromiseRejectedResult).reason.sqlState)).toStrictEqual([
        '55P03',
        '55P03',
      ]);
    } finally {
      other.release(true);
      await impatient.end();
    }
  });

  it('runs exclusive work on a tenant in queue order', async () => {
    const queue = createQueue(8);
    const order: string[] = [];
    const note = (what: string) => (): void => {
      order.push(what);
    };
    const work = (name: string) => async () => {
      note(`${name} begins`)();
      await pool.query('SELECT 1');
      note(`${name} ends`)();
    };
    await Promise.all([
      queue.call(divide, createParams('a', 'x')),
      queue.runExclusively('a', work('one')),
      queue.runExclusively('a', work('two')),
      queue.runExclusively('b', async () => note('another tenant')()),
    ]);
    expect(order).toStrictEqual(['another tenant', 'one begins', 'one ends', 'two begins', 'two ends']);
    await expect(queue.runExclusively('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await queue.runExclusively('a', async () => 'done')).toBe('done');
  });
});

it('deletes only the files that are in the directory after the delete has waited for renames', async () => {
  const database = await createTestDatabase();
  const service = await startService('postgres', { DATABASE_URL: database.url });
  const other = await connectTo(database.url);
  try {
    const tenant = freshTenant('delete');
    await service.execute(cmd.create('/memories/a/1', 'one'), { tenant });
    await service.execute(cmd.create('/memories/a/2', 'two'), { tenant });
    await other.query('BEGIN');
    await other.query('SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE', [tenant]);
    const deleted = service.execute(cmd.delete('/memories/a'), { tenant });
    await lockWait(database.url);
    const rename = (from: string, to: string) =>
      other.query(
        `SELECT outcome FROM memory_rename(
          $1, $2, $3, gen_random_uuid(), NULL, NULL, NULL, NULL, 1024, 20, 0, 30, 0, true
        )`,
        [tenant, from, to],
      );
    await rename('/memories/a', '/memories/b');
    await rename('/memories/b/1', '/memories/a/1');
    await other.query('COMMIT');
    expect((await deleted).content).toBe('Successfully deleted /memories/a');
    expect([...(await readTree(service, tenant)).keys()].sort()).toStrictEqual([
      '/memories',
      '/memories/b',
      '/memories/b/2',
    ]);
    await assertInvariants(service);
  } finally {
    await other.end();
    await service.close();
    await database.drop();
  }
});

describeService('simultaneous writes in one tenant', (service) => {
  it('applies all creates and edits that one tenant sends simultaneously', async () => {
    const tenant = freshTenant('mixed');
    const numbers = Array.from({ length: 40 }, (_, n) => n);
    await service().execute(cmd.create('/memories/f', ''), { tenant });
    const answers = await Promise.all(
      numbers.flatMap((n) => [
        service().execute(cmd.create(`/memories/d${n % 3}/f${n}`, `text ${n}`), { tenant }),
        service().execute(cmd.insert('/memories/f', 0, `line ${n}`), { tenant }),
      ]),
    );
    expect(answers.filter(({ is_error }) => is_error !== false)).toStrictEqual([]);
    const tree = await readTree(service(), tenant);
    expect([...tree.values()].filter((content) => content !== null)).toHaveLength(41);
    expect(tree.get('/memories/f')?.split('\n')).toHaveLength(41);
    await assertInvariants(service());
  });
});
