import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { OperatorError } from '../errors/errors.ts';
import { MEANING } from './database.ts';
import { defineQuery } from './query.ts';

/*
 * Citus, the extension that distributes tables over several Postgres servers. A tenant's rows are all on one shard, and
 * a write is one call to a database function on that shard. See docs/scaling.md.
 */

/** Tables sharded by tenant and colocated with `tenants`. */
export const TENANT_TABLES = [
  'public.tenants',
  'public.entries',
  'public.versions',
  'public.past_directories',
  'public.idempotency_keys',
  'public.tenant_usage',
  'public.drafts',
  'public.draft_base',
  'public.job_outcomes',
  'public.reads',
  'public.change_log',
  'public.tenant_events',
];

/**
 * Tables replicated to all nodes. An API key is looked up before its tenant is known, so any node can look it up, even
 * while another node is down. A revocation takes effect on all nodes at the same time. The same is true for a text that
 * is kept out.
 */
export const REFERENCE_TABLES = [
  'public.api_keys',
  'public.installation',
  'public.kept_out',
  'public.change_log_state',
  'drizzle.__drizzle_migrations',
];

/**
 * Tables stored only on the coordinator; workers forward statements on them. Audit events can lack a tenant, and must
 * be recorded even while a worker is down. Jobs and webhooks may be for all tenants, and shares are between tenants. On
 * a single node, a page is always complete.
 */
export const COORDINATOR_TABLES = [
  'public.activity',
  'public.audit_events',
  'public.change_ticks',
  'public.ended_sessions',
  'public.fleet_usage',
  'public.invitations',
  'public.jobs',
  'public.receipts',
  'public.shares',
  'public.webhook_deliveries',
  'public.webhooks',
];

export const ALL_TABLES = [...TENANT_TABLES, ...REFERENCE_TABLES, ...COORDINATOR_TABLES];

/**
 * Functions called by the service's statements. Citus runs a call on the node that stores the tenant, which is the
 * first argument.
 */
export const DELEGATED_FUNCTIONS = [
  'memory_create',
  'memory_write',
  'memory_delete',
  'memory_rename',
  'memory_record_failure',
  'memory_store_create',
  'memory_store_update',
  'memory_store_delete',
  'memory_expire',
  'memory_erase_entries',
  'memory_erase_history',
  'memory_prune_old',
  'memory_prune_excess',
  'memory_begin_change',
  'memory_bind_root',
  'memory_reserve',
  'memory_redact',
  'memory_redact_directories',
  'memory_redact_versions',
  'memory_redact_below',
  'memory_forget_paths',
  'memory_erase_path',
  'memory_erase_base_path',
  'memory_erase_base_versions',
  'memory_rewrite_version',
  'memory_exceeded',
  'memory_change',
  'memory_contents',
  'memory_past_contents',
  'memory_replace_content',
  'memory_record_event',
  'memory_record_near_limits',
];

/** Looks up the node that stores a tenant, in the metadata that every node has. */
export const findNodeQuery = defineQuery<{ tenant: string }, { node: string }>(
  'node_of_tenant',
  `
SELECT n.nodename || ':' || n.nodeport AS node
FROM pg_dist_placement AS p JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
WHERE p.shardid = get_shard_id_for_distribution_column('public.tenants', $tenant::text)
`,
);

/** Whether the database has the Citus extension. */
export async function hasCitus(client: pg.ClientBase): Promise<boolean> {
  return (await client.query("SELECT FROM pg_extension WHERE extname = 'citus'")).rowCount === 1;
}

/**
 * Query for each table's state: the distribution column, `reference`, `coordinator`, `another way`, or null for a table
 * that Citus does not manage.
 */
export const TABLE_STATES = `
SELECT w.name, CASE
    WHEN p.logicalrelid IS NULL THEN NULL
    WHEN p.partmethod = 'n' AND p.repmodel = 't' THEN 'reference'
    WHEN p.partmethod = 'n' AND p.repmodel = 's' AND p.colocationid = 0 THEN 'coordinator'
    WHEN p.partmethod = 'h' AND p.colocationid = tenants.colocationid THEN column_to_column_name(p.logicalrelid, p.partkey)
    ELSE 'another way'
  END AS state
FROM unnest($1::text[]) WITH ORDINALITY AS w (name, item)
LEFT JOIN pg_dist_partition AS p ON p.logicalrelid = to_regclass(w.name)
LEFT JOIN pg_dist_partition AS tenants ON tenants.logicalrelid = to_regclass('public.tenants')
ORDER BY w.item`;

