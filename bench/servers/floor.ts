/**
 * B, the floor: a handler, a prepared query on a pool, and formatting. Without DATABASE_URL, it is C1, the limit: the
 * same handler with rows that are already in memory.
 */
import fastify from 'fastify';
import pg from 'pg';
import {
  DIRECTORIES,
  directoryPath,
  FILES_PER_DIRECTORY,
  filePath,
  SMALL_BYTES,
  text,
} from '../support/data.ts';
import type { Input } from '../support/workloads.ts';
import { type Execute, executeBare } from './bare.ts';

const { DATABASE_URL, PORT, DB_POOL_MAX = '10' } = process.env;

function fromDatabase(connectionString: string): Execute {
  // Keeps the connections between turns, as the service does.
  const pool = new pg.Pool({ connectionString, max: Number(DB_POOL_MAX), idleTimeoutMillis: 0 });
  return (query) => pool.query(query);
}

function fromMemory(): Execute {
  const file = { kind: 'file', content: text(SMALL_BYTES) };
  const rows = new Map<unknown, unknown[]>();
  for (let d = 0; d < DIRECTORIES; d++) {
    const entries = Array.from({ length: FILES_PER_DIRECTORY }, (_, f) => ({
      path: filePath(d, f),
      ...file,
    }));
    for (const entry of entries) rows.set(entry.path, [entry]);
    rows.set(directoryPath(d), [
      { kind: 'dir', entries: entries.map(({ path }) => `${path}\t${SMALL_BYTES}`).join('\n') },
    ]);
  }
  return async ({ values }) => ({ rows: rows.get(values[1]) ?? [] });
}

const query = DATABASE_URL ? fromDatabase(DATABASE_URL) : fromMemory();
const app = fastify();
app.post('/execute', async (request) => ({
  content: await executeBare(query, String(request.headers['x-tenant-id']), request.body as Input),
  is_error: false,
}));
await app.listen({ host: '127.0.0.1', port: Number(PORT) });
