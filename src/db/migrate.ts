import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Database } from './database.ts';
import { isNotMigrated } from './errors.ts';
import { statement } from './statement.ts';

/** The folder with drizzle-kit's SQL files: beside `src` as beside `dist`. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url));

/** Applies what is missing of the migrations. Safe to call from several processes at once. */
export async function migrate(database: Database): Promise<void> {
  // Nearly every start: the lock, and to load what migrates, would be a tenth of it.
  if (await isMigrated(database)) return;
  await database.migrate(MIGRATIONS_FOLDER);
}

const newestAppliedStatement = statement<Record<string, never>, { created_at: string }>(
  'newest_migration',
  [],
  'SELECT created_at FROM drizzle.__drizzle_migrations ORDER BY created_at DESC LIMIT 1',
);

/**
 * Whether the database answers and has every migration that this version of the service needs.
 * Throws what the driver throws when it does not answer.
 */
export async function isMigrated(database: Database): Promise<boolean> {
  try {
    const { rows } = await database.run(newestAppliedStatement, {});
    return Number(rows[0]?.created_at ?? 0) >= newestNeeded();
  } catch (error) {
    if (isNotMigrated(error)) return false;
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
