import { cp, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { statement, type Value } from '../../src/db/statement.ts';
import { createTestDatabase, openPool } from './database.ts';

export type Backend = 'postgres' | 'pglite';

export interface Answer {
  status: number;
  /** Of the body: what a memory tool answers. Undefined in a problem. */
  content: string;
  is_error: boolean;
  /** The body parsed, or its text where it is not JSON. */
  body: Record<string, unknown>;
  headers: LightMyRequestResponse['headers'];
}

export type Row = Record<string, unknown>;

export interface Service {
  app: FastifyInstance;
  database: Database;
  /** POST /execute. A string or bytes go as they are, anything else as JSON. */
  execute(input: unknown, options?: { tenant?: string; headers?: Record<string, string> }): Promise<Answer>;
  /** Raw SQL beside the service. */
  query(sql: string, parameters?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** What a test needs of a store, whichever it is: its settings, raw SQL once it is open, and an end. */
interface Ground {
  env: Record<string, string>;
  query(database: Database, sql: string, parameters: unknown[]): Promise<Row[]>;
  end(): Promise<void>;
}

async function postgresGround(url?: string): Promise<Ground> {
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

async function pgliteGround(folder?: string): Promise<Ground> {
  const own = folder ?? (await mkdtemp(join(inject('scratch'), 'pglite-')));
  if (!folder) await cp(inject('pglite').template, own, { recursive: true });
  return {
    env: { DATA_DIR: own },
    // PGlite is one connection, the service's own; a raw query takes its turn there.
    query: async (database, sql, parameters) => {
      const names = parameters.map((_, i) => `p${i}`);
      const values = Object.fromEntries(names.map((name, i) => [name, parameters[i] as Value]));
      return (await database.run(statement<Record<string, Value>, Row>(sql, names, sql), values)).rows;
    },
    end: async () => {
      if (!folder) await rm(own, { recursive: true, force: true });
    },
  };
}

// A busy machine is no fault: nothing gives up for being slow.
const DEFAULTS = {
  HANDLER_TIMEOUT_MS: '120000',
  MAX_IN_FLIGHT: '0',
  MAX_IN_FLIGHT_PER_TENANT: '0',
  AUTH: 'none',
  LOG_LEVEL: 'silent',
  DB_CONNECT_TIMEOUT_MS: '60000',
  DB_LOCK_TIMEOUT_MS: '60000',
  DB_STATEMENT_TIMEOUT_MS: '60000',
};

/**
 * The whole service in this process, without a socket, on a database of its own.
 *
 * @param env settings beside the defaults for tests. DATABASE_URL or DATA_DIR in it makes the service use that
 *   database and leave it behind, so that a test can open one twice.
 */
export async function startService(kind: Backend, env: Record<string, string> = {}): Promise<Service> {
  const ground = await (kind === 'postgres' ? postgresGround(env.DATABASE_URL) : pgliteGround(env.DATA_DIR));
  const config = loadConfig({ ...DEFAULTS, ...ground.env, ...env });
  const database = await openDatabase(config);
  await migrate(database);
  const app = await buildApp({ config, database });
  await app.ready();
  return {
    app,
    database,
    execute: (input, options) => execute(app, input, options),
    query: (sql, parameters = []) => ground.query(database, sql, parameters),
    close: async () => {
      await app.close();
      await database.close();
      await ground.end();
    },
  };
}

async function execute(
  app: FastifyInstance,
  input: unknown,
  options: { tenant?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
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

export const backends: Backend[] = ['postgres', 'pglite'];

/** The services of the file at work, by backend and settings. */
const services = new Map<string, Promise<Service>>();

/**
 * A suite run on real Postgres and on PGlite. `suite` is given a way to the service, which is there from the first
 * hook or test on. Suites of one file with the same settings share it, since PGlite takes seconds to start: a suite that
 * minds what others did, or that breaks something, has a file of its own.
 */
export function describeService(
  name: string,
  suite: (service: () => Service, kind: Backend) => void,
  env: Record<string, string> = {},
): void {
  describe.each(backends)(`${name}, on %s`, (kind) => {
    let service: Service | undefined;
    beforeAll(async () => {
      const key = JSON.stringify([kind, env]);
      const started = services.get(key) ?? startService(kind, env);
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
  });
}

let tenants = 0;

/** A tenant no other test of this database has. */
export function freshTenant(label = 'tenant'): string {
  tenants += 1;
  return `${label}-${tenants}`;
}
