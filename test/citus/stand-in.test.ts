/**
 * Runs the distribution on plain Postgres with stand-ins for the Citus catalog and functions. This way, `npm test`
 * detects a table in the wrong place. distribution.test.ts tests the behavior on Citus itself.
 */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ALL_TABLES,
  describeLeakingNodes,
  describeUnfitNodes,
  distribute,
  NODE_SETTINGS,
  TABLE_STATES,
} from '../../src/core/database/citus.ts';
import { MIGRATIONS_DIRECTORY } from '../../src/core/database/migrate.ts';
import { citusPlannerOptions } from '../../src/core/database/pg.ts';
import { connectTo, createTestDatabase, isCitus } from '../support/test-database.ts';

const CATALOG = `
CREATE TABLE pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, colocationid integer, repmodel "char");
CREATE TABLE pg_dist_object (classid oid, objid oid, distribution_argument_index integer);
CREATE TABLE pg_dist_node (nodeid integer, groupid integer, nodename text, nodeport integer);
CREATE FUNCTION column_to_column_name(regclass, text) RETURNS text LANGUAGE sql AS 'SELECT $2';
CREATE FUNCTION create_distributed_table(regclass, text, colocate_with text) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO pg_dist_partition VALUES ($1, 'h', $2, 1, 's') $$;
CREATE FUNCTION create_reference_table(regclass) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO pg_dist_partition VALUES ($1, 'n', NULL, 2, 't') $$;
CREATE FUNCTION citus_add_local_table_to_metadata(regclass) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO pg_dist_partition VALUES ($1, 'n', NULL, 0, 's') $$;
CREATE FUNCTION truncate_local_data_after_distributing_table(regclass) RETURNS void LANGUAGE plpgsql AS
  $$ BEGIN EXECUTE format('TRUNCATE %s CASCADE', $1); END $$;
CREATE FUNCTION create_distributed_function(regprocedure, text, colocate_with text) RETURNS void LANGUAGE sql AS
  $$ INSERT INTO pg_dist_object VALUES ('pg_proc'::regclass, $1, 0) $$;
CREATE FUNCTION run_command_on_all_nodes(text, OUT nodeid integer, OUT success boolean, OUT result text)
RETURNS SETOF record LANGUAGE sql AS
  $$ VALUES (1, true, '{"plan_cache_mode": "force_custom_plan", "DateStyle": "ISO, DMY"}'),
    (2, true, '{"plan_cache_mode": "auto", "DateStyle": "SQL, DMY", "standard_conforming_strings": "off"}'),
    (3, false, 'failed to connect') $$;
INSERT INTO pg_dist_node VALUES (1, 0, 'coordinator', 5432), (2, 1, 'worker-1', 5432), (3, 2, 'worker-2', 5432);`;

/** On Citus, these tests are skipped, because a cluster has the functions itself. */
describe.skipIf(isCitus())('distributing the tables', () => {
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;

  beforeAll(async () => {
    own = await createTestDatabase();
    client = await connectTo(own.url);
    await client.query(CATALOG);
    await client.query(
      `INSERT INTO audit_events (id, actor, action, channel, address, dry_run)
       VALUES (gen_random_uuid(), '{}', 'createTenant', 'admin_api', '127.0.0.1', false)`,
    );
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  const states = async () =>
    Object.fromEntries(
      (await client.query(TABLE_STATES, [ALL_TABLES])).rows.map(({ name, state }) => [name, state]),
    );

  it("keeps the fleet's audit trail and daily usage, including all rows, on the coordinator", async () => {
    await distribute(client, MIGRATIONS_DIRECTORY);
    const placed = {
      'public.tenants': 'id',
      'public.entries': 'tenant_id',
      'public.versions': 'tenant_id',
      'public.past_directories': 'tenant_id',
      'public.idempotency_keys': 'tenant_id',
      'public.tenant_usage': 'tenant_id',
      'public.drafts': 'tenant_id',
      'public.draft_base': 'tenant_id',
      'public.job_outcomes': 'tenant_id',
      'public.change_log': 'tenant_id',
      'public.tenant_events': 'tenant_id',
      'public.api_keys': 'reference',
      'public.installation': 'reference',
      'public.kept_out': 'reference',
      'public.change_log_state': 'reference',
      'drizzle.__drizzle_migrations': 'reference',
      'public.activity': 'coordinator',
      'public.audit_events': 'coordinator',
      'public.change_ticks': 'coordinator',
      'public.ended_sessions': 'coordinator',
      'public.fleet_usage': 'coordinator',
      'public.invitations': 'coordinator',
      'public.jobs': 'coordinator',
      'public.reads': 'tenant_id',
      'public.receipts': 'coordinator',
      'public.shares': 'coordinator',
      'public.webhook_deliveries': 'coordinator',
      'public.webhooks': 'coordinator',
    };
    expect(await states()).toStrictEqual(placed);
    expect((await client.query('SELECT count(*)::integer AS events FROM audit_events')).rows).toStrictEqual([
      { events: 1 },
    ]);
    await distribute(client, MIGRATIONS_DIRECTORY);
    expect(await states()).toStrictEqual(placed);
  });

  it('suggests the statement to run if an earlier version copied the audit trail to every node', async () => {
    await client.query(
      "UPDATE pg_dist_partition SET repmodel = 't', colocationid = 2 WHERE logicalrelid = 'audit_events'::regclass",
    );
    await expect(distribute(client, MIGRATIONS_DIRECTORY)).rejects.toThrow(
      "Citus distributes public.audit_events in another way than memory-service needs. For each of them, run SELECT undistribute_table('public.audit_events', cascade_via_foreign_keys => true) on the coordinator, then memory-service migrate.",
    );
  });

  it('names the nodes that leak memory and the statement that fixes each node', async () => {
    const { rows } = await client.query(NODE_SETTINGS);
    expect(rows.map(({ node }) => node)).toStrictEqual(['coordinator:5432', 'worker-1:5432']);
    const nodes = rows.map((row) => ({ ...row, database: 'memory' }));
    expect(describeLeakingNodes(nodes)).toBe(
      'Citus leaks memory where plan_cache_mode is not force_custom_plan: worker-1:5432 (auto). On each of these nodes, run: ALTER DATABASE "memory" SET plan_cache_mode = force_custom_plan',
    );
    expect(describeLeakingNodes(nodes.slice(0, 1))).toBeUndefined();
  });

  it('names the nodes with settings that change texts, and the commands that fix the settings', async () => {
    const { rows } = await client.query(NODE_SETTINGS);
    const nodes = rows.map((row) => ({ ...row, database: 'memory' }));
    expect(describeUnfitNodes(nodes)).toBe(
      `The sessions that Citus opens on its nodes have settings that would change texts: worker-1:5432 (DateStyle = SQL, DMY), worker-1:5432 (standard_conforming_strings = off). On the coordinator, as the same user, run: ALTER ROLE CURRENT_USER IN DATABASE "memory" SET DateStyle = 'ISO, MDY'; ALTER ROLE CURRENT_USER IN DATABASE "memory" SET standard_conforming_strings = 'on';`,
    );
    expect(describeUnfitNodes(nodes.slice(0, 1))).toBeUndefined();
  });

  it('makes a new plan each time a session runs a statement', async () => {
    const session = await connectTo(own.url, { options: citusPlannerOptions });
    expect((await session.query('SHOW plan_cache_mode')).rows).toStrictEqual([
      { plan_cache_mode: 'force_custom_plan' },
    ]);
    await session.end();
  });
});
