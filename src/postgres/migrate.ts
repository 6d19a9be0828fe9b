import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDistributed } from './citus.ts';
import type { Database } from './database.ts';
import { DatabaseError } from './errors.ts';
import { defineQuery } from './query.ts';

/** Folder of the SQL files, beside `src` and beside `dist`. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url));

/** The sources of the database functions and the views they use, each `CREATE OR REPLACE`. */
const FUNCTIONS_FOLDER = join(MIGRATIONS_FOLDER, 'functions');

/**
 * Version of the functions in `FUNCTIONS_FOLDER`, stored in the database. Increment it with every change of a function.
 *
 * Old and new replicas run side by side, so a released function is never changed incompatibly: a new meaning gets a new name, and the
 * old function is dropped a release later. An older replica leaves newer functions alone.
 */
export const FUNCTIONS_VERSION = 1;

/** Applies missing migrations and functions. Several processes may call it at once. */
export async function migrate(database: Database): Promise<void> {
  // Fast path: the schema is already current.
  if (await isMigrated(database)) return;
  await database.migrate(MIGRATIONS_FOLDER, functionsScript());
}

/**
 * Returns a script that creates all functions unless the database has a newer version. Their order does not matter, since none is called
 * meanwhile.
 */
function functionsScript(): string {
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
$functions$;
  END IF;
END
$script$`;
}

const appliedQuery = defineQuery<Record<string, never>, { newest: string | null; functions: number }>(
  'applied_migrations',
  [],
  'SELECT max(created_at) AS newest, memory_functions_version() AS functions FROM drizzle.__drizzle_migrations',
);

/**
 * Whether the database answers and has every migration and function that this version of the service needs, distributed on Citus.
 *
 * @throws DatabaseError when it does not answer.
 */
export async function isMigrated(database: Database): Promise<boolean> {
  try {
    const [applied] = (await database.query(appliedQuery, {})).rows;
    if (applied === undefined) return false;
    const isCurrent = Number(applied.newest) >= newestNeeded() && applied.functions >= FUNCTIONS_VERSION;
    return isCurrent && (database.kind !== 'citus' || (await isDistributed(database.query)));
  } catch (error) {
    if (error instanceof DatabaseError && error.isNotMigrated) return false;
    throw error;
  }
}

let newest: number | undefined;

function newestNeeded(): number {
  if (newest === undefined) {
    const journal = JSON.parse(readFileSync(`${MIGRATIONS_FOLDER}/meta/_journal.json`, 'utf8')) as {
      entries: { when: number }[];
    };
    newest = Math.max(...journal.entries.map(({ when }) => when));
  }
  return newest;
}
