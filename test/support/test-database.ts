import { randomBytes } from 'node:crypto';
import { cp, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { beforeEach, inject } from 'vitest';
import { ConnectionWatch } from '../../src/core/database/connection-watch.ts';
import { ConnectionPool } from '../../src/core/database/pool.ts';
import { createDatabase, dropDatabase } from './postgres/database-cluster.ts';
import { databaseUrl } from './postgres/test-server.ts';

/**
 * Opens a connection whose loss only rejects its queries. Without an error listener, the loss would end the worker, and
 * vitest would report an unhandled error in another file.
 */
export async function connectTo(url: string, options: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ ...options, connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Like `connectTo`, but opens a pool. Its connections may still be closing when `end` resolves. */
export function openPool(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ ...options, connectionString: url });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

export function openServicePool(url: string, options: pg.PoolConfig = {}): ConnectionPool {
  const watch = new ConnectionWatch({ unreachable: () => {}, reachable: () => {} });
  return new ConnectionPool({ ...options, connectionString: url }, watch);
}

/** Whether the databases for this run are on a Citus cluster. */
export const isCitus = () => inject('postgres').cluster.isCitus;

/** Skips the tests in the surrounding suite on Citus. The report shows the reason. */
export function skipOnCitus(reason: string): void {
  beforeEach(({ skip }) => skip(isCitus(), reason));
}

/** Resolves once sessions in the database wait for locks. On Citus, they must be on the same node, which can be any. */
export async function lockWait(url: string, sessions = 1): Promise<void> {
  const { nodes } = inject('postgres').cluster;
  const name = new URL(url).pathname.slice(1);
  const clients = await Promise.all(nodes.map((node) => connectTo(databaseUrl(node, name))));
  const waiting =
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  try {
    for (let count = 0; count < sessions; ) {
      const waits = await Promise.all(clients.map((client) => client.query(waiting)));
      count = Math.max(...waits.map(({ rows }) => rows.length));
    }
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/**
 * Creates a database on the Postgres server for this run.
 *
 * @param options.migrated false for an empty database; by default a copy of the migrated template
 * @returns its URL, and `drop`, which also terminates open connections
 */
export async function createTestDatabase(
  options: { migrated?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const { url, template, empty, prefix, cluster } = inject('postgres');
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await createDatabase(cluster, name, (options.migrated ?? true) ? template : empty);
  return { url: databaseUrl(url, name), drop: () => dropDatabase(cluster, name) };
}

/** Creates a DATA_DIR with an empty, migrated PGlite database and returns its path. */
export async function copyPgliteTemplate(): Promise<string> {
  const directory = await mkdtemp(join(inject('scratch'), 'pglite-'));
  await cp(inject('pglite').template, directory, { recursive: true });
  return directory;
}