/**
 * Query for the delegated functions that are not distributed yet, including functions from earlier releases with the
 * same name.
 */
export const UNDISTRIBUTED_FUNCTIONS = `
SELECT f.oid::regprocedure::text AS name FROM pg_proc AS f
WHERE f.pronamespace = 'public'::regnamespace AND f.proname = ANY ($1::text[]) AND f.proargnames[1] = 'p_tenant'
  AND NOT EXISTS (
    SELECT FROM pg_dist_object AS d
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid AND d.distribution_argument_index = 0
  )`;

/** Query for whether all `$tables` and `$functions` are distributed. */
export const IS_DISTRIBUTED = `
SELECT NOT EXISTS (SELECT FROM (${TABLE_STATES.replace('$1', '$tables')}) AS t WHERE t.state IS NULL)
  AND NOT EXISTS (${UNDISTRIBUTED_FUNCTIONS.replace('$1', '$functions')}) AS "isDistributed"`;

/**
 * Settings in `MEANING` that the sessions between nodes need too. The time zone is left out, because the service sends
 * and formats times in UTC.
 */
const { TimeZone: _, ...NEEDED_BY_NODES } = MEANING;

const CHECKED_SETTINGS = ['plan_cache_mode', ...Object.keys(NEEDED_BY_NODES)];

/**
 * Query for the settings in the sessions that Citus opens, for each node that responds. These sessions use the settings
 * for their node, database, and role, not the settings in the client's session.
 */
export const NODE_SETTINGS = `
SELECT n.nodename || ':' || n.nodeport AS node, r.result::jsonb AS settings, current_database() AS database
FROM run_command_on_all_nodes($$
    SELECT jsonb_object_agg(name, setting) FROM pg_settings WHERE name IN ('${CHECKED_SETTINGS.join("', '")}')
  $$) AS r JOIN pg_dist_node AS n ON n.nodeid = r.nodeid
WHERE r.success ORDER BY n.groupid, n.nodeid`;

export interface NodeSettings {
  node: string;
  settings: Record<string, string>;
  database: string;
}

/**
 * Describes, in one line, the nodes that leak memory and the statement that fixes them. Returns undefined if no node
 * leaks.
 */
export function describeLeakingNodes(nodes: readonly NodeSettings[]): string | undefined {
  const leaking = nodes.filter(({ settings }) => settings.plan_cache_mode !== 'force_custom_plan');
  const [first] = leaking;
  if (first === undefined) return undefined;
  const names = leaking.map(({ node, settings }) => `${node} (${settings.plan_cache_mode})`).join(', ');
  return `Citus leaks memory where plan_cache_mode is not force_custom_plan: ${names}. On each of these nodes, run: ALTER DATABASE ${quoteDatabase(first)} SET plan_cache_mode = force_custom_plan`;
}

/**
 * Describes, in one line, the nodes that would misread statements from a session with `MEANING`, or send results in
 * another format, and the commands that fix these nodes. Returns undefined if there are no such nodes.
 */
export function describeUnfitNodes(nodes: readonly NodeSettings[]): string | undefined {
  const unfit = Object.entries(NEEDED_BY_NODES).flatMap(([name, needed]) =>
    nodes
      .filter(
        ({ settings }) =>
          settings[name] !== undefined && settingFormat(settings[name]) !== settingFormat(needed),
      )
      .map((each) => ({ ...each, name, needed })),
  );
  if (unfit.length === 0) return undefined;
  const found = unfit.map(({ node, name, settings }) => `${node} (${name} = ${settings[name]})`);
  const commands = unfit.map(
    (each) =>
      `ALTER ROLE CURRENT_USER IN DATABASE ${quoteDatabase(each)} SET ${each.name} = '${each.needed}';`,
  );
  return `The sessions that Citus opens on its nodes have settings that would change texts: ${found.join(', ')}. On the coordinator, as the same user, run: ${[...new Set(commands)].join(' ')}`;
}

