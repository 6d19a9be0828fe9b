/**
 * Simultaneous calls that share database statements without affecting each other.
 *
 * @module-tag long-on-pglite
 */
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BatchQueue } from '../../src/core/database/batch-queue.ts';
import { DatabaseError } from '../../src/core/database/database-errors.ts';
import { executorOn, plannerOptions } from '../../src/core/database/pg.ts';
import type { ConnectionPool } from '../../src/core/database/pool.ts';
import {
  type BatchQuery,
  parseQuery,
  type Query,
  type QueryExecutor,
  type Value,
} from '../../src/core/database/query.ts';
import { BatchLimits } from '../../src/core/database/running-statements.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { genericPlan, tableScans } from '../support/query-plan.ts';
import { batchQueries } from '../support/statements.ts';
import { cmd } from '../support/step-table.ts';
import { connectTo, createTestDatabase, openServicePool, skipOnCitus } from '../support/test-database.ts';
import { describeService, freshTenant, type Service, startService } from '../support/test-service.ts';

/** Both statements return their kind and the text, so that a result identifies its statement and call. */
type Echo = Query<{ text: string }, { by: string; text: string }>;

const echoWith = (sql: string, name = 'many'): Echo => {
  const batch: BatchQuery = parseQuery<Record<string, Value>, { item: number }>(name, sql);
  return parseQuery('one', "SELECT 'one' AS by, $text::text AS text", batch);
};
const CALLS = 'unnest($text::text[]) WITH ORDINALITY AS c (text, item)';
const echo = echoWith(`SELECT item::integer, 'many' AS by, text FROM ${CALLS}`);

