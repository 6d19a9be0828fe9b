import { setTimeout as delay } from 'node:timers/promises';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { OperatorError } from './errors.ts';
import { type Database, describeDatabase, type EmbeddedEvents, openDatabase } from './postgres/database.ts';
import { asDatabaseError } from './postgres/errors.ts';
import { openExistingDatabase } from './postgres/existing-database.ts';
import { isMigrated, migrate } from './postgres/migrate.ts';
import { describeStartFault, describeUnmigrated } from './start-faults.ts';

/** A start that failed for a reason an operator can deal with; the message is all there is to show. */
export class StartError extends Error {}

/** Runs what may find the configuration invalid. @throws StartError when it does */
export function configured<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asStartError(error);
  }
}

/**
 * Opens the database of a service, which is created if it is an embedded one, and brings it up to date.
 *
 * @throws StartError, OperatorError when it cannot be used
 */
export async function openMigrated(config: Config, events: EmbeddedEvents): Promise<Database> {
  const database = await openDatabase(config, events).catch((error) => {
    throw asStartError(error);
  });
  await whenReachable(config, database, () => migrate(database));
  return database;
}

/**
 * Opens the configured database for a command, and says on standard error which one it is.
 *
 * @param options.migrate brings it up to date; otherwise it has to be
 * @throws StartError, OperatorError when it cannot be used
 */
export async function openSession(
  env: NodeJS.ProcessEnv,
  options: { migrate: boolean } = { migrate: false },
): Promise<{ config: Config; database: Database }> {
  const config = configured(() => loadConfig(env));
  const events = {
    stopped: () => {},
    readOnly: (isReadOnly: boolean) => {
      if (isReadOnly) console.error(`The disk with ${config.DATA_DIR} is nearly full: nothing is written.`);
    },
  };
  const database = await openExistingDatabase(config, events).catch((error) => {
    throw asStartError(error);
  });
  console.error(`Using ${describeDatabase(config)}.`);
  await whenReachable(config, database, async () => {
    if (options.migrate) await migrate(database);
    else if (!(await isMigrated(database))) throw new OperatorError(describeUnmigrated(config));
  });
  return { config, database };
}

/**
 * Under Docker Compose and the like the database may come up after the service: tries for a while. Closes the database when the work
 * fails.
 */
async function whenReachable(config: Config, database: Database, work: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + config.DB_START_TIMEOUT_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isExplained = error instanceof OperatorError;
      if (!isExplained && asDatabaseError(error).status === 503 && Date.now() < deadline) {
        await delay(500);
        continue;
      }
      await database.close().catch(() => {});
      throw isExplained ? error : new StartError(describeStartFault(config, error));
    }
  }
}

function asStartError(error: unknown): unknown {
  return error instanceof ConfigError ? new StartError(error.message) : error;
}