/** Returns a setting without the day and month order in `DateStyle`, which ISO 8601 does not use. */
function settingFormat(setting: string): string {
  return setting.replace(/, .*/, '');
}

function quoteDatabase({ database }: NodeSettings): string {
  return `"${database.replaceAll('"', '""')}"`;
}

/** Oldest major Citus version that the tests cover. */
const OLDEST_MAJOR_VERSION = 13;

/**
 * Checks the cluster. Makes Citus modify a table's shards sequentially, because otherwise a migration cannot change
 * tables of several kinds in one transaction.
 *
 * @throws OperatorError when the cluster cannot be migrated
 */
export async function prepareCluster(client: pg.ClientBase): Promise<void> {
  const version = await readCitusVersion(client);
  if (Number.parseInt(version, 10) < OLDEST_MAJOR_VERSION) {
    throw new OperatorError(
      `The database has Citus ${version}, and memory-service needs ${OLDEST_MAJOR_VERSION} or newer. Update Citus on every node, then run ALTER EXTENSION citus UPDATE on each.`,
    );
  }
  const [node] = await queryRows<{ isCoordinator: boolean }>(
    client,
    'SELECT citus_is_coordinator() AS "isCoordinator"',
  );
  if (!node?.isCoordinator) {
    throw new OperatorError(
      'The database is a worker of a Citus cluster, and only the coordinator can be migrated. Run memory-service migrate with a DATABASE_URL of the coordinator first.',
    );
  }
  const [coordinator] = await queryRows<{ isRegistered: boolean }>(client, COORDINATOR_IS_REGISTERED);
  if (!coordinator?.isRegistered) {
    throw new OperatorError(
      "The workers do not know the coordinator of the Citus cluster. Run SELECT citus_set_coordinator_host('its host name', 5432) there, then memory-service migrate.",
    );
  }
  const workers = await queryRows<Worker>(client, WORKERS);
  const faults = workers.map((worker) => workerFault(worker, version)).filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new OperatorError(faults.join('\n'));
  await client.query("SET citus.multi_shard_modify_mode = 'sequential'");
}

const VERSION = "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'";

/** A cluster without workers registers its coordinator automatically. */
const COORDINATOR_IS_REGISTERED = `
SELECT NOT EXISTS (SELECT FROM pg_dist_node) OR EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0) AS "isRegistered"`;

async function readCitusVersion(client: pg.ClientBase): Promise<string> {
  const [extension] = await queryRows<{ version: string }>(client, VERSION);
  if (extension === undefined) throw new Error('The extension citus is gone.');
  return extension.version;
}

interface Worker {
  name: string;
  success: boolean;
  /** Version of the worker's extension, or empty if the extension is not installed. */
  result: string;
}

const WORKERS = `
SELECT nodename || ':' || nodeport AS name, success, result
FROM run_command_on_workers($$${VERSION}$$)`;

function workerFault({ name, success, result }: Worker, version: string): string | undefined {
  if (!success) {
    return `The worker ${name} does not respond to the coordinator. Start it, or take it out of the cluster with SELECT citus_remove_node.`;
  }
  if (result === '') {
    return `The worker ${name} does not have the extension citus in this database. Run CREATE EXTENSION citus there.`;
  }
  if (result !== version) {
    return `The worker ${name} has Citus ${result}, and the coordinator has ${version}. Update the older one, then run ALTER EXTENSION citus UPDATE on it.`;
  }
  return undefined;
}

/**
 * Distributes the remaining tables, with their rows, and functions in one transaction. Writes wait until it ends.
 *
 * @param directory directory with the migrations
 * @throws OperatorError when a table is already distributed in a different way
 */
