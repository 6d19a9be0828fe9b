import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { type Config, ConfigError, loadConfig } from '../config.ts';
import { OperatorError } from '../errors/errors.ts';
import { looksLikeUrl } from '../variable-schemas.ts';
import { type ConnectionEvents, ConnectionWatch } from './connection-watch.ts';
import {
  checkUnlocked,
  DataDirectoryInUse,
  damagedDatabase,
  explainNoCommands,
  hasDatabase,
  isServed,
  socketPath,
} from './data-directory.ts';
import { type Database, describeDatabase } from './database.ts';
import { asDatabaseError } from './database-errors.ts';
import { assertCompatible, checkNodes, migrate, schemaState } from './migrate.ts';
import type { NodeEvents } from './node-shares.ts';
import type { EmbeddedEvents } from './pglite-engine.ts';
import type { StatementTracer } from './query.ts';

const UNKNOWN_HOST =
  'the name does not resolve to an address; set $HOST to an address of this machine, such as 127.0.0.1';
const LISTEN_FAULTS: Partial<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; set $PORT to another port',
  EACCES: 'the operating system does not let this user listen on the port; set $PORT to a number above 1023',
  EADDRNOTAVAIL:
    'no network interface of this machine has the address; set $HOST to an address of this machine, such as 127.0.0.1',
  EAFNOSUPPORT:
    'this machine does not have that kind of address; set $HOST to an address that it has, such as 127.0.0.1',
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
};
const EMBEDDED_FAULTS: Partial<Record<string, string>> = {
  25006: 'its disk is nearly full; make room, or set DATA_DIR to a directory on another disk',
  53100: 'its disk is full; make room, or set DATA_DIR to a directory on another disk',
};

/**
 * Describes in one line why the service cannot listen, with advice.
 *
 * @param address.variables prefix for the address's environment variables
 */
export function describeListenFault(
  { host, port, variables }: { host: string; port: number; variables: '' | 'ADMIN_' },
  error: unknown,
): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = (LISTEN_FAULTS[code] ?? code).replace(/\$(?=HOST|PORT)/, variables);
  return `Cannot listen on ${host}:${port}: ${reason}.`;
}

/** Describes in one line why the database cannot be used, with advice and without the user or password. */
export function describeStartFault(config: Config, error: unknown): string {
  const { faultCode = '', sqlState, unavailability, errorName } = asDatabaseError(error);
  const isEmbedded = config.DATABASE_URL === undefined;
  const code = sqlState ? `SQLSTATE ${sqlState}` : faultCode || errorName;
  const reason = isEmbedded
    ? EMBEDDED_FAULTS[faultCode]
    : (unavailability ?? `${code}; check DATABASE_URL, and the log of the server`);
  if (reason === undefined) return damagedDatabase(config.DATA_DIR, code).message;
  return `${capitalize(describeDatabase(config))} cannot be used: ${reason}.`;
}

/** Describes in one line that the database lacks this version's schema. */
export function describeUnmigrated(config: Config): string {
  return `${capitalize(describeDatabase(config))} is not set up for this version. Run memory-service migrate, or start the service.`;
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Events from either kind of database. */
export type DatabaseEvents = EmbeddedEvents & ConnectionEvents & NodeEvents;

const NO_EVENTS: DatabaseEvents = {
  stopped: () => {},
  readOnly: () => {},
  unreachable: () => {},
  reachable: () => {},
  nodeHangs: () => {},
  nodeResponds: () => {},
};

/** Reads the configuration. @throws OperatorError when it is invalid */
export function readConfigured<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw toOperatorError(error);
  }
}

/**
 * Opens the configured database: `DATABASE_URL`, or the embedded database in `DATA_DIR`.
 *
 * @throws DatabaseError when the server cannot be reached
 * @throws OperatorError when the embedded database cannot be opened, or another process uses it
 * @throws ConfigError when the embedded database is not installed
 */
export async function openDatabase(
  config: Config,
  events: DatabaseEvents = NO_EVENTS,
  tracer?: StatementTracer,
): Promise<Database> {
  if (config.DATABASE_URL !== undefined) {
    const { openPostgres } = await import('./pg.ts');
    return openPostgres(config.DATABASE_URL, config, events, tracer);
  }
  // Imported on demand, because the image does not contain PGlite.
  const { openPglite } = await import('./pglite.ts').catch(explainMissingPglite);
  return openPglite(config.DATA_DIR, config.DB_BATCH_SIZE, events, tracer);
}

