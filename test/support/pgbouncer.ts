/** PgBouncer in front of the Postgres server for this run: the binary that PGBOUNCER names, or the one on the PATH. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { freePort } from './faults/postgres-server.ts';
import { asNobody } from './postgres/binaries.ts';

const binary = process.env.PGBOUNCER ?? 'pgbouncer';

/** Returns the version, such as `[1, 25]`, or undefined if PgBouncer is not installed. */
export async function pgbouncerVersion(): Promise<[major: number, minor: number] | undefined> {
  const { stdout } = await promisify(execFile)(binary, ['--version']).catch(() => ({ stdout: '' }));
  const [, major, minor] = /^PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor)];
}

export class PgBouncer {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /** @param settings settings for the section [pgbouncer] */
  static async start(databaseUrl: string, settings: Record<string, string | number>): Promise<PgBouncer> {
    const directory = await mkdtemp(join(inject('scratch'), 'pgbouncer-'));
    const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl);
    const port = await freePort();
    const all = {
      listen_addr: '127.0.0.1',
      listen_port: port,
      unix_socket_dir: '',
      auth_type: 'any',
      ...settings,
    };
    const file = join(directory, 'pgbouncer.ini');
    await writeFile(
      file,
      [
        '[databases]',
        `* = host=${hostname} port=${serverPort || 5432} user=${username} password=${decodeURIComponent(password)}`,
        '[pgbouncer]',
        ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
      ].join('\n'),
    );
    if (asNobody) for (const path of [directory, file]) chownSync(path, asNobody.uid, asNobody.gid);
    const child = spawn(binary, [file], { ...asNobody, stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`PgBouncer did not start:\n${log}`)));
      child.stderr?.on('data', (chunk) => {
        log += chunk;
        if (log.includes('process up')) resolve();
      });
    });
    return new PgBouncer(`postgres://anyone@127.0.0.1:${port}${pathname}`, child);
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    this.#child.kill('SIGINT');
    await gone;
  }
}
