import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import closeWithGrace from 'close-with-grace';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { HeavyWork } from '../core/admin/heavy-work.ts';
import { listenOnSocket } from '../core/admin/local-socket.ts';
import { type Config, ConfigError, collectorFor, configWarnings, loadConfig } from '../core/config.ts';
import type { Database } from '../core/database/database.ts';
import { JobFaults } from '../core/database/job-faults.ts';
import {
  type DatabaseEvents,
  describeListenFault,
  describeStartFault,
  openMigrated,
  readConfigured,
} from '../core/database/open-database.ts';
import { hasReason, OperatorError } from '../core/errors/errors.ts';
import { expireFiles } from '../core/files/expiry.ts';
import { pruneHistory } from '../core/history/pruning.ts';
import type { Tracing } from '../core/http/tracing.ts';
import { closeLog, createLogger } from '../core/lib/logger.ts';
import { schedule } from '../core/lib/schedule.ts';
import { pruneAudit } from '../core/tenants/audit.ts';
import { tenantDefaults } from '../core/tenants/effective-settings.ts';
import { recordSizes } from '../core/tenants/fleet-usage.ts';
import { applyBootstrap, type Bootstrap, loadBootstrap } from '../core/tenants/initial-data.ts';
import { ALL_KEYS, Keys } from '../core/tenants/keys.ts';
import { pruneStoredResults } from '../core/tenants/stored-results.ts';
import { FirstKey } from '../features/sign-in/first-key.ts';
import { buildAdminApp } from './admin-app.ts';
import { buildApp } from './agents-app.ts';

const CHECK_EVERY_MS = 500;

/**
 * Calls `onEnd` when the `npx` that started this process ends. npx runs a shell that runs the command, does not forward
 * signals, and may end first. Other parents are not watched, because a process may intentionally outlive them, as with
 * `nohup`.
 *
 * @returns a function that stops the watch
 */
