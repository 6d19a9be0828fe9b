import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { expireFiles } from './expiration/expiration.ts';
import { pruneAnswers } from './idempotency/pruning.ts';
import { closeLog, createLogger } from './logger.ts';
import { DataDirectoryDamaged, DataDirectoryInUse } from './postgres/data-directory.ts';
import { type Database, openDatabase } from './postgres/database.ts';
import { asDatabaseError, DatabaseError, describe } from './postgres/errors.ts';
import { migrate } from './postgres/migrate.ts';
import { schedule } from './util/schedule.ts';

/** A start that failed for a reason an operator can deal with; the message is all there is to show. */
export class StartError extends Error {}

/**
 * Runs the service until a signal ends it: configuration, database, migrations, HTTP. SIGTERM and SIGINT make it
 * unready, let running requests finish, and close; `SHUTDOWN_TIMEOUT_MS` or a second signal force it.
 *
 * @throws StartError when it cannot start.
 */
export async function serve(env: NodeJS.ProcessEnv): Promise<void> {
  // V8 puts objects that are often alive at a collection among the old ones at once. Here those are the rows of whatever batch it falls
  // into; then each row keeps its content until the old ones are collected, which doubles what collections cost.
  setFlagsFromString('--no-allocation-site-pretenuring');
  const config = configFrom(env);
  const log = createLogger(config.LOG_LEVEL);
  // What has been started so far; a signal may come at any time.
  const started: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (let end = started.pop(); end !== undefined; end = started.pop()) await end();
  };
  closeWithGrace({ delay: config.SHUTDOWN_TIMEOUT_MS, logger: asErrorLog(log) }, async ({ signal, err }) => {
    if (err) log.fatal({ errorName: err.name, stack: err.stack }, 'stopping after an unexpected error');
    else log.info({ signal }, 'stopping');
    await stop();
    log.info('stopped');
    await closeLog();
  });

  const database = await openMigrated(config);
  started.push(() => database.close());
  started.push(startJobs(config, database, log));
  const app = await buildApp({ config, database, log });
  started.push(async () => {
    app.drain();
    await delay(config.SHUTDOWN_DELAY_MS);
    await app.close();
  });
  try {
    await app.listen({ host: config.HOST, port: config.PORT });
  } catch (error) {
    await stop();
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'the port is in use; set PORT to another' : (code ?? 'unknown error');
    throw new StartError(`Cannot listen on ${config.HOST}:${config.PORT}: ${why}`);
  }
  if (database.kind === 'pglite') {
    log.warn(
      { dataDir: config.DATA_DIR },
      'embedded database: for trying out and for one small worker. It is one process and one connection, long statements hold up all others, and a power cut can lose the latest writes. Set DATABASE_URL for production.',
    );
  }
}

/**
 * The configured database, migrated, for a command that is done when it ends.
 *
 * @throws StartError when it cannot be had.
 */
export async function openSession(env: NodeJS.ProcessEnv): Promise<{ config: Config; database: Database }> {
  const config = configFrom(env);
  return { config, database: await openMigrated(config) };
}

const CLEANING_INTERVAL_MS = 60 * 60 * 1000;
const FIRST_CLEANING_AFTER_MS = 60 * 1000;

/** Starts the background work of a serving process; the returned function ends it. */
function startJobs(config: Config, database: Database, log: Logger): () => Promise<void> {
  const jobs = {
    expiration: async () => {
      const expired = await expireFiles(database, {
        defaultTtlDays: config.MEMORY_TTL_DAYS,
        historyDays: config.HISTORY_DAYS,
      });
      if (expired && expired.files > 0) log.info(expired, 'expired files');
    },
    pruning: async () => {
      await pruneAnswers(database, { hours: config.IDEMPOTENCY_HOURS });
    },
  };
  const stops = Object.entries(jobs).map(([job, work]) =>
    schedule(work, {
      firstAfterMs: FIRST_CLEANING_AFTER_MS,
      everyMs: CLEANING_INTERVAL_MS,
      onError: (error) =>
        log.error({ job, fault: asDatabaseError(error).code }, 'a job failed; it is tried again later'),
    }),
  );
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

function configFrom(env: NodeJS.ProcessEnv): Config {
  try {
    return loadConfig(env);
  } catch (error) {
    throw error instanceof ConfigError ? new StartError(error.message) : error;
  }
}

async function openMigrated(config: Config): Promise<Database> {
  try {
    const database = await openDatabase(config);
    await migrateWhenReachable(config, database);
    return database;
  } catch (error) {
    if ([ConfigError, DataDirectoryInUse, DataDirectoryDamaged].some((known) => error instanceof known)) {
      throw new StartError((error as Error).message);
    }
    throw error;
  }
}

/** Under docker-compose and the like the database may come up after the service: tries for a while. */
async function migrateWhenReachable(config: Config, database: Database): Promise<void> {
  const deadline = Date.now() + config.DB_START_TIMEOUT_MS;
  for (;;) {
    try {
      return await migrate(database);
    } catch (error) {
      if (asDatabaseError(error).status === 503 && Date.now() < deadline) {
        await delay(500);
        continue;
      }
      await database.close().catch(() => {});
      throw new StartError(describeStartFault(config, error));
    }
  }
}

function describeStartFault(config: Config, error: unknown): string {
  const reason =
    error instanceof DatabaseError ? (error.accessFault ?? `SQLSTATE ${error.sqlState}`) : describe(error);
  if (config.DATABASE_URL === undefined) {
    return `The embedded database in ${config.DATA_DIR} cannot be used: ${reason}`;
  }
  const { hostname, port, pathname } = new URL(config.DATABASE_URL);
  return `The database at ${hostname}:${port || 5432}${pathname} cannot be used: ${reason}\nCheck DATABASE_URL, and that the server runs and lets this user in.`;
}

function asErrorLog(log: { error(details: object, message: string): void }) {
  return { error: (message: unknown) => log.error({ reason: String(message) }, 'shutdown') };
}
