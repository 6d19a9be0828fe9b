import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../errors/errors.ts';
import {
  ALL_TABLES,
  DELEGATED_FUNCTIONS,
  describeLeakingNodes,
  describeUnfitNodes,
  IS_DISTRIBUTED,
  NODE_SETTINGS,
  type NodeSettings,
} from './citus.ts';
import type { Database } from './database.ts';
import { asDatabaseError, DatabaseError } from './database-errors.ts';
import { defineQuery, type QueryExecutor } from './query.ts';

/** Directory with the SQL files. The relative path is valid from both `src` and `dist`. */
export const MIGRATIONS_DIRECTORY = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** Source files for the database functions and their views, each a `CREATE OR REPLACE`. */
const FUNCTIONS_DIRECTORY = join(MIGRATIONS_DIRECTORY, 'functions');

/**
 * Schema version, which covers the migrations and the functions in `FUNCTIONS_DIRECTORY`. The version is stored in the
 * database. Increment it once per release that changes migrations or functions.
 *
 * Old and new replicas run side by side, so a released function must remain compatible. A function with a new meaning
 * gets a new name, and the old function is dropped one release later. An older replica does not replace newer
 * functions.
 */
export const FUNCTIONS_VERSION = 1;

/**
 * Oldest `FUNCTIONS_VERSION` whose service can run on this schema. It is stored in the database, and older services
 * reject the database. Raise it with a change that removes a function or column that an older service uses.
 */
const OLDEST_COMPATIBLE_VERSION = 1;

/**
 * Applies missing migrations and functions. Several processes may call it at the same time.
 *
 * @throws OperatorError when this version cannot use the database
 */
export async function migrate(database: Database): Promise<void> {
  const state = await schemaState(database);
  if (state === 'current') return;
  assertCompatible(state);
  await database.migrate(MIGRATIONS_DIRECTORY, functionsScript());
}

/**
 * Returns a script that creates all functions, unless the database has a newer version. The function order is
 * arbitrary, because the script does not call the functions.
 */
export function functionsScript(): string {
  const sources = readdirSync(FUNCTIONS_DIRECTORY)
    .sort()
    .map((file) => readFileSync(join(FUNCTIONS_DIRECTORY, file), 'utf8'));
  return `
DO $script$
DECLARE
  applied integer := 0;
BEGIN
  IF to_regprocedure('memory_functions_version()') IS NOT NULL THEN
    applied := memory_functions_version();
  END IF;
  IF applied < ${FUNCTIONS_VERSION} THEN
    SET LOCAL check_function_bodies = off;
    EXECUTE $functions$${sources.join('\n')}
CREATE OR REPLACE FUNCTION memory_functions_version() RETURNS integer
LANGUAGE sql IMMUTABLE AS 'SELECT ${FUNCTIONS_VERSION}';
CREATE OR REPLACE FUNCTION memory_oldest_compatible_version() RETURNS integer
LANGUAGE sql IMMUTABLE AS 'SELECT ${OLDEST_COMPATIBLE_VERSION}';
$functions$;
  END IF;
END
$script$`;
}

/**
 * State of the schema.
 * - `current`: complete for this version, and distributed on Citus.
 * - `behind`: lacks migrations, functions, or their distribution.
 * - `too_new`: migrated by a newer version that this version cannot run beside.
 * - `unreleased`: created by a version before 0.1.0, which cannot be migrated.
 */
export type SchemaState = 'current' | 'behind' | 'too_new' | 'unreleased';

const oldestMigrationQuery = defineQuery<Record<string, never>, { oldest: string | null }>(
  'oldest_migration',
  'SELECT min(created_at) AS oldest FROM drizzle.__drizzle_migrations',
);

const appliedQuery = defineQuery<
  Record<string, never>,
  { newest: string; functions: number; oldestCompatible: number }
>(
  'applied_migrations',
  `
SELECT max(created_at) AS newest, memory_functions_version() AS functions,
  memory_oldest_compatible_version() AS "oldestCompatible"
FROM drizzle.__drizzle_migrations
`,
);

