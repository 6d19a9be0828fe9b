import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { OperatorError } from '../errors/errors.ts';
import { checkUnlocked, hasDatabase, lockDataDirectory } from './data-directory.ts';

const scratch = mkdtempSync(join(tmpdir(), 'data-directory-'));
afterAll(() => rmSync(scratch, { recursive: true }));

let directories = 0;
function directoryWith(files: Record<string, string>): string {
  const directory = join(scratch, String(++directories));
  mkdirSync(directory);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

/** Returns the message from the `OperatorError` that `work` throws. */
function rejection(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
  throw new Error('not rejected');
}

it('recognizes a database by its version file and treats an empty or missing directory as new', () => {
  expect(hasDatabase(join(scratch, 'missing'))).toBe(false);
  expect(hasDatabase(directoryWith({}))).toBe(false);
  expect(hasDatabase(directoryWith({ PG_VERSION: '18\n' }))).toBe(true);
});

it.each([
  ['nothing', {}, 'PG_VERSION is missing'],
  ['an empty PG_VERSION', { PG_VERSION: '' }, 'PG_VERSION holds no version'],
  ['garbage in PG_VERSION', { PG_VERSION: '\0\u00ff%' }, 'PG_VERSION holds no version'],
  [
    'an older version',
    { PG_VERSION: '17\n' },
    'is of PostgreSQL 17, and this version of memory-service needs 18',
  ],
  [
    'a newer version',
    { PG_VERSION: '19\n' },
    'is of PostgreSQL 19, and this version of memory-service needs 18',
  ],
])('rejects a data directory with %s', (_name, files, reason) => {
  const directory = directoryWith({ other: 'x', ...files });
  expect(rejection(() => hasDatabase(directory))).toContain(`The embedded database in ${directory} `);
  expect(rejection(() => hasDatabase(directory))).toContain(reason);
});

it('rejects a data directory that is a file or below a file', () => {
  const file = join(directoryWith({ file: 'x' }), 'file');
  expect(rejection(() => lockDataDirectory(file))).toBe(
    `The data directory ${file} cannot be used: it is not a directory, or is below a file. Set DATA_DIR to a directory on a local disk that this user may read and write.`,
  );
  expect(rejection(() => lockDataDirectory(join(file, 'below')))).toContain(
    'it is not a directory, or is below a file',
  );
});

it.skipIf(process.platform !== 'linux')(
  'rejects a data directory that cannot be created (needs /proc)',
  () => {
    expect(rejection(() => lockDataDirectory('/proc/none/here'))).toContain(
      '/proc/none/here cannot be used: ',
    );
  },
);

it('rejects a locked data directory and names the locking process, until the directory is unlocked', () => {
  const directory = directoryWith({});
  const unlock = lockDataDirectory(directory);
  expect(rejection(() => lockDataDirectory(directory))).toBe(
    `The data directory ${directory} is in use by process ${process.pid} on host ${hostname()}. Stop that process, set DATA_DIR to another directory, or set DATABASE_URL to run several processes on one Postgres.`,
  );
  expect(rejection(() => checkUnlocked(directory))).toContain(`is in use by process ${process.pid} on host`);
  unlock();
  checkUnlocked(directory);
  lockDataDirectory(directory)();
  expect(readdirSync(directory)).toStrictEqual(['memory-service.lock']);
});

it('checks a data directory without a lock file and does not change it', () => {
  const directory = directoryWith({});
  checkUnlocked(directory);
  expect(readdirSync(directory)).toStrictEqual([]);
});

it('locks a data directory whose stale PID file names a running process', () => {
  const directory = directoryWith({
    'memory-service.lock': '',
    'memory-service.pid': `${process.ppid} ${hostname()}\n`,
  });
  lockDataDirectory(directory)();
});

it('rejects a data directory whose lock file cannot be locked', () => {
  const directory = directoryWith({ 'memory-service.lock': 'not SQLite'.repeat(100) });
  expect(rejection(() => lockDataDirectory(directory))).toContain(
    'cannot be used: memory-service.lock cannot be locked (file is not a database). Set DATA_DIR to ',
  );
});

function unprivileged<T>(work: () => T): T {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(65534);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
}

it('rejects a data directory that the user may not read or write', () => {
  chmodSync(scratch, 0o755);
  const directory = directoryWith({ PG_VERSION: '18\n' });
  chmodSync(directory, 0o000);
  const denied = `The data directory ${directory} cannot be used: permission denied. Set DATA_DIR to `;
  try {
    expect(rejection(() => unprivileged(() => lockDataDirectory(directory)))).toContain(denied);
    expect(rejection(() => unprivileged(() => hasDatabase(directory)))).toContain(denied);
  } finally {
    chmodSync(directory, 0o700);
  }
});
