/** @module-tag long The service behind PgBouncer, in each mode: it works, or says in one line why it does not. */
import { beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { migrate, schemaState } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { Workload } from '../support/faults/workload.ts';
import { assertInvariants } from '../support/invariants.ts';
import { PgBouncer, pgbouncerVersion } from '../support/pgbouncer.ts';
import { createTestDatabase, isCitus, openPool, skipOnCitus } from '../support/test-database.ts';
import { freshTenant, startService } from '../support/test-service.ts';

const version = await pgbouncerVersion();
const tracksStatements = version !== undefined && (version[0] > 1 || version[1] >= 21);
const TRACKING = tracksStatements ? { max_prepared_statements: 200 } : {};

const open = (url: string) => openDatabase(loadConfig({ DATABASE_URL: url }));

/** Statements that the service tells an operator to run. */
const COMMANDS = /ALTER ROLE CURRENT_USER IN DATABASE \w+ SET \w+ = (?:\w+|'[^']+');/g;

describe('the service behind PgBouncer', () => {
  skipOnCitus('PgBouncer runs in front of one server');
  beforeEach(({ skip }) => skip(version === undefined, 'no pgbouncer on the PATH and no PGBOUNCER'));

  async function withPgbouncer<T>(
    url: string,
    settings: Record<string, string | number>,
    work: (url: string) => Promise<T>,
  ): Promise<T> {
    const bouncer = await PgBouncer.start(url, settings);
    try {
      return await work(bouncer.url);
    } finally {
      await bouncer.stop();
    }
  }
  /**
   * Fewer sessions than a replica has connections, so that in transaction mode a connection's statements use different
   * sessions.
   */
  const TRANSACTION = { pool_mode: 'transaction', default_pool_size: 3, ...TRACKING };
  const SESSION = { pool_mode: 'session', default_pool_size: 40 };
  const modes: [string, Record<string, string | number>][] = [
    ['session', SESSION],
    ...(tracksStatements ? ([['transaction', TRANSACTION]] as [string, typeof TRANSACTION][]) : []),
  ];

  /** Runs the statements that the service suggests. Returns the suggesting log line. */
  async function giveSettings(databaseUrl: string, settings: Record<string, string | number>) {
    const line = await withPgbouncer(databaseUrl, settings, (url) =>
      open(url).then(
        () => '',
        ({ message }: Error) => message,
      ),
    );
    const commands = line.match(COMMANDS) ?? [];
    const pool = openPool(databaseUrl);
    for (const command of commands) await pool.query(command);
    await pool.end();
    return { line, settings: commands.map((command) => command.replace(/.* SET /, '')) };
  }

  describe.each(modes)('in %s mode', (_, settings) => {
    it('explains how to set the session settings for PgBouncer, and works once they are set', async () => {
      const own = await createTestDatabase();
      const given = await giveSettings(own.url, settings);
      expect(given.line).toMatch(
        /^Cannot use the database at 127\.0\.0\.1:\d+\/\w+: it is behind a pooler, through which the service cannot give its sessions their settings; run this as the same user, and RECONNECT in PgBouncer: ALTER ROLE [^\n]*;$/,
      );
      expect(given.settings.sort()).toStrictEqual([
        'enable_hashjoin = off;',
        'enable_mergejoin = off;',
        'enable_seqscan = off;',
        'idle_in_transaction_session_timeout = 10000;',
        'jit = off;',
        'lock_timeout = 5000;',
        'max_parallel_workers_per_gather = 0;',
        'plan_cache_mode = force_generic_plan;',
        'statement_timeout = 10000;',
      ]);
      await withPgbouncer(own.url, settings, expectServiceWorks);
      await own.drop();
    });
  });

  it('rejects `migrate` through PgBouncer', async () => {
    const own = await createTestDatabase({ migrated: false });
    await giveSettings(own.url, SESSION);
    await withPgbouncer(own.url, SESSION, async (url) => {
      const database = await open(url);
      await expect(migrate(database)).rejects.toThrow(
        /^Cannot migrate the database at 127\.0\.0\.1:\d+\/\w+ through a pooler: run memory-service migrate with a DATABASE_URL that names the server itself\.$/,
      );
      await database.close();
    });
    await own.drop();
  });

  /** Checks that two replicas write and read without loss, and that only one of two jobs with one lock runs. */
  async function expectServiceWorks(url: string): Promise<void> {
    const limits = {
      DB_STATEMENT_TIMEOUT_MS: '10000',
      DB_LOCK_TIMEOUT_MS: '5000',
      RATE_LIMIT_PER_MINUTE: '0',
    };
    const replicas = [1, 2].map(() => startService('postgres', { DATABASE_URL: url, ...limits }));
    const [one, other] = await Promise.all(replicas as [(typeof replicas)[0], (typeof replicas)[0]]);
    try {
      const urls = await Promise.all(
        [one, other].map(({ app }) => app.listen({ host: '127.0.0.1', port: 0 })),
      );
      let turn = 0;
      const workload = new Workload({
        url: () => urls[turn++ % 2] as string,
        tenants: [freshTenant('bounced'), freshTenant('bounced')],
        clientsPerTenant: 4,
        limitMs: 60_000,
      });
      workload.start();
      await workload.acknowledge(300);
      await workload.stop();
      expect([workload.problems, [...workload.statuses.keys()]]).toStrictEqual([[], ['200']]);
      expect(await workload.verify(one.query)).toStrictEqual({
        acknowledged: workload.acknowledged,
        lost: [],
        doubled: [],
        wrong: [],
      });
      await assertInvariants(one);
      for (let round = 0; round < 3; round++) {
        let second: boolean | undefined;
        const first = await one.database.withJobLock(7, async () => {
          second = await other.database.withJobLock(7, async () => {});
        });
        expect([first, second]).toStrictEqual([true, false]);
      }
      const { statusCode } = await other.app.inject('/readyz');
      expect(statusCode).toBe(200);
    } finally {
      await one.close();
      await other.close();
    }
  }

  it('rejects PgBouncer in transaction mode if it does not support prepared statements', async () => {
    const settings = { ...TRANSACTION, ...(tracksStatements ? { max_prepared_statements: 0 } : {}) };
    const own = await createTestDatabase();
    await withPgbouncer(own.url, settings, async (url) => {
      await expect(open(url)).rejects.toThrow(
        /^Cannot use the database at 127\.0\.0\.1:\d+\/\w+: it is behind a pooler in transaction mode that does not keep track of prepared statements; use PgBouncer 1\.21 or newer with max_prepared_statements, or session mode$/,
      );
    });
    await own.drop();
  });
});

it("turns off the role's session time limits for a migration", async ({ skip }) => {
  skip(isCitus(), 'PgBouncer runs in front of one server');
  const own = await createTestDatabase({ migrated: false });
  const pool = openPool(own.url);
  const name = new URL(own.url).pathname.slice(1);
  await pool.query(`
    ALTER ROLE CURRENT_USER IN DATABASE ${name} SET statement_timeout = '10s';
    CREATE FUNCTION reject_limits() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN IF current_setting('statement_timeout') <> '0' THEN RAISE EXCEPTION 'a time limit'; END IF; END $$;
    CREATE EVENT TRIGGER reject_limits ON ddl_command_start EXECUTE FUNCTION reject_limits()`);
  await pool.end();
  const database = await open(own.url);
  await migrate(database);
  expect(await schemaState(database)).toBe('current');
  await database.close();
  await own.drop();
});
