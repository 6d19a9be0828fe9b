/**
 * Postgres servers that a fault test starts, kills, freezes, and moves. Each is a separate process with fsync enabled.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { asNobody } from '../postgres/binaries.ts';

const run = promisify(execFile);

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

const givenPorts = new Set<number>();

/** Returns a port on which nothing listens, and which this process has not used. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  if (givenPorts.has(port)) return freePort();
  givenPorts.add(port);
  return port;
}

export interface PostgresOptions {
  binaries: string;
  /** Existing, empty directory for the server. */
  directory: string;
  /** Data directory, by default in `directory`. */
  data?: string;
  settings?: string[];
  initdb?: string[];
}

export class PostgresServer {
  port = 0;
  readonly data: string;
  readonly #options: PostgresOptions;
  readonly #password = randomBytes(16).toString('hex');
  #postmaster: ChildProcess | undefined;

  private constructor(options: PostgresOptions) {
    this.#options = options;
    this.data = options.data ?? join(options.directory, 'data');
  }

  /** Creates a cluster and starts a server on it. */
  static async create(options: PostgresOptions): Promise<PostgresServer> {
    const server = new PostgresServer(options);
    const { directory, binaries } = options;
    await mkdir(directory, { recursive: true });
    if (asNobody) chownSync(directory, asNobody.uid, asNobody.gid);
    const password = join(directory, 'password');
    await writeFile(password, server.#password);
    if (asNobody) chownSync(password, asNobody.uid, asNobody.gid);
    const args = ['-D', server.data, '-U', 'postgres', '-E', 'UTF8', '-A', 'password', '--pwfile', password];
    await run(join(binaries, 'initdb'), [...args, '--no-locale', ...(options.initdb ?? [])], {
      ...asNobody,
      cwd: directory,
    });
    server.port = await freePort();
    await server.start();
    return server;
  }

  url(port = this.port, database = 'postgres'): string {
    return `postgres://postgres:${this.#password}@127.0.0.1:${port}/${database}`;
  }

  /** Starts the server, optionally on another port. Resolves when it accepts connections. */
  async start(port = this.port): Promise<void> {
    this.port = port;
    const settings = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'shared_buffers=32MB',
      ...(this.#options.settings ?? []),
    ];
    // Processes from a killed server may briefly hold its shared memory. The new server then exits immediately and must
    // be started again.
    for (;;) {
      const log = openSync(join(this.#options.directory, 'log'), 'a');
      const args = ['-D', this.data, ...settings.flatMap((setting) => ['-c', setting])];
      const child = spawn(join(this.#options.binaries, 'postgres'), args, {
        ...asNobody,
        cwd: this.#options.directory,
        stdio: ['ignore', log, log],
      });
      this.#postmaster = child;
      running.add(child);
      child.once('exit', () => running.delete(child));
      while (child.exitCode === null && child.signalCode === null) {
        if (await this.#answers()) return;
        await delay(20);
      }
      await delay(50);
    }
  }

  async #answers(): Promise<boolean> {
    return this.query('SELECT 1').then(
      () => true,
      () => false,
    );
  }

  async query(sql: string, parameters: unknown[] = [], database = 'postgres'): Promise<pg.QueryResultRow[]> {
    const client = new pg.Client({
      connectionString: this.url(this.port, database),
      connectionTimeoutMillis: 5000,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql, parameters)).rows;
    } finally {
      await client.end();
    }
  }

  /** Returns the process IDs for the postmaster and its children. */
  pids(): number[] {
    const postmaster = this.#postmaster?.pid;
    if (postmaster === undefined) return [];
    return [postmaster, ...childPids(postmaster)];
  }

  /** Sends SIGKILL to the postmaster alone or to all its processes at the same time. */
  async kill(which: 'postmaster' | 'all'): Promise<void> {
    const child = this.#postmaster;
    if (!child) return;
    const gone = once(child, 'exit');
    for (const pid of which === 'all' ? this.pids() : [child.pid ?? 0]) kill(pid, 'SIGKILL');
    await gone;
  }

  /** Sends SIGKILL to one backend. The postmaster then ends all others and recovers by itself. */
  async killBackend(): Promise<void> {
    const rows = await this.query(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'memory-service' LIMIT 1`,
    ).catch(() => []);
    if (rows[0]) kill(rows[0].pid, 'SIGKILL');
  }

  /** Shuts the server down cleanly, or with `immediate` as after a crash. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const child = this.#postmaster;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    kill(child.pid ?? 0, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await gone;
  }

  /** Sends SIGSTOP. The kernel still accepts connections, but the server does not respond. */
  freeze(): void {
    const postmaster = this.#postmaster?.pid ?? 0;
    // Stops the postmaster first, so that it cannot start a process that is not on the list.
    kill(postmaster, 'SIGSTOP');
    for (const pid of childPids(postmaster)) kill(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.pids()) kill(pid, 'SIGCONT');
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function childPids(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '');
        return Number(fields.split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
}
