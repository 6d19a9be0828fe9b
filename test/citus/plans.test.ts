/** Number of shards that each of the service's statements uses on Citus. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DELEGATED_FUNCTIONS } from '../../src/core/database/citus.ts';
import { citusPlannerOptions } from '../../src/core/database/pg.ts';
import { writeFunctions } from '../../src/core/files/write-functions.ts';
import { explainPlan, findTenantsByShard, type Statement } from '../support/citus-plan.ts';
import { query } from '../support/postgres/database-cluster.ts';
import { functionCall, functionCalls, overAllTenants, statements } from '../support/statements.ts';
import { connectTo, createTestDatabase, isCitus } from '../support/test-database.ts';

/** Statements whose rows come from outside the tenant's shard and pass through the coordinator. */
const THROUGH_COORDINATOR = new Set([
  // Rows from the caller.
  'import_directories',
  'import_files',
  'import_versions',
  'import_past_directories',
  'insert_entries',
  'insert_tick',
  'insert_webhook_deliveries',
  // Rows from another tenant.
  'copy_entries',
  'copy_versions',
  'copy_past_directories',
  'copy_stored_results',
  'copy_usage',
  'copy_drafts',
  'copy_job_outcomes',
  'copy_kept_out',
  'copy_reads',
  'copy_events',
]);
/** `begin_change` always runs in a transaction, where a function runs on the node that the service is connected to. */
const NOT_DISTRIBUTED = new Set([
  'wait_for_reader',
  'begin_change',
  'current_time',
  'database_time',
  'is_standby',
  'try_lock',
  'lock_until_end',
  'table_columns',
  'current_snapshot',
  'next_tick_time',
  'forget_changes',
  'server_version',
]);

describe.skipIf(!isCitus())('the Citus plan for the statement', { tags: 'citus' }, () => {
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;
  let shardCount = 0;
  let tenants: string[] = [];

  beforeAll(async () => {
    own = await createTestDatabase();
    client = await connectTo(own.url, { options: citusPlannerOptions });
    const { rows } = await client.query(
      "SELECT shard_count FROM citus_tables WHERE table_name = 'entries'::regclass",
    );
    shardCount = Number(rows[0].shard_count);
    expect(shardCount).toBeGreaterThan(1);
    tenants = await findTenantsByShard(client, shardCount);
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  const all: Statement[] = [...statements, ...writeFunctions.map(({ single }) => single)];
  it.each(all.map((each) => [each.name, each] as const))(
    'plans the statement %s for one shard, unless the statement is a listed exception',
    async (name, statement) => {
      const plan = await explainPlan(client, statement, tenants);
      if (NOT_DISTRIBUTED.has(name)) {
        expect(plan).toStrictEqual({ by: undefined, shards: undefined, isInSteps: false });
      } else if (THROUGH_COORDINATOR.has(name)) {
        expect(plan).toMatchObject({ by: 'Citus INSERT ... SELECT' });
      } else {
        const shards = overAllTenants.has(name) ? shardCount : 1;
        expect(plan).toStrictEqual({ by: 'Citus Adaptive', shards, isInSteps: false });
      }
    },
  );
});

/**
 * A custom plan folds the inner cast in `$x::text::timestamptz` and keeps the outer, which depends on the session.
 * Citus then sends `('…'::cstring)::timestamptz` to the worker, which rejects it.
 */
it('casts each time only once in calls to delegated functions', () => {
  const calls = new RegExp(`(?:${DELEGATED_FUNCTIONS.join('|')})\\s*\\([^;]*`);
  const all = [...statements, ...writeFunctions.map(({ single }) => single)];
  const called = all.map(({ name, sql }) => ({ name, call: calls.exec(sql)?.[0] ?? '' }));
  expect(called.filter(({ call }) => call !== '').length).toBeGreaterThan(10);
  expect(called.filter(({ call }) => call.includes('::text::timestamptz'))).toStrictEqual([]);
});

describe.skipIf(!isCitus())('a statement in a database function', { tags: 'citus' }, () => {
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;
  const notices: string[] = [];

  beforeAll(async () => {
    own = await createTestDatabase();
    const [home] = await query(
      own.url,
      `SELECT nodename, nodeport FROM citus_shards
       WHERE table_name = 'tenants'::regclass AND shardid = get_shard_id_for_distribution_column('tenants', 't')`,
    );
    const url = new URL(own.url);
    url.hostname = String(home?.nodename);
    url.port = String(home?.nodeport);
    client = await connectTo(url.href);
    client.on('notice', ({ message }) => notices.push(message ?? ''));
    await client.query('SET citus.log_remote_commands = on; SET citus.log_local_commands = on');
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  it.each(functionCalls)(
    "runs the statements in a database function on the tenant's node: %s",
    async (call) => {
      const sql = await functionCall(client, call);
      notices.length = 0;
      await client.query(sql);
      expect(
        notices.filter((notice) => notice.startsWith('executing the command locally')).length,
      ).toBeGreaterThan(0);
      expect(notices.filter((notice) => notice.startsWith('issuing'))).toStrictEqual([]);
    },
  );
});
