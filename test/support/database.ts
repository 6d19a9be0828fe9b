import { randomBytes } from 'node:crypto';
import { cp, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { databaseUrl } from './postgres/server.ts';

/**
 * A connection whose loss rejects its queries only: without a listener it would end the worker, and vitest would report
 * an unhandled error in whichever file is running.
 */
export async function connectTo(url: string, options: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ ...options, connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Like `connectTo`, as a pool. Its connections may still be closing when `end` resolves. */
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
 * A database of its own on the run's Postgres server.
 *
 * @param options.migrated false for an empty one; by default a copy of the migrated template
 * @returns its URL, and `drop`, which also ends whatever is still connected to it
 */
export async function createTestDatabase(
  options: { migrated?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const { url, template, prefix } = inject('postgres');
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${(options.migrated ?? true) ? template : 'template0'}`);
  return { url: databaseUrl(url, name), drop: () => onServer(`DROP DATABASE ${name} WITH (FORCE)`) };
}

/** A DATA_DIR of its own with an empty, migrated PGlite. Returns the folder. */
export async function copyPgliteTemplate(): Promise<string> {
  const folder = await mkdtemp(join(inject('scratch'), 'pglite-'));
  await cp(inject('pglite').template, folder, { recursive: true });
  return folder;
}