describe('batches of calls', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let pool: ConnectionPool;
  let sent: string[] = [];
  let run: QueryExecutor;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = openServicePool(database.url);
    const onPool = executorOn(pool);
    const countedQuery: QueryExecutor = (each, params) => {
      sent.push(each.name);
      return onPool(each, params);
    };
    ({ query: run } = new BatchQueue({ batched: countedQuery, single: countedQuery }, new BatchLimits(8, 1)));
  });
  beforeEach(() => {
    sent = [];
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const readEchoes = async (which: Echo, texts: string[]) =>
    (await Promise.all(texts.map((text) => run(which, { text })))).map(({ rows, count }) => [
      rows[0]?.by,
      rows[0]?.text,
      count,
    ]);

  it('returns a result for each call in a batch and respects the maximum batch size', async () => {
    const texts = Array.from({ length: 20 }, (_, i) => `"text", {${i}} \\ ${'é😀'.repeat(i)}`);
    expect(await readEchoes(echo, texts)).toStrictEqual(texts.map((text) => ['many', text, 1]));
    expect(sent).toStrictEqual(['many', 'many', 'many']);
  });

  it('sends a single call without a delay', async () => {
    expect(await readEchoes(echo, ['alone'])).toStrictEqual([['many', 'alone', 1]]);
    expect(sent).toStrictEqual(['many']);
  });

  it('runs the single statement for each call that gets no row from the batch', async () => {
    const left = echoWith(
      `SELECT item::integer, 'many' AS by, text FROM ${CALLS} WHERE text <> 'left' ORDER BY item DESC`,
      'some',
    );
    expect(await readEchoes(left, ['a', 'left', 'b', 'left'])).toStrictEqual([
      ['many', 'a', 1],
      ['one', 'left', 1],
      ['many', 'b', 1],
      ['one', 'left', 1],
    ]);
    expect(sent).toStrictEqual(['some', 'one', 'one']);
  });

  it('repeats each call alone after a failed batch, so that only the invalid call fails', async () => {
    const quotients = `SELECT item::integer, (100 / length(text))::text AS text FROM ${CALLS}`;
    const wrong = parseQuery<{ text: string }, { by: string; text: string }>(
      'quotient',
      'SELECT (100 / length($text::text))::text AS text',
      echoWith(quotients, 'quotients').batch,
    );
    const outcomes = await Promise.allSettled(['a', '', 'bb'].map((text) => run(wrong, { text })));
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { rows: [{ text: '100' }] } },
      { status: 'rejected', reason: { sqlState: '22012' } },
      { status: 'fulfilled', value: { rows: [{ text: '50' }] } },
    ]);
  });

  it('repeats no call from a batch after a lost connection, because the calls may have been executed', async () => {
    const lost = echoWith(
      `SELECT item::integer FROM ${CALLS}, pg_terminate_backend(pg_backend_pid())`,
      'lost',
    );
    const outcomes = await Promise.allSettled(['a', 'b'].map((text) => run(lost, { text })));
    for (const outcome of outcomes) {
      expect(outcome.status).toBe('rejected');
      expect((outcome as PromiseRejectedResult).reason).toMatchObject({ isUnavailable: true });
    }
    expect(sent).toStrictEqual(['lost']);
    expect(await readEchoes(echo, ['after'])).toStrictEqual([['many', 'after', 1]]);
  });

  it('runs the single statement for each call if the batch gets no connection', async () => {
    const full = new DatabaseError(
      Object.assign(new Error('sorry, too many clients already'), { code: '53300' }),
    );
    const crowded = new BatchQueue(
      { batched: () => Promise.reject(full), single: executorOn(pool) },
      new BatchLimits(8, 1),
    );
    const answers = await Promise.all(['a', 'b'].map((text) => crowded.query(echo, { text })));
    expect(answers.map(({ rows }) => rows[0])).toStrictEqual([
      { by: 'one', text: 'a' },
      { by: 'one', text: 'b' },
    ]);
  });

  it('excludes large calls from batches', async () => {
    const large = 'x'.repeat(100_000);
    expect(await readEchoes(echo, ['a', large, 'b'])).toStrictEqual([
      ['many', 'a', 1],
      ['one', large, 1],
      ['many', 'b', 1],
    ]);
  });

  it('sends null values in a batch, even if all values are null', async () => {
    const nulls = parseQuery<{ text: string; more: string | null }, { more: string | null }>(
      'one',
      'SELECT 1',
      parseQuery<Record<string, Value>, { item: number }>(
        'nulls',
        'SELECT item::integer, more FROM unnest($text::text[], $more::text[]) WITH ORDINALITY AS c (text, more, item)',
      ),
    );
    for (const all of [[null, 'b', null], [null]]) {
      const outcomes = await Promise.all(all.map((more) => run(nulls, { text: '', more })));
      expect(outcomes.map(({ rows }) => rows[0]?.more)).toStrictEqual(all);
    }
  });
});

