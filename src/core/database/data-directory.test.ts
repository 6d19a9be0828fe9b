import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { OperatorError } from '../errors/errors.ts';
import { checkUnlocked, hasDatabase, lockDataDirectory } from './data-directory.ts';

const scratch = mkdtempSync(join(tmpdir(), 'data-directory-'));
afterAll(() => rmSync(scratch, { recursive: true }));

let folders = 0;
function folderWith(files: Record<string, string>): string {
  const folder = join(scratch, String(++folders));
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Returns the message of the `OperatorError` thrown by `work`. */
function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
  throw new Error('not refused');
}

it('recognizes a database by its version file and treats an empty or missing directory as new', () => {
  expect(hasDatabase(join(scratch, 'missing'))).toBe(false);
  expect(hasDatabase(folderWith({}))).toBe(false);
  expect(hasDatabase(folderWith({ PG_VERSION: '18\n' }))).toBe(true);
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
  const folder = folderWith({ other: 'x', ...files });
  expect(refusal(() => hasDatabase(folder))).toContain(`The embedded database in ${folder} `);
  expect(refusal(() => hasDatabase(folder))).toContain(reason);
});

it('rejects a data directory that is a file or below a file', () => {
  const file = join(folderWith({ file: 'x' }), 'file');
  expect(refusal(() => lockDataDirectory(file))).toBe(
    `The data directory ${file} cannot be used: it is not a folder, or is below a file. Set DATA_DIR to a folder on a local disk that this user may read and write.`,
  );
  expect(refusal(() => lockDataDirectory(join(file, 'below')))).toContain(
    'it is not a folder, or is below a file',
  );
});

it.skipIf(process.platform !== 'linux')(
  'rejects a data directory that cannot be created (needs /proc)',
  () => {
    expect(refusal(() => lockDataDirectory('/proc/none/here'))).toContain('/proc/none/here cannot be used: ');
  },
);

it('rejects a locked data directory with the ID of the locking process until it is unlocked', () => {
  const folder = folderWith({});
  const unlock = lockDataDirectory(folder);
  expect(refusal(() => lockDataDirectory(folder))).toBe(
    `The data directory ${folder} is in use by process ${process.pid} on host ${hostname()}. Stop that process, set DATA_DIR to another folder, or set DATABASE_URL to run several processes on one Postgres.`,
  );
  expect(refusal(() => checkUnlocked(folder))).toContain(`is in use by process ${process.pid} on host`);
  unlock();
  checkUnlocked(folder);
  lockDataDirectory(folder)();
  expect(readdirSync(folder)).toStrictEqual(['memory-service.lock']);
});

it('checks a data directory without a lock file and does not change it', () => {
  const folder = folderWith({});
  checkUnlocked(folder);
  expect(readdirSync(folder)).toStrictEqual([]);
});

it('locks a data directory whose stale PID file names a running process', () => {
  const folder = folderWith({
    'memory-service.lock': '',
    'memory-service.pid': `${process.ppid} ${hostname()}\n`,
  });
  lockDataDirectory(folder)();
});

it('rejects a data directory whose lock file cannot be locked', () => {
  const folder = folderWith({ 'memory-service.lock': 'not SQLite'.repeat(100) });
  expect(refusal(() => lockDataDirectory(folder))).toContain(
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
  const folder = folderWith({ PG_VERSION: '18\n' });
  chmodSync(folder, 0o000);
  const denied = `The data directory ${folder} cannot be used: permission denied. Set DATA_DIR to `;
  try {
    expect(refusal(() => unprivileged(() => lockDataDirectory(folder)))).toContain(denied);
    expect(refusal(() => unprivileged(() => hasDatabase(folder)))).toContain(denied);
  } finally {
    chmodSync(folder, 0o700);
  }
});
