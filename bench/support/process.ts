import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the command that `npm start` runs in a checkout, without the shell's `exec`. */
export function serviceCommand(directory: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.replace(/^exec /, '').split(' ');
}

export const SERVICE = serviceCommand(root);
export const typescriptCommand = (script: string) => [process.execPath, '--import', 'tsx', script];

/** A server in a child process. */
export interface Server {
  url: string;
  /** Time from process start to the first response. */
  readyAfterMs: number;
  /** Returns the resident memory in bytes. */
  memory(): number;
  /** Returns the CPU time used so far in microseconds, or NaN if unknown. */
  processorTime(): number;
  stop(): Promise<void>;
  /** Ends the process without a shutdown. */
  kill(): Promise<void>;
}

/** Maximum start time. Peers create their files before they are ready. */
const MAX_START_MS = 300_000;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts `command` with only the given `env`, and waits until GET `ready` returns 200. Its log is written to a file in
 * `scratch`, as in production.
 *
 * @param options.ready path to poll; without a path, any response counts
 * @param options.cwd working directory; by default this checkout
 */
export async function startServer(
  [command = '', ...args]: string[],
  options: { env: Record<string, string>; scratch: string; name: string; ready?: string; cwd?: string },
): Promise<Server> {
  const { env, scratch, name, ready, cwd = root } = options;
  const port = await freePort();
  const file = join(scratch, `${name}.log`);
  const log = openSync(file, 'a');
  const started = performance.now();
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', PORT: String(port), ...env },
    stdio: ['ignore', log, log],
  });
  running.add(child);
  const ended = once(child, 'exit').then(() => running.delete(child));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const status = await readStatus(`${url}${ready ?? '/'}`);
    if (status === 200 || (ready === undefined && status !== undefined)) break;
    if (child.exitCode !== null) throw new Error(`${name} did not start:\n${readFileSync(file, 'utf8')}`);
    if (performance.now() - started > MAX_START_MS)
      throw new Error(`${name} is not ready after ${MAX_START_MS} ms`);
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
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Installs Python packages into a virtual environment at `directory`.
 *
 * @returns path to its interpreter
 */
export function installPython(directory: string, requirements: string): string {
  execFileSync('python3', ['-m', 'venv', directory], { stdio: 'pipe' });
  const python = join(directory, 'bin', 'python');
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements], { stdio: 'pipe' });
  return python;
}

/** Runs a command from the service's CLI and returns its output. */
export function runCli(args: string[], env: Record<string, string>, directory = root): string {
  return execFileSync(process.execPath, ['dist/main.js', ...args], {
    cwd: directory,
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/**
 * Returns the CPU time in microseconds that a server's connections to a database have used so far. Returns 0 if
 * unknown, for example for a server on another machine.
 */
export function databaseProcessorTime(database: string): number {
  if (process.platform !== 'linux') return 0;
  let sum = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (/^postgres:/.test(command) && command.includes(database)) sum += processorMicroseconds(Number(pid));
    } catch {
      // The process has ended in the meantime.
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

/** Returns the CPU time that a process used with its threads. Linux counts in hundredths of a second. */
function processorMicroseconds(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/**
 * Starts to measure steal time. The returned function returns the share (0 to 1) of CPU time that the hypervisor has
 * given to other machines since then, or 0 if unknown.
 */
export function watchSteal(): () => number {
  const before = processorTicks();
  return () => {
    const ticks = processorTicks().map((each, i) => each - (before[i] ?? 0));
    const all = ticks.reduce((sum, each) => sum + each, 0);
    return all > 0 ? (ticks[STEAL] ?? 0) / all : 0;
  };
}

/**
 * Index of the steal time in /proc/stat. The first eight numbers are the times of all CPUs (proc_stat(5)), and already
 * include the later ones.
 */
const STEAL = 7;

function processorTicks(): number[] {
  if (process.platform !== 'linux') return [];
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  return line.split(/\s+/).slice(1, 9).map(Number);
}

function readStatus(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', () => resolve(undefined));
  });
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
