import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { OperatorError } from '../errors.ts';
import {
  COORDINATOR_TABLES,
  DELEGATED_FUNCTIONS,
  REFERENCE_TABLES,
  TABLE_STATES,
  TENANT_TABLES,
  UNDISTRIBUTED_FUNCTIONS,
} from './citus.ts';

/** The oldest one that the tests run on. */
const OLDEST_MAJOR_VERSION = 13;

/**
 * Checks the cluster, and sets that Citus visits the shards of a table one after the other: only so can one transaction of a migration
 * change tables of several kinds.
 *
 * @throws OperatorError when the cluster cannot be migrated as it is
 */
export async function prepareCluster(client: pg.ClientBase): Promise<void> {
  const version = await versionOf(client);
  if (Number.parseInt(version, 10) < OLDEST_MAJOR_VERSION) {
    throw new OperatorError(
      `The database has Citus ${version}, and memory-service needs ${OLDEST_MAJOR_VERSION} or newer. Update Citus on every node, then run ALTER EXTENSION citus UPDATE on each.`,
    );
  }
  const [node] = await rows<{ isCoordinator: boolean }>(
    client,
    'SELECT citus_is_coordinator() AS "isCoordinator"',
  );
  if (!node?.isCoordinator) {
    throw new OperatorError(
      'The database is a worker of a Citus cluster, and only the coordinator can be migrated. Run memory-service migrate with a DATABASE_URL of the coordinator first.',
    );
  }
  const [coordinator] = await rows<{ isRegistered: boolean }>(client, COORDINATOR_IS_REGISTERED);
  if (!coordinator?.isRegistered) {
    throw new OperatorError(
      "The workers do not know the coordinator of the Citus cluster. Run SELECT citus_set_coordinator_host('its host name', 5432) there, then memory-service migrate.",
    );
  }
  const workers = await rows<Worker>(client, WORKERS);
  const faults = workers.map((worker) => faultOf(worker, version)).filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new OperatorError(faults.join('\n'));
  await client.query("SET citus.multi_shard_modify_mode = 'sequential'");
}

const VERSION = "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'";

/** A cluster without workers registers its coordinator by itself. */
const COORDINATOR_IS_REGISTERED = `
SELECT NOT EXISTS (SELECT FROM pg_dist_node) OR EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0) AS "isRegistered"`;

async function versionOf(client: pg.ClientBase): Promise<string> {
  const [extension] = await rows<{ version: string }>(client, VERSION);
  if (extension === undefined) throw new Error('The extension citus is gone.');
  return extension.version;
}

interface Worker {
  name: string;
  success: boolean;
  /** The version of its extension; empty: it has none. */
  result: string;
}

const WORKERS = `
SELECT nodename || ':' || nodeport AS name, success, result
FROM run_command_on_workers($$${VERSION}$$)`;

function faultOf({ name, success, result }: Worker, version: string): string | undefined {
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
 * Distributes the tables and functions that are not distributed yet, with their rows, all or none. Writes wait meanwhile.
 *
 * @param folder of the migrations
 * @throws OperatorError when a table is distributed in another way than the service needs
 */
export async function distribute(client: pg.ClientBase, folder: string): Promise<void> {
  await client.query('BEGIN');
  try {
    const tenantTables = await localTables(client, TENANT_TABLES, (table) =>
      table === 'public.tenants' ? 'id' : 'tenant_id',
    );
    await distributeByTenant(client, tenantTables);
    const referenceTables = await localTables(client, REFERENCE_TABLES, () => 'reference');
    for (const table of referenceTables) await client.query('SELECT create_reference_table($1)', [table]);
    // After the others: the first of them registers the coordinator of a cluster without workers.
    for (const table of await localTables(client, COORDINATOR_TABLES, () => 'coordinator')) {
      await client.query('SELECT citus_add_local_table_to_metadata($1)', [table]);
    }
    await copyFunctions(client);
    await client.query(readFileSync(join(folder, 'citus/memory_hold_shard.sql'), 'utf8'));
    const functions = await rows<{ name: string }>(client, UNDISTRIBUTED_FUNCTIONS, [DELEGATED_FUNCTIONS]);
    for (const { name } of functions) await client.query(DISTRIBUTE_FUNCTION, [name]);
    // The rows were copied to the shards.
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

/** Creates on the workers the functions that were created before there was a cluster. Citus passes new ones on by itself. */
async function copyFunctions(client: pg.ClientBase): Promise<void> {
  for (const { source } of await rows<{ source: string }>(client, LOCAL_FUNCTIONS))
    await client.query(source);
}

const DISTRIBUTE_FUNCTION =
  "SELECT create_distributed_function($1::regprocedure, 'p_tenant', colocate_with => 'public.tenants')";

/** @throws OperatorError when one is distributed, but not as `wanted` */
async function localTables(
  client: pg.ClientBase,
  tables: readonly string[],
  wanted: (table: string) => string,
): Promise<string[]> {
  const states = await rows<{ name: string; state: string | null }>(client, TABLE_STATES, [tables]);
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

/** A foreign key holds between two tables that are both distributed, so those of the tables are dropped and added again. */
async function distributeByTenant(client: pg.ClientBase, tables: string[]): Promise<void> {
  const keys = await rows<{ table: string; name: string; definition: string }>(client, FOREIGN_KEYS, [
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

async function rows<Row>(client: pg.ClientBase, sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await client.query(sql, values)).rows;
}
