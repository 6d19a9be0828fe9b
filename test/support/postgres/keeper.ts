/**
 * The process that keeps what a test run needs outside of itself: a Postgres server, and the scratch folder that its argument
 * names. It prints one line of JSON (`Kept`, or `{ error }`), waits for the end of its standard input, and takes everything
 * away again: the run's databases, the server if it started it, the folder. So nothing stays behind however the run ends,
 * `kill -9` included.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import pg from 'pg';
import { startServer } from './ladder.ts';
import { messageOf, type TestServer } from './server.ts';

/** What the keeper holds for the run. */
export interface Kept {
  /** URL of a role that may create databases. */
  url: string;
  /** What every database of the run has to begin with. */
  prefix: string;
  /** The line that says which Postgres it is. */
  description: string;
}

const parentGone = new Promise<void>((resolve) => process.stdin.resume().once('close', resolve));
const prefix = `memory_test_${randomBytes(4).toString('hex')}`;
const [, , scratch = ''] = process.argv;

async function query(url: string, sql: string, parameters: string[] = []): Promise<Record<string, string>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql, parameters)).rows;
  } finally {
    await client.end();
  }
}

async function describe({ url, name }: TestServer, because: string[]): Promise<string> {
  const [row] = await query(url, 'SHOW server_version');
  return `Postgres for the tests: ${name} ${row?.server_version}${because.length ? ` (${because.join(', ')})` : ''}`;
}

async function dropDatabases(url: string): Promise<void> {
  const ours = 'SELECT datname FROM pg_database WHERE starts_with(datname, $1)';
  for (const { datname } of await query(url, ours, [prefix])) {
    await query(url, `DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
  }
}

function say(answer: Kept | { error: string }): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

try {
  const { server, because } = await startServer(scratch);
  try {
    say({ url: server.url, prefix, description: await describe(server, because) });
    await parentGone;
    if (server.name === 'TEST_DATABASE_URL') await dropDatabases(server.url);
  } finally {
    await server.stop();
  }
} catch (error) {
  say({ error: messageOf(error) });
} finally {
  await rm(scratch, { recursive: true, force: true, maxRetries: 10 });
}
process.exit();
