import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { databaseUrl } from './postgres/server.ts';

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgres').url });
  await client.connect();
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
