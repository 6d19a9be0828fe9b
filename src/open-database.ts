import { setTimeout as delay } from 'node:timers/promises';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { openExistingDatabase } from './embedded/existing-database.ts';
import { OperatorError } from './errors.ts';
import { type Database, describeDatabase, type EmbeddedEvents, openDatabase } from './postgres/database.ts';
import { asDatabaseError } from './postgres/errors.ts';
import { assertCompatible, migrate, schemaState } from './postgres/migrate.ts';
import type { StatementTracer } from './postgres/statement-tracer.ts';
import { describeStartFault, describeUnmigrated } from './start-errors.ts';

/** Reads the configuration. @throws OperatorError when it is invalid */
export function configured<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw explained(error);
  }
}

/** How long a database may take to answer until it is reported. */
const SLOW_AFTER_MS = 1000;
const RETRY_AFTER_MS = 1000;

/** Receives a line whenever the database cannot be reached, or does not answer. */
type Report = (line: string) => void;

/**
 * Opens the database of the service and migrates it. Creates an embedded one that does not exist.
 *
 * @throws OperatorError when it cannot be used
 */
export async function openMigrated(
  config: Config,
  events: EmbeddedEvents,
  tracer: StatementTracer | undefined,
  report: Report,
): Promise<Database> {
  return whenReachable(config, () => openDatabase(config, events, tracer), migrate, report);
}

/**
 * Opens the configured database for a command.
 *
 * @param options.notify receives a line that names the database, one whenever its disk is nearly full, and one whenever it is unreachable
 * @param options.migrate migrates the database; otherwise it must be up to date
 * @throws OperatorError when it cannot be used
 */
export async function openSession(
  env: NodeJS.ProcessEnv,
  options: { notify: (line: string) => void; migrate?: boolean },
): Promise<{ config: Config; database: Database }> {
  const config = configured(() => loadConfig(env));
  const events = {
    stopped: () => {},
    readOnly: (isReadOnly: boolean) => {
      if (isReadOnly) options.notify(`The disk with ${config.DATA_DIR} is nearly full: writes are refused.`);
    },
  };
  const open = async () => {
    const opened = await openExistingDatabase(config, events);
    options.notify(`Using ${describeDatabase(config)}.`);
    return opened;
  };
  const work = async (opened: Database) => {
    if (options.migrate) return migrate(opened);
    const state = await schemaState(opened);
    assertCompatible(state);
    if (state !== 'current') throw new OperatorError(describeUnmigrated(config));
  };
  const database = await whenReachable(config, open, work, options.notify);
  return { config, database };
}

/**
 * Opens a database and works on it. Retries both for a while, because the database may start after the service, for example with Docker
 * Compose. Closes the database when the work fails.
 */
async function whenReachable(
  config: Config,
  open: () => Promise<Database>,
  work: (database: Database) => Promise<void>,
  report: Report,
): Promise<Database> {
  const deadline = Date.now() + config.DB_START_TIMEOUT_MS;
  let database: Database | undefined;
  for (;;) {
    try {
      database ??= await reportingDelay(config, open, report);
      await work(database);
      return database;
    } catch (error) {
      const isExplained = error instanceof OperatorError || error instanceof ConfigError;
      if (!isExplained && asDatabaseError(error).status === 503 && Date.now() < deadline) {
        report(`${describeStartFault(config, error)} Trying again.`);
        await delay(RETRY_AFTER_MS);
        continue;
      }
      await database?.close().catch(() => {});
      throw isExplained ? explained(error) : new OperatorError(describeStartFault(config, error));
    }
  }
}

/** Reports a server that keeps a connection waiting, before the attempt times out. */
async function reportingDelay<T>(config: Config, open: () => Promise<T>, report: Report): Promise<T> {
  if (config.DATABASE_URL === undefined) return open();
  const line = `Waiting for ${describeDatabase(config)}, which has not answered yet.`;
  const timer = setTimeout(() => report(line), SLOW_AFTER_MS);
  try {
    return await open();
  } finally {
    clearTimeout(timer);
  }
}

function explained(error: unknown): unknown {
  return error instanceof ConfigError ? new OperatorError(error.message) : error;
}