describeService('simultaneous commands', (service, kind) => {
  const many = Array.from({ length: 24 }, (_, i) => i);

  it("applies simultaneous commands from many tenants to each tenant's own files", async () => {
    const tenants = many.map(() => freshTenant('batch'));
    const executeAll = async (make: (i: number) => object) => {
      const answers = await Promise.all(tenants.map((tenant, i) => service().execute(make(i), { tenant })));
      return answers.map(({ content }) => content);
    };
    // The second create finds its directory, the third one its file.
    await executeAll((i) => cmd.create('/memories/d/first.md', `first of ${i}`));
    expect(await executeAll((i) => cmd.create('/memories/d/f.md', `secret ${i}\nend`))).toStrictEqual(
      many.map(() => 'File created successfully at: /memories/d/f.md'),
    );
    expect(await executeAll((i) => cmd.create('/memories/d/f.md', `other ${i}`))).toStrictEqual(
      many.map(() => 'Error: File /memories/d/f.md already exists'),
    );
    await executeAll((i) => cmd.replace('/memories/d/f.md', `secret ${i}`, `changed ${i}`));
    expect(await executeAll(() => cmd.view('/memories/d/f.md'))).toStrictEqual(
      many.map(
        (i) => `Here's the content of /memories/d/f.md with line numbers:\n     1\tchanged ${i}\n     2\tend`,
      ),
    );
    await assertInvariants(service());
  });

  it('lists small and large directories simultaneously, without hidden items', async () => {
    const view = (i: number, path: string) => service().execute(cmd.view(path), { tenant: tenants[i] ?? '' });
    const tenants = many.slice(0, 6).map(() => freshTenant('batch'));
    const files = ['a/b/deep.md', 'a/b.md', 'a-b.md', '.hidden/h.md', 'node_modules/m.md', 'a/.hidden.md'];
    // The last tenant's listings are too large for a batch: one has many files, the other many hidden files.
    const large = Array.from({ length: 201 }, (_, i) => [`l/${1000 + i}.md`, `h/.${1000 + i}.md`]).flat();
    for (const [i, tenant] of tenants.entries()) {
      const create = (file: string) =>
        service().execute(cmd.create(`/memories/${file}`, 'x'.repeat(i + 1)), { tenant });
      await Promise.all((i === 5 ? [...large, 'h/seen.md'] : files).map(create));
    }
    await service().execute(cmd.delete('/memories/a-b.md'), { tenant: tenants[1] ?? '' });
    const answers = await Promise.all([
      ...[0, 1].map((i) => view(i, '/memories')),
      ...['/memories/a', '/memories/none', '/memories/a/b.md'].map((path, i) => view(i + 2, path)),
      ...['/memories/h', '/memories/l'].map((path) => view(5, path)),
    ]);
    const header = (path: string) =>
      `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:\n4.0K\t${path}\n`;
    expect(answers.map(({ content }) => content)).toStrictEqual([
      `${header('/memories')}4.0K\t/memories/a/\n4.0K\t/memories/a/b/\n1B\t/memories/a/b.md\n1B\t/memories/a-b.md`,
      `${header('/memories')}4.0K\t/memories/a/\n4.0K\t/memories/a/b/\n2B\t/memories/a/b.md`,
      `${header('/memories/a')}4.0K\t/memories/a/b/\n3B\t/memories/a/b/deep.md\n3B\t/memories/a/b.md`,
      'The path /memories/none does not exist. Please provide a valid path.',
      `Here's the content of /memories/a/b.md with line numbers:\n     1\txxxxx`,
      `${header('/memories/h')}6B\t/memories/h/seen.md`,
      `${header('/memories/l')}${large
        .filter((file) => file.startsWith('l'))
        .map((file) => `6B\t/memories/${file}`)
        .join('\n')}`,
    ]);
  });

  it('returns an error for each invalid command without effect on other simultaneous commands', async () => {
    const answers = many.map(async (i) => {
      const tenant = freshTenant('batch');
      await service().execute(cmd.create('/memories/f.md', `text ${i}`), { tenant });
      switch (i % 4) {
        case 0:
          return service().execute(cmd.replace('/memories/f.md', 'text', 'changed'), { tenant });
        case 1:
          return service().execute(cmd.replace('/memories/none.md', 'text', 'changed'), { tenant });
        case 2:
          return service().execute(cmd.create('/memories/f.md/g.md', 'below a file'), { tenant });
        default:
          return service().execute(cmd.create('/memories/g.md', 'beside it'), { tenant });
      }
    });
    const expected = [
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tchanged ',
      'Error: The path /memories/none.md does not exist. Please provide a valid path.',
      'Error: /memories/f.md is not a directory',
      'File created successfully at: /memories/g.md',
    ];
    for (const [i, { content }] of (await Promise.all(answers)).entries()) {
      expect(content).toBe(i % 4 === 0 ? `${expected[0]}${i}` : expected[i % 4]);
    }
    await assertInvariants(service());
  });

  it("replays a result in a batch only if the call's idempotency key was used before", async () => {
    const tenants = many.map(() => freshTenant('batch'));
    const create = (round: number) =>
      Promise.all(
        tenants.map((tenant, i) =>
          service().execute(cmd.create(`/memories/${i % 2 === 0 ? 'same' : round}.md`, 'x'), {
            tenant,
            headers: { 'idempotency-key': `key-${i % 2 === 0 ? 'same' : round}` },
          }),
        ),
      );
    await create(0);
    const again = await create(1);
    expect(again.map(({ is_error, headers }) => [is_error, headers['idempotency-replayed']])).toStrictEqual(
      many.map((i) => [false, i % 2 === 0 ? 'true' : undefined]),
    );
    for (const [i, tenant] of tenants.entries()) {
      const tree = await readTree(service(), tenant);
      expect([...tree.keys()].sort()).toStrictEqual(
        i % 2 === 0 ? ['/memories', '/memories/same.md'] : ['/memories', '/memories/0.md', '/memories/1.md'],
      );
    }
    await assertInvariants(service());
  });

  it("applies each tenant's settings in a batch before the settings are cached", async () => {
    const tenants = many.map(() => freshTenant('batch'));
    // Every third tenant is suspended, and every third one does not exist.
    for (const [i, tenant] of tenants.entries()) {
      if (i % 3 === 2) continue;
      const since = i % 3 === 0 ? new Date().toISOString() : null;
      await service().query('INSERT INTO tenants (id, suspended_at, max_view_chars) VALUES ($1, $2, $3)', [
        tenant,
        since,
        200 + i,
      ]);
    }
    await Promise.all(
      tenants.map((tenant) => service().execute(cmd.create('/memories/f.md', 'x\n'.repeat(99)), { tenant })),
    );
    const answers = await Promise.all(
      tenants.map((tenant) => service().execute(cmd.view('/memories/f.md'), { tenant })),
    );
    for (const [i, { status, content }] of answers.entries()) {
      expect(status).toBe(i % 3 === 0 ? 403 : 200);
      if (i % 3 === 1) expect(content.length).toBeLessThanOrEqual(200 + i);
      if (i % 3 === 2) expect(content.length).toBeGreaterThan(800);
    }
    await assertInvariants(service());
  });

  it("respects each tenant's quota in a batch", async () => {
    const full = freshTenant('batch');
    const tenants = [full, ...many.map(() => freshTenant('batch'))];
    for (const tenant of tenants) await service().execute(cmd.create('/memories/f.md', 'x'), { tenant });
    await service().query('UPDATE tenants SET max_files = 1, max_bytes = 3 WHERE id = $1', [full]);
    const create = await Promise.all(
      tenants.map((tenant) => service().execute(cmd.create('/memories/g.md', 'y'), { tenant })),
    );
    expect(create.map(({ is_error }) => is_error)).toStrictEqual([true, ...many.map(() => false)]);
    const edit = (text: string) =>
      Promise.all(
        tenants.map((tenant) => service().execute(cmd.insert('/memories/f.md', 0, text), { tenant })),
      );
    expect((await edit('four')).map(({ is_error }) => is_error)).toStrictEqual([
      true,
      ...many.map(() => false),
    ]);
    // `y` and a newline in addition to `x` fill the quota exactly.
    expect((await edit('y')).map(({ is_error }) => is_error)).toStrictEqual([
      false,
      ...many.map(() => false),
    ]);
    await assertInvariants(service());
  });

  if (kind === 'postgres') {
    it('serves the other tenants in a batch without a delay while one tenant is locked', async () => {
      const [locked, ...others] = [freshTenant('batch'), ...many.map(() => freshTenant('batch'))] as [
        string,
        ...string[],
      ];
      const all = [locked, ...others];
      for (const tenant of all) await service().execute(cmd.create('/memories/f.md', 'x'), { tenant });
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const holding = service().database.transaction(async (run) => {
        const lock = 'SELECT id FROM tenants WHERE id = $tenant FOR UPDATE';
        await run(parseQuery<{ tenant: string }>('lock', lock), { tenant: locked });
        const answers = all.map((tenant) =>
          service().execute(cmd.replace('/memories/f.md', 'x', 'y'), { tenant }),
        );
        // The other tenants receive their results while the lock is held.
        const done = await Promise.all(answers.slice(1));
        expect(done.map(({ is_error }) => is_error)).toStrictEqual(others.map(() => false));
        void answers[0]?.then(release);
      });
      await holding;
      await released;
      expect((await readTree(service(), locked)).get('/memories/f.md')).toBe('y');
    });
  }
});

