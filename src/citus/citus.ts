import type pg from 'pg';

/*
 * Citus, the extension that spreads tables over several Postgres servers. All rows of a tenant are on one shard, and a write is one call of
 * a database function there. See docs/scaling.md.
 */

/** Sharded by tenant; the others go where `tenants` goes. */
export const TENANT_TABLES = [
  'public.tenants',
  'public.entries',
  'public.versions',
  'public.past_directories',
  'public.idempotency_keys',
  'public.tenant_usage',
  'public.drafts',
  'public.draft_base',
];

/**
 * Copied to every node, and changed on all of them at once. API keys are looked up before their tenant is known, so any node can do it, also
 * while another one is down, and a revoked key is refused everywhere at once.
 */
export const REFERENCE_TABLES = ['public.api_keys', 'drizzle.__drizzle_migrations'];

/**
 * Stored on the coordinator only; the workers pass their statements on to it. The audit trail is written before and after every
 * administrative change, also while a worker is down, and has events without a tenant. So one node has all of it, and its pages are complete.
 */
export const COORDINATOR_TABLES = ['public.audit_events', 'public.fleet_usage'];

/** Every table of the service, each in one of the three places. */
export const ALL_TABLES = [...TENANT_TABLES, ...REFERENCE_TABLES, ...COORDINATOR_TABLES];

/** The functions that the service's statements call. A call runs on the node that has the tenant, which is the first argument. */
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
  'memory_reserve',
  'memory_redact',
  'memory_redact_directories',
  'memory_restore',
  'memory_restore_excess',
  'memory_merge_clear',
  'memory_merge_write',
  'memory_contents',
  'memory_past_contents',
  'memory_replace_content',
];

/** Whether the database has the extension. */
export async function hasCitus(client: pg.ClientBase): Promise<boolean> {
  return (await client.query("SELECT FROM pg_extension WHERE extname = 'citus'")).rowCount === 1;
}

/**
 * How each table is distributed: by which column, as a `reference` table, on the `coordinator`, in `another way`, or null: Citus does not
 * know it.
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

/** The delegated functions that are not distributed yet, with those of earlier releases that have the same name. */
export const UNDISTRIBUTED_FUNCTIONS = `
SELECT f.oid::regprocedure::text AS name FROM pg_proc AS f
WHERE f.pronamespace = 'public'::regnamespace AND f.proname = ANY ($1::text[]) AND f.proargnames[1] = 'p_tenant'
  AND NOT EXISTS (
    SELECT FROM pg_dist_object AS d
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid AND d.distribution_argument_index = 0
  )`;

/** Whether all tables ($1) and functions ($2) are distributed. */
export const IS_DISTRIBUTED = `
SELECT NOT EXISTS (SELECT FROM (${TABLE_STATES}) AS t WHERE t.state IS NULL)
  AND NOT EXISTS (${UNDISTRIBUTED_FUNCTIONS.replace('$1', '$2')}) AS "isDistributed"`;

/**
 * `plan_cache_mode` of the sessions that Citus opens on each node that responds. They have the setting of the node's database, not that of the
 * session which they work for.
 */
export const PLAN_CACHE_MODES = `
SELECT n.nodename || ':' || n.nodeport AS node, r.result AS mode, current_database() AS database
FROM run_command_on_all_nodes($$SELECT current_setting('plan_cache_mode')$$) AS r JOIN pg_dist_node AS n ON n.nodeid = r.nodeid
WHERE r.success ORDER BY n.groupid, n.nodeid`;

export interface PlanCacheMode {
  node: string;
  mode: string;
  database: string;
}

/** Says which nodes leak memory and the statement that ends it, in one line; undefined: none does. */
export function describeLeakingNodes(modes: readonly PlanCacheMode[]): string | undefined {
  const leaking = modes.filter(({ mode }) => mode !== 'force_custom_plan');
  const [first] = leaking;
  if (first === undefined) return undefined;
  const nodes = leaking.map(({ node, mode }) => `${node} (${mode})`).join(', ');
  const database = `"${first.database.replaceAll('"', '""')}"`;
  return `Citus leaks memory where plan_cache_mode is not force_custom_plan: ${nodes}. On each of these nodes, run: ALTER DATABASE ${database} SET plan_cache_mode = force_custom_plan`;
}