function explainMissingPglite(error: Error & { code?: string }): never {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes('@electric-sql/pglite')) throw error;
  throw new ConfigError([
    'DATABASE_URL must be set to a URL such as postgres://user:password@host:5432/database: the embedded database is not installed here',
  ]);
}

/** Response time after which a database is reported as slow. */
const SLOW_AFTER_MS = 1000;
const RETRY_AFTER_MS = 1000;

/** Receives a line whenever the database cannot be reached or does not respond. */
type Report = (line: string) => void;

/**
 * Opens and migrates the service's database. Creates a missing embedded database. Reports Citus nodes that leak memory.
 *
 * @throws OperatorError when the database cannot be used
 */
export async function openMigrated(
  config: Config,
  events: DatabaseEvents,
  tracer: StatementTracer | undefined,
  report: Report,
): Promise<Database> {
  const open = () => openDatabase(config, events, tracer);
  return openWhenReachable(config, open, (opened) => migrateAndCheck(opened, report), report);
}

async function migrateAndCheck(database: Database, report: Report): Promise<void> {
  await checkNodes(database, report);
  await migrate(database);
}

/**
 * Opens the configured database for a command.
 *
 * @param options.notify receives a line when the database becomes unreachable or reachable, or its disk is nearly full
 * @param options.migrate whether to migrate the database; otherwise it must be up to date
 * @throws OperatorError when the database cannot be used
 */
export async function openSession(
  env: NodeJS.ProcessEnv,
  options: { notify: (line: string) => void; migrate?: boolean },
): Promise<{ config: Config; database: Database }> {
  const config = readConfigured(() => loadConfig(env));
  const events = {
    ...NO_EVENTS,
    readOnly: (isReadOnly: boolean) => {
      if (isReadOnly) options.notify(`The disk with ${config.DATA_DIR} is nearly full: writes are rejected.`);
    },
  };
  const open = () => openExistingDatabase(config, events);
  const work = createMigrator(config, options.migrate ?? false, options.notify);
  const database = await openWhenReachable(config, open, work, options.notify);
  return { config, database };
}

/**
 * Opens the source or the target of a data migration: a Postgres URL, or an embedded database's directory. No other
 * process may use the embedded database during the migration.
 *
 * @param options.migrate whether to migrate the database, and to create a missing embedded database; otherwise it must
 * exist and be up to date
 * @throws OperatorError when the database cannot be used
 */
export async function openPlace(
  env: NodeJS.ProcessEnv,
  place: string,
  options: { notify: (line: string) => void; migrate: boolean },
): Promise<Database> {
  const isServer = /^postgres(ql)?:\/\//.test(place);
  const scheme = /^[a-z][a-z\d+.-]*:\/\//i.exec(place)?.[0];
  if (!isServer && scheme !== undefined) {
    throw new OperatorError(
      `There is no database behind ${scheme} that this command knows: name a directory, or a URL like postgres://user:password@host:5432/database.`,
    );
  }
  if (!isServer && looksLikeUrl(place)) {
    throw new OperatorError(
      'A place is neither a directory nor a URL: name a directory, or a URL like postgres://user:password@host:5432/database.',
    );
  }
  const config = readConfigured(() =>
    loadConfig({ ...PATIENT, ...env, DATABASE_URL: isServer ? place : '', DATA_DIR: isServer ? '' : place }),
  );
  const open = async () => {
    if (!isServer && !options.migrate && !hasDatabase(join(place, 'pglite'))) {
      throw new OperatorError(`There is no embedded database in ${resolve(place)}.`);
    }
    return openDatabase(config).catch((error) => {
      if (!(error instanceof DataDirectoryInUse)) throw error;
      throw new OperatorError(
        `A process uses the embedded database in ${place}. Stop the service first, because its later writes would be missing.`,
      );
    });
  };
  return openWhenReachable(
    config,
    open,
    createMigrator(config, options.migrate, options.notify),
    options.notify,
  );
}

/** Timeouts for a data migration. Each database idles while the other one reads or writes a whole tenant. */
const PATIENT = { DB_IDLE_IN_TRANSACTION_TIMEOUT_MS: '0', DB_STATEMENT_TIMEOUT_MS: '5m' };

