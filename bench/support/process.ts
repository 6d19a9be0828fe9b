import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The command behind `npm start` in a checkout. */
export function serviceOf(folder: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.split(' ');
}

export const SERVICE = serviceOf(root);
export const typescript = (script: string) => [process.execPath, '--import', 'tsx', script];

/** A server in a process of its own. */
export interface Server {
  url: string;
  /** From the start of the process to its first answer. */
  readyAfterMs: number;
  /** Resident memory in bytes. */
  memory(): number;
  /** Processor time used so far, in microseconds; NaN where that cannot be found out. */
  processorTime(): number;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts `command` with nothing but `env`, and waits until GET `ready` is answered with 200. Its log goes to a file in
 * `scratch`, as it would in production.
 *
 * @param options.ready any answer will do where it is undefined
 * @param options.folder where to start it; by default this checkout
 */
export async function startServer(
  [command = '', ...args]: string[],
  options: { env: Record<string, string>; scratch: string; name: string; ready?: string; folder?: string },
): Promise<Server> {
  const { env, scratch, name, ready, folder = root } = options;
  const port = await freePort();
  const file = join(scratch, `${name}.log`);
  const log = openSync(file, 'a');
  const started = performance.now();
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', PORT: String(port), ...env },
    stdio: ['ignore', log, log],
  });
  running.add(child);
  const ended = once(child, 'exit').then(() => running.delete(child));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const status = await statusOf(`${url}${ready ?? '/'}`);
    if (status === 200 || (ready === undefined && status !== undefined)) break;
    if (child.exitCode !== null) throw new Error(`${name} did not start:\n${readFileSync(file, 'utf8')}`);
    if (performance.now() - started > 60_000) throw new Error(`${name} is not ready after a minute`);
    await delay(5);
  }
  return {
    url,
    readyAfterMs: performance.now() - started,
    memory: () => residentBytes(child.pid ?? 0),
    processorTime: () => processorMicroseconds(child.pid ?? 0),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Runs a command of the service's CLI and gives what it printed. */
export function runCli(args: string[], env: Record<string, string>): string {
  return execFileSync(process.execPath, ['dist/cli.js', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/**
 * Processor time that a server's connections to a database have used so far, in microseconds; 0 where that cannot be found out, as for a
 * server on another machine.
 */
export function databaseProcessorTime(database: string): number {
  if (process.platform !== 'linux') return 0;
  let sum = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (/^postgres:/.test(command) && command.includes(database)) sum += processorMicroseconds(Number(pid));
    } catch {
      // It has ended since.
    }
  }
  return sum;
}

function residentBytes(pid: number): number {
  if (process.platform === 'linux') {
    const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kibibytes) * 1024;
  }
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}

/** Of a process with its threads. Linux counts in hundredths of a second. */
function processorMicroseconds(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/**
 * Starts to watch the processors: what it returns gives the share (0 to 1) of their time since then in which the hypervisor let others run,
 * 0 where that cannot be found out.
 */
export function watchSteal(): () => number {
  const before = processorTicks();
  return () => {
    const ticks = processorTicks().map((each, i) => each - (before[i] ?? 0));
    const all = ticks.reduce((sum, each) => sum + each, 0);
    return all > 0 ? (ticks[STEAL] ?? 0) / all : 0;
  };
}

/** Of the first eight numbers of /proc/stat, which are times of all processors (proc_stat(5)); those after them are counted in them. */
const STEAL = 7;

function processorTicks(): number[] {
  if (process.platform !== 'linux') return [];
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  return line.split(/\s+/).slice(1, 9).map(Number);
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', () => resolve(undefined));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
