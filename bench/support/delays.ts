import { execFileSync, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { progress } from './cleanup.ts';
import { root } from './process.ts';
import { median } from './statistics.ts';

const support = join(root, 'bench', 'support');
const COMPILERS = ['cc', 'gcc', 'clang'];

/** A disk whose fsync and fdatasync return late. */
export interface SlowDisk {
  /** Delays in milliseconds: only 0 if this machine cannot delay them. */
  delays: readonly number[];
  /** Environment variables for the processes that use the disk, and for their children. */
  variables: Record<string, string>;
  /** Sets the delay. At first there is none, so that contestants create their files faster. */
  delayBy(milliseconds: number): void;
}

/** Prepares a slow disk, and selects a Postgres that can use it. Says so if this machine cannot delay fsync. */
export function prepareSlowDisk(scratch: string, delays: readonly number[]): SlowDisk {
  const none = { delays: [0], variables: {}, delayBy: () => {} };
  if (delays.every((each) => each === 0)) return none;
  const compiler = COMPILERS.find((each) => spawnSync(each, ['--version']).status === 0);
  if (process.platform !== 'linux' || compiler === undefined) {
    progress(`FSYNC_MS is ignored, because it needs Linux and a C compiler (${COMPILERS.join(', ')})`);
    return none;
  }
  const library = join(scratch, 'slow-fsync.so');
  execFileSync(compiler, ['-O2', '-shared', '-fPIC', '-o', library, join(support, 'slow-fsync.c')]);
  // As root, the bench runs Postgres as another user.
  chmodSync(library, 0o755);
  process.env.TEST_POSTGRES ||= 'embedded';
  const file = join(scratch, 'slow-fsync.ms');
  return {
    delays,
    variables: { LD_PRELOAD: library, FSYNC_DELAY_FILE: file },
    delayBy: (milliseconds) => writeFileSync(file, String(milliseconds), { mode: 0o644 }),
  };
}

/** Returns a URL for the database at `url` through a proxy that passes on each request `milliseconds` late. */
export async function startSlowNetwork(
  url: string,
  milliseconds: number,
  addCleanup: (undo: () => void) => void,
): Promise<string> {
  if (milliseconds === 0) return url;
  const { hostname: HOST, port } = new URL(url);
  const env = { ...process.env, HOST, PORT: port || '5432', NET_MS: String(milliseconds) };
  const proxy = fork(join(support, 'slow-network.ts'), { execArgv: ['--import', 'tsx'], env });
  addCleanup(() => proxy.kill());
  const [proxyPort] = await once(proxy, 'message');
  return Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(proxyPort) }).href;
}

/**
 * Describes the delays, with the times for a commit and for a statement that only reads.
 *
 * @throws if this Postgres' disk is not delayed
 */
export async function describeDelays(
  url: string,
  { FSYNC_MS, NET_MS }: { FSYNC_MS: number; NET_MS: number },
): Promise<string> {
  // Writes to the log, without a table.
  const commit = await timeStatement(url, `SELECT pg_logical_emit_message(true, '', '')`);
  if (commit < FSYNC_MS + NET_MS)
    throw new Error(`A commit takes ${commit.toFixed(2)} ms: FSYNC_MS needs TEST_POSTGRES=embedded`);
  const roundTrip = await timeStatement(url, 'SELECT 1');
  const disk = `${FSYNC_MS} ms for each fsync and fdatasync of Postgres and of the contestants`;
  const network = `${NET_MS} ms for each round trip to Postgres`;
  const measured = `a commit takes ${commit.toFixed(2)} ms and \`SELECT 1\` ${roundTrip.toFixed(2)} ms`;
  return `Added delays: ${disk}, ${network}. With them and without load, ${measured}.`;
}

const TIMED = 50;

/** Returns a statement's median time in milliseconds, on one connection. */
async function timeStatement(url: string, sql: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  const times: number[] = [];
  for (let i = 0; i < TIMED; i++) {
    const started = performance.now();
    await client.query(sql);
    times.push(performance.now() - started);
  }
  await client.end();
  return median(times);
}
