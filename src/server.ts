import { setTimeout as delay } from 'node:timers/promises';
import closeWithGrace from 'close-with-grace';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { expireFiles } from './expiration/expiration.ts';
import { pruneHistory } from './history/pruning.ts';
import { pruneAnswers } from './idempotency/pruning.ts';
import { closeLog, createLogger } from './logger.ts';
import { type Database, type EmbeddedEvents, openDatabase } from './postgres/database.ts';
import { asDatabaseError } from './postgres/errors.ts';
import { migrate } from './postgres/migrate.ts';
import { describeListenFault, describeStartFault } from './start-faults.ts';
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
  const config = configFrom(env);
  const log = createLogger(config.LOG_LEVEL);
  // What has been started so far; a signal may come at any time.
  const started: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (let end = started.pop(); end !== undefined; end = started.pop()) await end();
  };
  let failed = false;
  const shutdown = closeWithGrace(
    { delay: config.SHUTDOWN_TIMEOUT_MS, logger: asErrorLog(log) },
    async ({ signal, err }) => {
      if (err) log.fatal({ errorName: err.name, stack: err.stack }, 'stopping after an unexpected error');
      else log.info({ signal }, 'stopping');
      await stop();
      log.info('stopped');
      await closeLog();
      if (failed) process.exit(1);
    },
  );

  const database = await openMigrated(config, {
    stopped(reason) {
      failed = true;
      log.fatal(
        { dataDir: config.DATA_DIR, reason },
        'the embedded database has stopped. No acknowledged write is lost. Make sure that its disk has room and works, then start the service again.',
      );
      void shutdown.close();
    },
    readOnly: (isReadOnly) => logReadOnly(log, config, isReadOnly),
  });
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
    throw new StartError(describeListenFault(config, error));
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
  const events = {
    stopped: () => {},
    readOnly: (isReadOnly: boolean) => {
      if (isReadOnly) console.error(`The disk with ${config.DATA_DIR} is nearly full: nothing is written.`);
    },
  };
  return { config, database: await openMigrated(config, events) };
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
      await pruneAnswers(database, {
        hours: config.IDEMPOTENCY_HOURS,
        maxAnswers: config.MAX_TENANT_ANSWERS,
      });
    },
    history: async () => {
      const pruned = await pruneHistory(database, {
        historyDays: config.HISTORY_DAYS,
        maxHistoryBytes: config.MAX_TENANT_HISTORY_BYTES,
      });
      if (pruned && pruned.versions > 0) log.info(pruned, 'pruned the history');
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

async function openMigrated(config: Config, events: EmbeddedEvents): Promise<Database> {
  const database = await openDatabase(config, events).catch((error) => {
    throw error instanceof ConfigError ? new StartError(error.message) : error;
  });
  await migrateWhenReachable(config, database);
  return database;
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

function logReadOnly(log: Logger, { DATA_DIR: dataDir }: Config, isReadOnly: boolean): void {
  if (isReadOnly) log.error({ dataDir }, 'the disk is nearly full: writes are refused until there is room');
  else log.info({ dataDir }, 'the disk has room again: writes are accepted');
}

function asErrorLog(log: { error(details: object, message: string): void }) {
  return { error: (message: unknown) => log.error({ reason: String(message) }, 'shutdown') };
}