export function watchNpx(env: NodeJS.ProcessEnv, onEnd: () => void): () => void {
  if (env.npm_command !== 'exec') return () => {};
  const parent = process.ppid;
  const grandparent = shellParent(parent);
  const timer = setInterval(() => {
    if (process.ppid === parent && shellParent(parent) === grandparent) return;
    clearInterval(timer);
    onEnd();
  }, CHECK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Returns a shell process's parent on Linux. After `kill -9` on npx, the shell continues with another parent. */
function shellParent(pid: number): string | undefined {
  try {
    const [, name, parent] = /^\d+ \((.*)\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return name?.endsWith('sh') ? parent : undefined;
  } catch {
    // The system is not Linux, or the shell has just ended.
    return undefined;
  }
}

/**
 * Runs the service until a signal ends it. SIGTERM and SIGINT make the service unready, complete running requests, and
 * close the service. `SHUTDOWN_TIMEOUT_MS` or a second signal force the end.
 *
 * @throws OperatorError if the service cannot start
 */
export async function serve(env: NodeJS.ProcessEnv): Promise<void> {
  const { config, bootstrap } = readConfigured(() => loadAll(env));
  const log = createLogger(config.LOG_LEVEL);
  for (const warning of configWarnings(env, config)) log.warn(warning);
  // The functions that stop the started parts. The list grows during the start, because a signal can arrive at any
  // time.
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

  const stopWatching = watchNpx(env, () => {
    log.warn('npx has ended, so the service stops');
    void shutdown.close();
  });
  started.push(async () => stopWatching());

  const telemetry = await startTelemetry(config, log);
  const { tracing } = telemetry;
  // Telemetry stops last, after all spans have ended.
  started.push(async () => void (await telemetry.stop()));
  const events: DatabaseEvents = {
    stopped(reason) {
      failed = true;
      log.fatal(
        { dataDir: config.DATA_DIR, reason },
        'the embedded database has stopped. No acknowledged write is lost. Make sure that its disk has room and works, then start the service again.',
      );
      void shutdown.close();
    },
    readOnly: (isReadOnly) => logReadOnly(log, config, isReadOnly),
    unreachable: (reason) =>
      log.error({ reason }, 'no connection to the database can be opened: requests that need one get 503'),
    reachable: () => log.info('connections to the database can be opened again'),
    nodeHangs: (node) =>
      log.error(
        { node },
        'a Citus node does not respond: requests of its tenants get 503, except for probes',
      ),
    nodeResponds: (node) => log.info({ node }, 'the Citus node responds again'),
  };
  const database = await openMigrated(config, events, tracing?.statements, (line) => log.warn(line));
  started.push(() => database.close());
  const created = await applyBootstrap(database, bootstrap)
    .then(async (made) => {
      if (config.AUTH === 'keys') await warnWithoutKeys(database, log);
      return made;
    })
    .catch(async (error) => {
      await stop();
      throw new OperatorError(describeStartFault(config, error));
    });
  if (created.tenants > 0 || created.keys > 0) log.info(created, 'created the initial tenants and keys');
  const agents = await buildApp({ config, database, log, tracing });
  const { metrics, services } = agents;
  started.push(startJobs(config, database, log, agents));
  await services.keptOut.check().catch(async (error) => {
    await agents.close();
    await stop();
    throw hasReason(error, 'installation_secret_differs') ? new OperatorError(error.message) : error;
  });
  const heavyWork = new HeavyWork(config.HANDLER_TIMEOUT_MS);
  const shared = { config, database, log, tracing, metrics, services, heavyWork };
  const isLocked = config.AUTH !== 'none' && config.ADMIN_PORT !== undefined;
  const firstKey = isLocked ? await FirstKey.offer(database) : undefined;
  const listeners = await buildListeners(agents, { ...shared, firstKey });
  const commands = database.kind === 'pglite' ? await buildAdminApp({ ...shared, isLocal: true }) : undefined;
  const apps = [...listeners.map(({ app }) => app), ...(commands ? [commands] : [])];
  started.push(async () => {
    for (const app of apps) app.drain();
    await delay(config.SHUTDOWN_DELAY_MS);
    await Promise.all(apps.map((app) => app.close()));
  });
  if (commands) await takeCommands(commands, config, log);
  for (const { app, purpose, ...address } of listeners) {
    try {
      const url = await app.listen({
        ...address,
        listenTextResolver: (each) => `Server listening at ${each} ${purpose}`,
      });
      if (address.variables === 'ADMIN_' && firstKey !== undefined) logFirstKey(firstKey, config, url, log);
    } catch (error) {
      await stop();
      throw new OperatorError(describeListenFault(address, error));
    }
  }
  if (config.ADMIN_PORT === undefined)
    log.info('the console is off: set ADMIN_PORT=8081 to open it at http://localhost:8081');
  if (database.kind === 'pglite') {
    log.warn(
      { dataDir: config.DATA_DIR },
      'embedded database, for evaluation and for one small worker: it has one connection, a long statement delays all others, and a power cut can lose the latest writes. Set DATABASE_URL for production.',
    );
  }
}

/**
 * Reads the configuration, and the initial tenants and keys.
 *
 * @throws ConfigError with the problems in both
 */
function loadAll(env: NodeJS.ProcessEnv): { config: Config; bootstrap: Bootstrap } {
  const problems: string[] = [];
  const collect = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const config = collect(() => loadConfig(env));
  const bootstrap = collect(() => loadBootstrap(env));
  if (config === undefined || bootstrap === undefined) throw new ConfigError(problems);
  return { config, bootstrap };
}

async function warnWithoutKeys(database: Database, log: Logger): Promise<void> {
  const { rows: keys } = await new Keys(database).page({ ...ALL_KEYS, status: 'active' }, null, 1);
  if (keys.length > 0) return;
  log.warn(
    'AUTH=keys, and there is no active key: every request gets 401. Create a tenant and a key: memory-service tenants create acme, then memory-service keys create --tenant acme',
  );
}

/** The link is a secret, but there is no key to protect yet, and the first use ends the link. */
function logFirstKey(firstKey: FirstKey, { CONSOLE_URL }: Config, url: string, log: Logger): void {
  const link = firstKey.linkAt(CONSOLE_URL ?? url);
  log.warn(`there is no admin key: create one in the console, with a link that works once: ${link}`);
}

interface Listener {
  app: FastifyInstance;
  /** The listener's users and their authentication, for the log. */
  purpose: string;
  host: string;
  port: number;
  /** The prefix for the variables with the listener's address. */
  variables: '' | 'ADMIN_';
}

/** Builds the main listener, and the admin listener if `ADMIN_PORT` is set. */
async function buildListeners(
  agents: FastifyInstance,
  shared: Parameters<typeof buildAdminApp>[0],
): Promise<Listener[]> {
  const { AUTH, HOST, PORT, ADMIN_HOST, ADMIN_PORT } = shared.config;
  const service: Listener = {
    app: agents,
    purpose: `for agents (AUTH=${AUTH})`,
    host: HOST,
    port: PORT,
    variables: '',
  };
  if (ADMIN_PORT === undefined) return [service];
  const app = await buildAdminApp(shared);
  const purpose = `for administrators: the console and the admin API (${AUTH === 'none' ? 'AUTH=none' : 'admin keys'})`;
  return [service, { app, purpose, host: ADMIN_HOST, port: ADMIN_PORT, variables: 'ADMIN_' }];
}

/** Serves commands on the embedded database while this process uses it. A failure only disables this feature. */
async function takeCommands(app: FastifyInstance, { DATA_DIR }: Config, log: Logger): Promise<void> {
  try {
    if (process.platform === 'win32') throw Object.assign(new Error(), { code: 'no Unix domain sockets' });
    await listenOnSocket(app, DATA_DIR);
  } catch (error) {
    const { code: reason } = error as NodeJS.ErrnoException;
    log.warn(
      { reason },
      'no socket in DATA_DIR: until this process stops, commands need --url and an admin API (ADMIN_PORT)',
    );
  }
}

/** The interval is short, because people wait for a job to start. */
const STARTING = { firstAfterMs: 1000, everyMs: 1000 };
const RECORDING = { firstAfterMs: 1000, everyMs: 15_000 };
const CLEANING = { firstAfterMs: 60 * 1000, everyMs: 60 * 60 * 1000 };
/** The interval is short, because requests wait for each run, and a run takes longer the more rows were deleted. */
const VACUUMING = { firstAfterMs: 5000, everyMs: 5000 };

/** Starts the service's background jobs, and returns a function that stops them. */
function startJobs(
  config: Config,
  database: Database,
  log: Logger,
  { parts, activity }: Pick<FastifyInstance, 'parts' | 'activity'>,
): () => Promise<void> {
  const cleaning: Record<string, () => Promise<unknown>> = {
    expiration: async () => {
      const expired = await expireFiles(database, {
        defaultTtlDays: config.MEMORY_TTL_DAYS,
        ...tenantDefaults(config),
      });
      if (expired && expired.files > 0) log.info(expired, 'expired files');
    },
    pruning: async () => {
      await pruneStoredResults(database, {
        hours: config.IDEMPOTENCY_HOURS,
        maxStoredResults: config.MAX_TENANT_STORED_RESULTS,
      });
    },
    audit: async () => {
      await pruneAudit(database, config.AUDIT_DAYS);
    },
    usage: async () => {
      await recordSizes(database, config);
    },
    history: async () => {
      const pruned = await pruneHistory(database, tenantDefaults(config));
      if (pruned && pruned.versions > 0) log.info(pruned, 'pruned the history');
    },
  };
  const faults = new JobFaults(log);
  const start = (job: string, work: () => Promise<unknown>, times: typeof CLEANING) =>
    schedule(work, {
      ...times,
      onError: (error) => faults.report(job, error, 'a job failed; it is tried again later'),
    });
  for (const { hourly } of parts) Object.assign(cleaning, hourly);
  const stops = Object.entries(cleaning).map(([job, work]) => start(job, work, CLEANING));
  for (const { everySecond = {}, stopJobs } of parts) {
    for (const [job, work] of Object.entries(everySecond)) stops.push(start(job, work, STARTING));
    if (stopJobs) stops.push(stopJobs);
  }
  stops.push(start('activity', () => activity.flush(), RECORDING));
  if (database.vacuum) stops.push(start('vacuum', database.vacuum, VACUUMING));
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

function logReadOnly(log: Logger, { DATA_DIR: dataDir }: Config, isReadOnly: boolean): void {
  if (isReadOnly) log.error({ dataDir }, 'the disk is nearly full: writes are rejected until there is room');
  else log.info({ dataDir }, 'the disk has room again: writes are accepted');
}

function asErrorLog(log: { error(details: object, message: string): void }) {
  return { error: (message: unknown) => log.error({ reason: String(message) }, 'shutdown') };
}

/**
 * Starts the exports to a collector. The imports are deferred, so that without a collector OpenTelemetry is not loaded.
 */
async function startTelemetry(
  config: Config,
  log: Logger,
): Promise<{ tracing: Tracing | undefined; stop(): Promise<unknown> }> {
  const [traces, logs] = [collectorFor('TRACES', config), collectorFor('LOGS', config)];
  const tracing =
    traces === undefined
      ? undefined
      : (await import('../features/telemetry/opentelemetry.ts')).startOpenTelemetry(config, traces, log);
  const auditLogs =
    logs === undefined
      ? undefined
      : (await import('../features/telemetry/audit-logs.ts')).startAuditLogs(config, logs, log, {
          activeContext: tracing?.activeContext,
        });
  return { tracing, stop: () => Promise.all([tracing?.stop(), auditLogs?.stop()]) };
}