it('allows two replicas to write for the same tenants without lost edits or deadlocks', async () => {
  const database = await createTestDatabase();
  const start = () => startService('postgres', { DATABASE_URL: database.url, DB_LOCK_TIMEOUT_MS: '5000' });
  const replicas: Service[] = [await start(), await start()];
  try {
    const tenants = Array.from({ length: 8 }, () => freshTenant('batch'));
    const replicaAt = (n: number) => replicas[n % 2] as Service;
    for (const tenant of tenants) await replicaAt(0).execute(cmd.create('/memories/f.md', ''), { tenant });
    const edits = Array.from({ length: 12 }, (_, n) =>
      // Each replica visits the tenants in a different order.
      (n % 2 === 0 ? tenants : tenants.toReversed()).map((tenant) =>
        replicaAt(n).execute(cmd.insert('/memories/f.md', 0, `edit ${n}`), { tenant }),
      ),
    );
    for (const { status, is_error } of await Promise.all(edits.flat()))
      expect([status, is_error]).toStrictEqual([200, false]);
    for (const tenant of tenants) {
      const lines = (await readTree(replicaAt(0), tenant)).get('/memories/f.md')?.split('\n').sort();
      expect(lines).toStrictEqual(['', ...edits.map((_, n) => `edit ${n}`).sort()]);
    }
    await assertInvariants(replicaAt(0));
  } finally {
    for (const replica of replicas) await replica.close();
    await database.drop();
  }
});

