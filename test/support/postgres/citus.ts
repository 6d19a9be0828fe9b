import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf, SourceUnavailable, type TestServer } from './server.ts';

const run = promisify(execFile);

/** A program that creates clusters on this machine (CONTRIBUTING.md). */
export const CITUS_SCRIPT = process.env.TEST_CITUS_SCRIPT ?? '';
const WORKERS = '2';

/** The first of a cluster's ports. The script takes free ones, but two clusters that start at once would take the same. */
export const citusPort = () => String(20_000 + 20 * Math.floor(Math.random() * 400));

/** Few shards and no fsync, so that databases are copied quickly. */
const ENVIRONMENT = { CITUS_SHARDS: '8', CITUS_FSYNC: 'off', CITUS_MAX_CONNECTIONS: '300' };

/**
 * Starts a Citus cluster of a coordinator and two workers, or uses the one at TEST_CITUS_URL.
 *
 * @param scratch gives the cluster's folder its name, which the nodes' user can create
 * @throws SourceUnavailable with the output of the script
 */
export async function startCitus(scratch: string): Promise<TestServer> {
  const given = process.env.TEST_CITUS_URL;
  if (given) return { url: given, name: 'TEST_CITUS_URL', isKept: true, stop: async () => {} };
  if (!existsSync(CITUS_SCRIPT))
    throw new SourceUnavailable('TEST_CITUS_URL unset, and TEST_CITUS_SCRIPT names no file');
  const folder = join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `${basename(scratch)}-citus`);
  const env = { ...process.env, ...ENVIRONMENT, CITUS_PORT: citusPort() };
  const call = (...args: string[]) => run(CITUS_SCRIPT, args, { env });
  try {
    await call('install');
    const { stdout } = await call('start', WORKERS, folder);
    const url = stdout.trim().split('\n').at(-1) ?? '';
    return { url, name: 'citus-cluster.sh', stop: async () => void (await call('remove', folder)) };
  } catch (error) {
    await call('remove', folder).catch(() => {});
    throw new SourceUnavailable(`the Citus cluster did not start: ${messageOf(error)}`);
  }
}
