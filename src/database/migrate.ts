import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../errors/errors.ts';
import {
  ALL_TABLES,
  DELEGATED_FUNCTIONS,
  describeLeakingNodes,
  IS_DISTRIBUTED,
  PLAN_CACHE_MODES,
  type PlanCacheMode,
} from './citus.ts';
import type { Database } from './database.ts';
import { asDatabaseError, DatabaseError } from './errors.ts';
import { defineQuery, type QueryExecutor } from './query.ts';

/** Folder of the SQL files, beside `src` and beside `dist`. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url));

/** The sources of the database functions and the views they use, each `CREATE OR REPLACE`. */
const FUNCTIONS_FOLDER = join(MIGRATIONS_FOLDER, 'functions');

/**
 * Version of the schema: of the migrations and of the functions in `FUNCTIONS_FOLDER`. It is stored in the database.
 * Increment it with every change of either since the last release.
 *
 * Old and new replicas run side by side, so a released function is never changed incompatibly: a new meaning gets a
 * new name, and the old function is dropped a release later. An older replica leaves newer functions alone.
 */
export const FUNCTIONS_VERSION = 1;

/**
 * The oldest `FUNCTIONS_VERSION` whose service may run on this schema; it is stored, too, and older ones refuse the
 * database. Raise it with the change that takes away what an older one uses.
 */
const OLDEST_COMPATIBLE_VERSION = 1;

/**
 * Applies missing migrations and functions. Several processes may call it at once.
 *
 * @throws OperatorError when this version cannot use the database
 */
export async function migrate(database: Database): Promise<void> {
  const state = await schemaState(database);
  if (state === 'current') return;
  assertCompatible(state);
  await database.migrate(MIGRATIONS_FOLDER, functionsScript());
}

/**
 * Returns a script that creates all functions unless the database has a newer version. Their order does not matter,
 * since none is called meanwhile.
 */
export function functionsScript(): string {
  const sources = readdirSync(FUNCTIONS_FOLDER).map((file) =>
    readFileSync(join(FUNCTIONS_FOLDER, file), 'utf8'),
  );
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
 * - `current`: every migration and function that this version needs is there, distributed on Citus
 * - `behind`: some are not
 * - `too_new`: a newer version, which this one may not run beside, migrated the database
 * - `unreleased`: a version before 0.1.0 made it, and no migration leads from there
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

/** The times of the migrations, the first one first, by which the database knows them. */
function migrationTimes(): number[] {
  if (times === undefined) {
    const journal = JSON.parse(readFileSync(`${MIGRATIONS_FOLDER}/meta/_journal.json`, 'utf8')) as {
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
 * Whether the server follows another one, and so can only read: `DATABASE_URL` names a standby, or a failover has
 * made it one.
 *
 * @throws DatabaseError when it does not respond
 */
export async function isStandby(database: Database): Promise<boolean> {
  return (await database.query(standbyQuery, {})).rows[0]?.isStandby === true;
}

const planCacheModesQuery = defineQuery<Record<string, never>, PlanCacheMode>(
  'plan_cache_modes',
  PLAN_CACHE_MODES,
);

/** Reports the nodes of a Citus cluster that leak memory with their settings. Never rejects: a node may be down. */
export async function checkPlanCache(database: Database, report: (line: string) => void): Promise<void> {
  if (database.kind !== 'citus') return;
  try {
    const line = describeLeakingNodes((await database.query(planCacheModesQuery, {})).rows);
    if (line !== undefined) report(line);
  } catch (error) {
    report(`Could not check plan_cache_mode of the Citus nodes (${asDatabaseError(error).code}).`);
  }
}