/** Returns a function that migrates a database, or checks that it is up to date. */
function createMigrator(
  config: Config,
  migrates: boolean,
  report: Report,
): (opened: Database) => Promise<void> {
  return async (opened) => {
    if (migrates) return migrateAndCheck(opened, report);
    const state = await schemaState(opened);
    assertCompatible(state);
    if (state !== 'current') throw new OperatorError(describeUnmigrated(config));
  };
}

/** A service on this machine that accepts commands through a socket. */
export interface LocalService {
  socketPath: string;
  /** The service's data directory. */
  directory: string;
}

/**
 * Finds the service that runs on the configured embedded database.
 *
 * @returns undefined when no service runs, or when the configuration names a server
 * @throws OperatorError when the service accepts no commands from this user
 */
export async function findService(env: NodeJS.ProcessEnv): Promise<LocalService | undefined> {
  const { DATABASE_URL, DATA_DIR: directory } = readConfigured(() => loadConfig(env));
  if (DATABASE_URL !== undefined || !(await isServed(directory))) return undefined;
  return { socketPath: socketPath(directory), directory };
}

/**
 * Opens the configured database for a command. An embedded database must exist.
 *
 * @throws OperatorError when it does not exist, or a process uses it
 */
async function openExistingDatabase(config: Config, events: DatabaseEvents): Promise<Database> {
  if (config.DATABASE_URL !== undefined) return openDatabase(config, events);
  const { DATA_DIR: directory } = config;
  // Checked first, because a starting service's incomplete database would look damaged.
  runExplainingUse(directory, () => checkUnlocked(directory));
  if (!hasDatabase(join(directory, 'pglite'))) {
    throw new OperatorError(
      `There is no embedded database in ${resolve(directory)}. Set DATABASE_URL, or DATA_DIR to the directory of the service. To create a database there, start the service: memory-service serve`,
    );
  }
  // Compiles PGlite's WebAssembly without optimizing it. Most commands end before optimization pays off.
  setFlagsFromString('--liftoff-only');
  return openDatabase(config, events).catch((error) => explainUse(directory, error));
}

function runExplainingUse(directory: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    explainUse(directory, error);
  }
}

function explainUse(directory: string, error: unknown): never {
  if (!(error instanceof DataDirectoryInUse)) throw error;
  throw new OperatorError(`${error.message}\n${explainNoCommands(directory)}`);
}

/**
 * Opens a database and runs `work`. Retries both until `DB_START_TIMEOUT_MS`, because the database may start after the
 * service, for example with Docker Compose. Closes the database if `work` fails.
 */
async function openWhenReachable(
  config: Config,
  open: () => Promise<Database>,
  work: (database: Database) => Promise<void>,
  report: Report,
): Promise<Database> {
  const deadline = Date.now() + config.DB_START_TIMEOUT_MS;
  const watch = new ConnectionWatch({
    unreachable: (fault) => report(`${fault} Trying again.`),
    reachable: () => report(`Connected to ${describeDatabase(config)}.`),
  });
  let database: Database | undefined;
  for (;;) {
    try {
      database ??= await reportDelay(config, open, report);
      await work(database);
      watch.noteOpened();
      return database;
    } catch (error) {
      const isExplained = error instanceof OperatorError || error instanceof ConfigError;
      if (!isExplained && asDatabaseError(error).mayPass && Date.now() < deadline) {
        watch.noteFailure(describeStartFault(config, error));
        await delay(RETRY_AFTER_MS);
        continue;
      }
      await database?.close().catch(() => {});
      throw isExplained ? toOperatorError(error) : new OperatorError(describeStartFault(config, error));
    }
  }
}

/** Reports a server that delays a connection, before the attempt times out. */
async function reportDelay<T>(config: Config, open: () => Promise<T>, report: Report): Promise<T> {
  if (config.DATABASE_URL === undefined) return open();
  const line = `Waiting for ${describeDatabase(config)}, which has not responded yet.`;
  const timer = setTimeout(() => report(line), SLOW_AFTER_MS);
  try {
    return await open();
  } finally {
    clearTimeout(timer);
  }
}

function toOperatorError(error: unknown): unknown {
  return error instanceof ConfigError ? new OperatorError(error.message) : error;
}
