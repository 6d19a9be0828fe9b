import { randomBytes } from 'node:crypto';
import { cp, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { databaseUrl } from './postgres/server.ts';

/**
 * Opens a connection whose loss only rejects its queries. Without an error listener it would end the worker, and vitest would
 * report an unhandled error in whichever file is running.
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

async function onServer(sql: string): Promise<void> {
  const client = await connectTo(inject('postgres').url);
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/**
 * Creates a database on the Postgres server of this run.
 *
 * @param options.migrated false for an empty database; by default it is a copy of the migrated template
 * @returns its URL, and `drop`, which also terminates open connections
 */
export async function createTestDatabase(
  options: { migrated?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const { url, template, prefix } = inject('postgres');
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${(options.migrated ?? true) ? template : 'template0'}`);
  return { url: databaseUrl(url, name), drop: () => onServer(`DROP DATABASE ${name} WITH (FORCE)`) };
}

/** Creates a DATA_DIR with an empty, migrated PGlite database and returns its path. */
export async function copyPgliteTemplate(): Promise<string> {
  const folder = await mkdtemp(join(inject('scratch'), 'pglite-'));
  await cp(inject('pglite').template, folder, { recursive: true });
  return folder;
}