const distributedQuery = defineQuery<{ tables: string[]; functions: string[] }, { isDistributed: boolean }>(
  'is_distributed',
  IS_DISTRIBUTED,
);

/** @throws DatabaseError when the database does not respond */
export async function schemaState(database: Database): Promise<SchemaState> {
  const needed = migrationTimes();
  try {
    const oldest = (await database.query(oldestMigrationQuery, {})).rows[0]?.oldest ?? null;
    if (oldest === null) return 'behind';
    if (Number(oldest) !== needed[0]) return 'unreleased';
    const [applied] = (await database.query(appliedQuery, {})).rows;
    if (applied === undefined) return 'behind';
    if (applied.oldestCompatible > FUNCTIONS_VERSION) return 'too_new';
    const isCurrent = Number(applied.newest) >= Math.max(...needed) && applied.functions >= FUNCTIONS_VERSION;
    const isComplete = isCurrent && (database.kind !== 'citus' || (await isDistributed(database.query)));
    return isComplete ? 'current' : 'behind';
  } catch (error) {
    if (error instanceof DatabaseError && error.isNotMigrated) return 'behind';
    throw error;
  }
}

async function isDistributed(query: QueryExecutor): Promise<boolean> {
  const params = { tables: ALL_TABLES, functions: DELEGATED_FUNCTIONS };
  return (await query(distributedQuery, params)).rows[0]?.isDistributed === true;
}

/** @throws OperatorError when this version can neither use nor migrate the database */
export function assertCompatible(state: SchemaState): void {
  if (state === 'too_new') {
    throw new OperatorError(
      'A newer version of memory-service has migrated the database, and this version cannot run beside it. Use the newer version.',
    );
  }
  if (state === 'unreleased') {
    throw new OperatorError(
      'The database was made by a version of memory-service before 0.1.0, from which there is no upgrade. Export each tenant with the version that made it (memory-service export, without --history), then import the archives into a new database.',
    );
  }
}

let times: number[] | undefined;

/** Returns the migration times, oldest first. The database identifies a migration by its time. */
function migrationTimes(): number[] {
  if (times === undefined) {
    const journal = JSON.parse(readFileSync(`${MIGRATIONS_DIRECTORY}/meta/_journal.json`, 'utf8')) as {
      entries: { when: number }[];
    };
    times = journal.entries.map(({ when }) => when);
  }
  return times;
}

const standbyQuery = defineQuery<Record<string, never>, { isStandby: boolean }>(
  'is_standby',
  'SELECT pg_is_in_recovery() AS "isStandby"',
);

/**
 * Whether the server is a read-only standby: `DATABASE_URL` names a standby, or a failover demoted the server.
 *
 * @throws DatabaseError when the server does not respond
 */
export async function isStandby(database: Database): Promise<boolean> {
  return (await database.query(standbyQuery, {})).rows[0]?.isStandby === true;
}

const nodeSettingsQuery = defineQuery<Record<string, never>, NodeSettings>('node_settings', NODE_SETTINGS);

/**
 * Checks the settings on the Citus nodes that respond, and reports the nodes whose settings make them leak memory. Call
 * this before `migrate`, which sends the functions to the nodes.
 *
 * @throws OperatorError when a node's settings would change texts
 */
export async function checkNodes(database: Database, report: (line: string) => void): Promise<void> {
  if (database.kind !== 'citus') return;
  let nodes: NodeSettings[];
  try {
    nodes = (await database.query(nodeSettingsQuery, {})).rows;
  } catch (error) {
    report(`Could not check the settings of the Citus nodes (${asDatabaseError(error).code}).`);
    return;
  }
  const fault = describeUnfitNodes(nodes);
  if (fault !== undefined) throw new OperatorError(fault);
  const line = describeLeakingNodes(nodes);
  if (line !== undefined) report(line);
}