export async function distribute(client: pg.ClientBase, directory: string): Promise<void> {
  await client.query('BEGIN');
  try {
    const tenantTables = await localTables(client, TENANT_TABLES, (table) =>
      table === 'public.tenants' ? 'id' : 'tenant_id',
    );
    await distributeByTenant(client, tenantTables);
    const referenceTables = await localTables(client, REFERENCE_TABLES, () => 'reference');
    for (const table of referenceTables) await client.query('SELECT create_reference_table($1)', [table]);
    // The coordinator tables are last, because the first distributed table registers the coordinator in a cluster
    // without workers.
    for (const table of await localTables(client, COORDINATOR_TABLES, () => 'coordinator')) {
      await client.query('SELECT citus_add_local_table_to_metadata($1)', [table]);
    }
    await copyFunctions(client);
    for (const file of readdirSync(join(directory, 'citus')).sort()) {
      await client.query(readFileSync(join(directory, 'citus', file), 'utf8'));
    }
    const functions = await queryRows<{ name: string }>(client, UNDISTRIBUTED_FUNCTIONS, [
      DELEGATED_FUNCTIONS,
    ]);
    for (const { name } of functions) await client.query(DISTRIBUTE_FUNCTION, [name]);
    // The shards now contain the rows, so the local copies are removed.
    for (const table of [...tenantTables, ...referenceTables]) {
      await client.query('SELECT truncate_local_data_after_distributing_table($1)', [table]);
    }
    await client.query('COMMIT');
    if (tenantTables.length > 0) await client.query(`ANALYZE ${tenantTables.join(', ')}`);
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

const LOCAL_FUNCTIONS = `
SELECT pg_get_functiondef(f.oid) AS source FROM pg_proc AS f
WHERE f.pronamespace = 'public'::regnamespace AND f.proname LIKE 'memory\\_%'
  AND NOT EXISTS (SELECT FROM pg_dist_object AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid)
ORDER BY f.oid`;

/**
 * Creates the functions on the workers that were created before the database became a cluster. Citus propagates
 * functions created later.
 */
async function copyFunctions(client: pg.ClientBase): Promise<void> {
  for (const { source } of await queryRows<{ source: string }>(client, LOCAL_FUNCTIONS))
    await client.query(source);
}

const DISTRIBUTE_FUNCTION =
  "SELECT create_distributed_function($1::regprocedure, 'p_tenant', colocate_with => 'public.tenants')";

/** @throws OperatorError when a table is distributed, but not as `wanted` */
async function localTables(
  client: pg.ClientBase,
  tables: readonly string[],
  wanted: (table: string) => string,
): Promise<string[]> {
  const states = await queryRows<{ name: string; state: string | null }>(client, TABLE_STATES, [tables]);
  const wrong = states.filter(({ name, state }) => state !== null && state !== wanted(name));
  if (wrong.length > 0) {
    const names = wrong.map(({ name }) => name);
    throw new OperatorError(
      `Citus distributes ${names.join(', ')} in another way than memory-service needs. For each of them, run SELECT undistribute_table('${names[0]}', cascade_via_foreign_keys => true) on the coordinator, then memory-service migrate.`,
    );
  }
  return states.filter(({ state }) => state === null).map(({ name }) => name);
}

const FOREIGN_KEYS = `
SELECT conrelid::regclass::text AS "table", quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
FROM pg_constraint WHERE contype = 'f' AND (conrelid = ANY ($1::regclass[]) OR confrelid = ANY ($1::regclass[]))`;

/**
 * Distributes tables by tenant. Foreign keys are dropped and added again, because Citus accepts them only between
 * distributed tables.
 */
async function distributeByTenant(client: pg.ClientBase, tables: string[]): Promise<void> {
  const keys = await queryRows<{ table: string; name: string; definition: string }>(client, FOREIGN_KEYS, [
    tables,
  ]);
  for (const { table, name } of keys) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  for (const table of tables) {
    const isFirst = table === 'public.tenants';
    await client.query('SELECT create_distributed_table($1, $2, colocate_with => $3)', [
      table,
      isFirst ? 'id' : 'tenant_id',
      isFirst ? 'none' : 'public.tenants',
    ]);
  }
  for (const { table, name, definition } of keys) {
    await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
  }
}

async function queryRows<Row>(client: pg.ClientBase, sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await client.query(sql, values)).rows;
}
