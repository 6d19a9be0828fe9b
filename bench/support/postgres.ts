import { randomBytes } from 'node:crypto';
import { totalmem } from 'node:os';
import pg from 'pg';
import { plannerOptions } from '../../src/core/database/pg.ts';
import { startServer } from '../../test/support/postgres/sources.ts';
import { databaseUrl, type TestServer } from '../../test/support/postgres/test-server.ts';

/**
 * Production settings: durable, with a quarter of the memory as shared buffers
 * (https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-SHARED-BUFFERS).
 */
const SETTINGS = [
  'fsync=on',
  'full_page_writes=on',
  'synchronous_commit=on',
  `shared_buffers=${Math.floor(totalmem() / 4 / 2 ** 20)}MB`,
  'max_wal_size=4GB',
  'checkpoint_timeout=15min',
  'max_connections=200',
];

export interface BenchServer {
  /** The server's version and relevant settings. */
  description: string;
  createDatabase(): Promise<BenchDatabase>;
  stop(): Promise<void>;
}

export interface BenchDatabase {
  url: string;
  /** Runs a statement. All statements use the same connection. */
  query(sql: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>;
}

/**
 * Starts a Postgres server as for the tests, but with durable writes.
 *
 * @param variables environment variables that the server gets in addition, if this process starts it
 */
export async function startPostgres(
  scratch: string,
  variables: Record<string, string> = {},
): Promise<BenchServer> {
  // The server inherits this process's environment, and processes that start later do not need the variables.
  Object.assign(process.env, variables);
  const { server } = await startServer(scratch, { settings: SETTINGS, inMemory: false });
  for (const name of Object.keys(variables)) delete process.env[name];
  return describe(server);
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: plannerOptions });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function describe(server: TestServer): Promise<BenchServer> {
  const admin = await connect(server.url);
  const clients: pg.Client[] = [];
  const names: string[] = [];
  const shown = ['server_version', ...SETTINGS.slice(0, 4).map((setting) => setting.split('=')[0] ?? '')];
  const { rows } = await admin.query(
    `SELECT ${shown.map((each) => `current_setting('${each}') AS ${each}`).join(', ')}`,
  );
  const { server_version: version, ...settings } = rows[0];
  const described = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  return {
    description: `${server.name}, Postgres ${version}, ${described.join(', ')}`,
    createDatabase: async () => {
      const name = `memory_bench_${randomBytes(4).toString('hex')}`;
      names.push(name);
      await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
      const url = databaseUrl(server.url, name);
      const client = await connect(url);
      clients.push(client);
      return { url, query: async (sql, parameters = []) => (await client.query(sql, parameters)).rows };
    },
    stop: async () => {
      await Promise.all(clients.map((client) => client.end().catch(() => {})));
      if (server.name === 'TEST_DATABASE_URL') {
        for (const name of names) await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }
      await admin.end().catch(() => {});
      await server.stop();
    },
  };
}
