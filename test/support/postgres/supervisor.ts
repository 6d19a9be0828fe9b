/**
 * The supervisor process for a test run. It starts the Postgres server, prints one line of JSON (`Supervised`, or `{
 * error }`), and waits for the end of its standard input. Then it drops the run's databases, stops the server if it
 * started it, and removes the scratch directory in its argument. This way, a run cleans up even after `kill -9`.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dropDatabase, findCluster, query } from './database-cluster.ts';
import { startServer } from './sources.ts';
import { causeText, type TestServer } from './test-server.ts';

/** Data that the supervisor provides for the run. */
export interface Supervised {
  /** URL for a role that can create databases. */
  url: string;
  /** Prefix of every database in the run. */
  prefix: string;
  /** Line that the run prints about its Postgres. */
  description: string;
}

const parentGone = new Promise<void>((resolve) => process.stdin.resume().once('close', resolve));
const prefix = `memory_test_${randomBytes(4).toString('hex')}`;
const [, , scratch = ''] = process.argv;

async function describe({ url, name }: TestServer, because: string[]): Promise<string> {
  const [row] = await query(url, 'SHOW server_version');
  const { isCitus, nodes } = await findCluster(url);
  return `Postgres for the tests: ${name} ${row?.server_version}${isCitus ? ` with Citus, ${nodes.length} nodes` : ''}${because.length ? ` (${because.join(', ')})` : ''}`;
}

async function dropDatabases(url: string): Promise<void> {
  const ours = 'SELECT datname FROM pg_database WHERE starts_with(datname, $1)';
  const cluster = await findCluster(url);
  for (const { datname } of await query(url, ours, [prefix])) await dropDatabase(cluster, String(datname));
}

function say(answer: Supervised | { error: string }): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

try {
  const { server, because } = await startServer(scratch);
  try {
    say({ url: server.url, prefix, description: await describe(server, because) });
    await parentGone;
    if (server.isKept) await dropDatabases(server.url);
  } finally {
    await server.stop();
  }
} catch (error) {
  say({ error: causeText(error) });
} finally {
  await rm(scratch, { recursive: true, force: true, maxRetries: 10 });
}
process.exit();
