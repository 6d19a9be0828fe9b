/** Quick reads share connections, and none waits for what is slow. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAway } from '../../src/db/errors.ts';
import { Pipeline } from '../../src/db/pipeline.ts';
import type { Run } from '../../src/db/statement.ts';
import { statement } from '../../src/db/statement.ts';
import { createTestDatabase } from '../support/database.ts';

const echo = statement<{ text: string }, { text: string }>('echo', ['text'], 'SELECT $1::text AS text');
const whoAmI = statement<Record<string, never>, { pid: number }>('who', [], 'SELECT pg_backend_pid() AS pid');
const wait = statement<Record<string, never>>('wait', [], 'SELECT pg_advisory_xact_lock(1)');
const wrong = statement<{ text: string }>('wrong', ['text'], 'SELECT 1 / length($1::text)');

describe('a pipeline', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let admin: pg.Client;
  let pipeline: Pipeline;
  beforeAll(async () => {
    database = await createTestDatabase();
    admin = new pg.Client(database.url);
    await admin.connect();
    pipeline = new Pipeline({ connectionString: database.url }, 2);
    await opened(2);
  });
  afterAll(async () => {
    await pipeline.close();
    await admin.end();
    await database.drop();
  });

  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  const opened = async (count: number) => {
    while (pipeline.state.total < count) {
      pipeline.pick();
      await nextTurn();
    }
  };
  const run = async (): Promise<Run> => {
    for (;;) {
      const found = pipeline.pick();
      if (found) return found;
      await nextTurn();
    }
  };

  it('gives each its own answer, in whatever number they come', async () => {
    const texts = Array.from({ length: 500 }, (_, i) => `text ${i} ${'é'.repeat(i)}`);
    const answers = await Promise.all(
      texts.map(async (text) => (await (await run())(echo, { text })).rows[0]?.text),
    );
    expect(answers).toStrictEqual(texts);
    expect(pipeline.state).toStrictEqual({ total: 2, idle: 2 });
  });

  it('one that fails takes no other with it', async () => {
    const on = await run();
    const outcomes = await Promise.allSettled([
      on(echo, { text: 'before' }),
      on(wrong, { text: '' }),
      on(echo, { text: 'after' }),
    ]);
    expect(outcomes.map(({ status }) => status)).toStrictEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: '22012' } });
  });

  it('sends nothing after what does not end, and takes statements again when it has ended', async () => {
    await admin.query('SELECT pg_advisory_lock(1)');
    const first = await run();
    const held = [first(wait, {})];
    let other = await run();
    while (other === first) {
      await nextTurn();
      other = await run();
    }
    // The other connection answers meanwhile.
    expect((await other(echo, { text: 'not held up' })).rows).toStrictEqual([{ text: 'not held up' }]);
    held.push(other(wait, {}));
    // Nothing is left that would answer soon: the caller goes to the pool.
    while (pipeline.pick() !== undefined) await nextTurn();
    await admin.query('SELECT pg_advisory_unlock(1)');
    await Promise.all(held);
    expect((await (await run())(echo, { text: 'again' })).rows).toStrictEqual([{ text: 'again' }]);
  });

  it('opens a connection anew when one is lost; what was on it fails as when the database is away', async () => {
    await admin.query('SELECT pg_advisory_lock(1)');
    const on = await run();
    const { pid } = (await on(whoAmI, {})).rows[0] ?? {};
    const lost = Promise.allSettled([on(wait, {}), on(echo, { text: 'behind it' })]);
    await admin.query('SELECT pg_terminate_backend($1)', [pid]);
    for (const { status, ...outcome } of await lost) {
      expect(status).toBe('rejected');
      expect(isAway((outcome as PromiseRejectedResult).reason)).toBe(true);
    }
    await admin.query('SELECT pg_advisory_unlock(1)');
    await opened(2);
    // The second goes to the connection that has nothing to do.
    const both = [(await run())(whoAmI, {}), (await run())(whoAmI, {})];
    const pids = (await Promise.all(both)).map(({ rows }) => rows[0]?.pid);
    expect(new Set([...pids, pid]).size).toBe(3);
  });
});

it('a pipeline that reaches no server has no connection, and says so at once', async () => {
  const pipeline = new Pipeline({ connectionString: 'postgres://nobody@127.0.0.1:1/none' }, 2);
  expect(pipeline.pick()).toBeUndefined();
  expect(pipeline.state).toStrictEqual({ total: 0, idle: 0 });
  await pipeline.close();
});
