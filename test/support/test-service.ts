import { rm } from 'node:fs/promises';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { migrate, schemaState } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import type { Value } from '../../src/core/database/query.ts';
import { buildApp } from '../../src/service/agents-app.ts';
import { numberedQuery } from './numbered-query.ts';
import { copyPgliteTemplate, createTestDatabase, openPool } from './test-database.ts';

export type Backend = 'postgres' | 'pglite';

export interface ServiceResponse {
  status: number;
  /** Message from the tool. Undefined in a problem response. */
  content: string;
  is_error: boolean;
  /** Parsed body, or its text if it is not JSON. */
  body: Record<string, unknown>;
  headers: LightMyRequestResponse['headers'];
}

export type Row = Record<string, unknown>;

export interface Service {
  app: FastifyInstance;
  database: Database;
  /** Sends POST /execute. A string or buffer is sent unchanged, any other value as JSON. */
  execute(
    input: unknown,
    options?: { tenant?: string; headers?: Record<string, string> },
  ): Promise<ServiceResponse>;
  /** Runs raw SQL, bypassing the service. */
  query(sql: string, parameters?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** A service's database: its settings, raw SQL, and cleanup. */
interface TestBackend {
  env: Record<string, string>;
  query(database: Database, sql: string, parameters: unknown[]): Promise<Row[]>;
  end(): Promise<void>;
}

/** @param url URL for an existing database, which is kept afterward; by default a new one */
async function postgresBackend(url?: string): Promise<TestBackend> {
  const own = url ? { url, drop: async () => {} } : await createTestDatabase();
  const pool = openPool(own.url, { max: 3 });
  return {
    env: { DATABASE_URL: own.url },
    query: async (_, sql, parameters) => (await pool.query(sql, parameters)).rows,
    end: async () => {
      await pool.end();
      await own.drop();
    },
  };
}

/** @param directory existing DATA_DIR, which is kept afterward; by default a new one */
async function pgliteBackend(directory?: string): Promise<TestBackend> {
  const own = directory ?? (await copyPgliteTemplate());
  return {
    env: { DATA_DIR: own },
    // PGlite has only one connection, so raw queries share the service's.
    query: async (database, sql, parameters) => {
      const { statement, params } = numberedQuery<Row>(sql, parameters as Value[]);
      return (await database.query(statement, params)).rows;
    },
    end: async () => {
      if (!directory) await rm(own, { recursive: true, force: true });
    },
  };
}

// Long timeouts and no concurrency limits, so that tests pass on a slow machine.
const DEFAULTS = {
  HANDLER_TIMEOUT_MS: '120000',
  MAX_QUEUE_MS: '60000',
  MAX_IN_FLIGHT: '0',
  MAX_IN_FLIGHT_PER_TENANT: '0',
  AUTH: 'none',
  LOG_LEVEL: 'silent',
  DB_CONNECT_TIMEOUT_MS: '60000',
  DB_LOCK_TIMEOUT_MS: '60000',
  DB_STATEMENT_TIMEOUT_MS: '60000',
};

interface OpenBackend extends TestBackend {
  database: Database;
}

async function openBackend(kind: Backend, env: Record<string, string> = {}): Promise<OpenBackend> {
  const backend = await (kind === 'postgres'
    ? postgresBackend(env.DATABASE_URL)
    : pgliteBackend(env.DATA_DIR));
  const database = await openDatabase(loadConfig({ ...DEFAULTS, ...backend.env, ...env }));
  await migrate(database);
  return {
    ...backend,
    database,
    end: async () => {
      await database.close();
      await backend.end();
    },
  };
}

interface SharedBackend {
  opened: Promise<OpenBackend>;
  /** Number of open services. */
  users: number;
}

/** Databases that all files in this worker share. They are never closed and disappear with the run's server. */
const shared = new Map<Backend, SharedBackend>();

async function sharedBackend(kind: Backend): Promise<OpenBackend> {
  const backend = shared.get(kind) ?? { opened: openBackend(kind), users: 0 };
  shared.set(kind, backend);
  backend.users++;
  const end = async () => {
    backend.users--;
  };
  return { ...(await backend.opened), end };
}

/** Number of rows above which a shared database is emptied, because invariant checks read all rows. */
const MAX_LEFT_ROWS = 500;
const COUNT_ROWS = 'SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM versions) AS rows';

/** Empties the unused shared databases in which finished files left many rows. */
async function emptySharedDatabases(): Promise<void> {
  for (const { opened, users } of shared.values()) {
    if (users > 0) continue;
    const { database, query } = await opened;
    const [left] = await query(database, COUNT_ROWS, []);
    if (Number(left?.rows) > MAX_LEFT_ROWS) await query(database, TRUNCATE_ALL, []);
  }
}

/** Emptied databases on PGlite from finished suites. They are reused, because PGlite takes seconds to start. */
const unused: OpenBackend[] = [];

async function ownPglite(): Promise<OpenBackend> {
  const opened = unused.pop() ?? (await openBackend('pglite'));
  const end = async () => {
    // A suite may have damaged the schema.
    if ((await schemaState(opened.database)) !== 'current') return opened.end();
    await opened.query(opened.database, TRUNCATE_ALL, []);
    unused.push(opened);
  };
  return { ...opened, end };
}

const TRUNCATE_ALL = `DO $$ BEGIN
  EXECUTE (SELECT 'TRUNCATE ' || string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE schemaname = 'public');
END $$`;

/**
 * Starts the whole service in this process, without a socket, on an empty database that no other test uses.
 *
 * @param env settings that override the test defaults. With DATABASE_URL or DATA_DIR, the service uses that database
 *   and keeps it, so that a test can open it twice.
 */
export async function startService(kind: Backend, env: Record<string, string> = {}): Promise<Service> {
  const hasOwnSettings = Object.keys(env).some((name) => /^(DATA_DIR$|DB_)/.test(name));
  const reusable = kind === 'pglite' && !hasOwnSettings;
  return serviceOn(await (reusable ? ownPglite() : openBackend(kind, env)), env);
}

/** Like `startService`, but on the worker's shared database, for tests that only see their own tenants. */
export async function startSharedService(kind: Backend, env: Record<string, string> = {}): Promise<Service> {
  return serviceOn(await sharedBackend(kind), env);
}

async function serviceOn(backend: OpenBackend, env: Record<string, string>): Promise<Service> {
  const { database } = backend;
  const app = await buildApp({ config: loadConfig({ ...DEFAULTS, ...backend.env, ...env }), database });
  await app.ready();
  return {
    app,
    database,
    execute: (input, options) => execute(app, input, options),
    query: (sql, parameters = []) => backend.query(database, sql, parameters),
    close: async () => {
      await app.close();
      await backend.end();
    },
  };
}

async function execute(
  app: FastifyInstance,
  input: unknown,
  options: { tenant?: string; headers?: Record<string, string> } = {},
): Promise<ServiceResponse> {
  const response = await app.inject({
    method: 'POST',
    url: '/execute',
    headers: {
      'content-type': 'application/json',
      ...(options.tenant === undefined ? {} : { 'x-tenant-id': options.tenant }),
      ...options.headers,
    },
    payload: typeof input === 'string' || Buffer.isBuffer(input) ? input : JSON.stringify(input),
  });
  const json = /\bjson\b/.test(String(response.headers['content-type']));
  const body = json ? response.json() : response.body;
  return {
    status: response.statusCode,
    content: body.content,
    is_error: body.is_error,
    body,
    headers: response.headers,
  };
}

/** The suites on Citus run without PGlite. */
const backends =
  process.env.TEST_SET === 'citus' ? (['postgres'] as const) : (['postgres', 'pglite'] as const);

type Suite = (service: () => Service, kind: Backend) => void;
type Start = (kind: Backend, env: Record<string, string>) => Promise<Service>;

/**
 * Runs a suite on real Postgres and on PGlite. `suite` receives a function that returns the service, for use in hooks
 * and tests. Suites in one file with the same settings share a service, and all files in a worker share a database,
 * because PGlite takes seconds to start. Use a fresh tenant for each test.
 *
 * @param env settings for the service; database settings (DB_…) have no effect
 */
export function describeService(name: string, suite: Suite, env: Record<string, string> = {}): void {
  describeOn(startSharedService, name, suite, env);
}

/** Like `describeService`, for a suite that damages its database or observes other tenants. */
export function describeServiceOnOwnDatabase(
  name: string,
  suite: Suite,
  env: Record<string, string> = {},
): void {
  describeOn(startService, name, suite, env);
}

/** Services for the current file, by start function, backend, and settings. */
const services = new Map<string, Promise<Service>>();

function describeOn(start: Start, name: string, suite: Suite, env: Record<string, string>): void {
  for (const kind of backends)
    describe(`${name}, on ${kind}`, { tags: kind === 'pglite' ? [kind] : [] }, () => {
      let service: Service | undefined;
      beforeAll(async () => {
        const key = JSON.stringify([start.name, kind, env]);
        const started = services.get(key) ?? start(kind, env);
        services.set(key, started);
        service = await started;
      });
      suite(() => {
        if (!service) throw new Error('the service is started in beforeAll');
        return service;
      }, kind);
    });
  afterAll(async () => {
    const started = [...services.values()];
    services.clear();
    await Promise.all(started.map(async (service) => (await service).close()));
    // TRUNCATE on a Citus cluster takes longer than it saves.
    if (process.env.TEST_SET !== 'citus') await emptySharedDatabases();
  });
}

let tenants = 0;

/** Returns a tenant ID that no other test on this worker's shared databases uses. */
export function freshTenant(label = 'tenant'): string {
  tenants += 1;
  return `${label}-${tenants}`;
}

/** Sets how long a tenant keeps its history, if the tenant exists. 0 disables the history. */
export async function setHistoryDays(service: Service, tenant: string, days: number): Promise<void> {
  await service.query('UPDATE tenants SET history_days = $2::bigint WHERE id = $1', [tenant, days]);
}
