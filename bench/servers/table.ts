/** H, the bare handler: a plain table on the same Postgres, without limits, history, idempotency, or directories. */
import pg from 'pg';
import { type Store, seedStores, serve, wholeFileEdits } from './stores.ts';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10, idleTimeoutMillis: 0 });
await pool.query('DROP TABLE IF EXISTS bare_files');
await pool.query(
  'CREATE TABLE bare_files (tenant text, path text, content text NOT NULL, PRIMARY KEY (tenant, path))',
);

function openStore(tenant: string): Store {
  const run = (name: string, sql: string, ...values: string[]) =>
    pool.query<{ content: string }>({ name, text: sql, values: [tenant, ...values] });
  const read = async (path: string) => {
    const { rows } = await run(
      'read',
      'SELECT content FROM bare_files WHERE tenant = $1 AND path = $2',
      path,
    );
    if (rows[0] === undefined) throw new Error(`There is no file at ${path}.`);
    return rows[0].content;
  };
  return {
    read,
    create: async (path, content) => {
      await run('create', 'INSERT INTO bare_files VALUES ($1, $2, $3)', path, content);
    },
    ...wholeFileEdits(read, async (path, content) => {
      await run('write', 'UPDATE bare_files SET content = $3 WHERE tenant = $1 AND path = $2', path, content);
    }),
  };
}

await seedStores(openStore);
await pool.query('VACUUM ANALYZE bare_files');
await serve(openStore);