describe('the plan for the batch', () => {
  skipOnCitus('there are no batches on Citus');
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;
  beforeAll(async () => {
    // Uses the service's planner options and statistics from small tenants, because autovacuum may have replaced the
    // template's statistics.
    database = await createTestDatabase();
    client = await connectTo(database.url, { options: plannerOptions });
    await client.query(`
      INSERT INTO tenants (id) SELECT 't' || t FROM generate_series(1, 100) AS t;
      INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at) SELECT id, '/memories', NULL, 'dir', now() FROM tenants;
      INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
      SELECT id, '/memories/f' || f, '/memories', 'file', 'x', memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now() FROM tenants, generate_series(1, 20) AS f;
      ANALYZE tenants, entries`);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each(batchQueries.map((each) => [each.name, each] as const))(
    'finds each row in the batch %s through an index on the tenant',
    async (_, statement) => {
      // Versions before 16 show a column of the query around a CTE as $0.
      const scans = [...tableScans(await genericPlan(client, statement))];
      expect(scans.length).toBeGreaterThan(0);
      for (const scan of scans) {
        const column = scan['Relation Name'] === 'tenants' ? 'id' : 'tenant_id';
        expect(scan).toMatchObject({
          'Node Type': expect.stringMatching(/^(Index|Index Only|Bitmap Heap) Scan$/),
          [scan['Node Type'] === 'Bitmap Heap Scan' ? 'Recheck Cond' : 'Index Cond']: expect.stringMatching(
            new RegExp(
              `\\b${column} = \\(?((c|c_\\d)\\.tenant\\b|\\$\\d)|\\bid = e\\.tenant_id\\b|\\btenant_id = t\\.id\\b`,
            ),
          ),
        });
      }
    },
  );
});
