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
export const REFERENCE_TABLES = [
  'public.api_keys',
  'public.audit_events',
  'public.fleet_usage',
  'drizzle.__drizzle_migrations',
];

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

/** How each table is distributed: by which column, as a `reference` table, in `another way`, or null: it is not. */
export const TABLE_STATES = `
SELECT w.name, CASE
    WHEN p.logicalrelid IS NULL THEN NULL
    WHEN p.partmethod = 'n' AND p.repmodel = 't' THEN 'reference'
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
