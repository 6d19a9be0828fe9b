import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { OperatorError } from '../errors/errors.ts';

/** PGlite's major Postgres version. PGlite cannot open a directory of another version. */
const POSTGRES_VERSION = '18';

const RESTORE =
  'Restore the directory from a backup, or set DATA_DIR to another directory to start with an empty database.';
const OWN_FILES = 'Make this user the owner of the directory and all files in it.';
const CHANGE = 'Set DATA_DIR to a directory on a local disk that this user may read and write.';

/** Creates the error for a damaged or unreadable embedded database. */
export function damagedDatabase(directory: string, reason: string): OperatorError {
  const advice = reason.endsWith('Permission denied') ? OWN_FILES : RESTORE;
  return new OperatorError(`The embedded database in ${directory} cannot be opened: ${reason}. ${advice}`);
}

/**
 * Checks whether a directory contains a database. PGlite would create an empty database in a directory without
 * `PG_VERSION`, so a damaged memory would appear to be empty.
 *
 * @returns false when the directory is empty or missing
 * @throws OperatorError when the directory contains other files or a damaged database
 */
export function hasDatabase(directory: string): boolean {
  try {
    if (!existsSync(directory) || readdirSync(directory).length === 0) return false;
    if (!existsSync(join(directory, 'PG_VERSION'))) throw damagedDatabase(directory, 'PG_VERSION is missing');
    const version = readFileSync(join(directory, 'PG_VERSION'), 'latin1').trim();
    if (version === POSTGRES_VERSION) return true;
    if (!/^\d{1,3}$/.test(version)) throw damagedDatabase(directory, 'PG_VERSION holds no version');
    throw new OperatorError(
      `The embedded database in ${directory} is of PostgreSQL ${version}, and this version of memory-service needs ${POSTGRES_VERSION}. Export the memory with the version of memory-service that wrote it, and import it into another DATA_DIR.`,
    );
  } catch (error) {
    throw explainFileError(directory, error);
  }
}

/** Converts a file system error into an error with advice. Returns other errors unchanged. */
function explainFileError(directory: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const reason = FILE_ERRORS[code] ?? code;
  const advice = code === 'ENOSPC' ? 'Make room on its disk.' : CHANGE;
  return new OperatorError(`The data directory ${directory} cannot be used: ${reason}. ${advice}`);
}

const FILE_ERRORS: Partial<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
  EDQUOT: "this user's disk quota is used up",
  EEXIST: 'it is not a directory',
  ENOTDIR: 'it is not a directory, or is below a file',
  ENOENT: 'it cannot be created there',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'its name is too long',
};

/**
 * Creates a directory and its parents. `mkdirSync` with `recursive` loops forever on a file system that reports ENOENT,
 * such as `/proc`.
 */
function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectory(dirname(directory));
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!existsSync(directory)) throw error;
  }
}

/** Error for an embedded database that another process uses. Two processes would corrupt it. */
export class DataDirectoryInUse extends OperatorError {
  constructor(directory: string, user = 'another process') {
    super(
      `The data directory ${directory} is in use by ${user}. Stop that process, set DATA_DIR to another directory, or set DATABASE_URL to run several processes on one Postgres.`,
    );
  }
}

/** SQLite's result code for a file locked by another connection. */
const SQLITE_BUSY = 5;

/**
 * Locks the directory for this process. The lock ends when the returned function is called or the process ends in any
 * way. The kernel locks the file `memory-service.lock`, which is never deleted
 * (docs/decisions/0021-lock-of-the-data-directory.md).
 *
 * @throws DataDirectoryInUse with the other process's ID
 * @throws OperatorError when the directory is not writable
 */
export function lockDataDirectory(directory: string): () => void {
  const pidFile = join(directory, 'memory-service.pid');
  try {
    makeDirectory(resolve(directory));
    const lock = lockFile(join(resolve(directory), 'memory-service.lock'));
    if (lock === undefined) throw new DataDirectoryInUse(directory, readHolder(pidFile));
    const unlock = () => {
      rmSync(pidFile, { force: true });
      lock.close();
    };
    try {
      writeFileSync(pidFile, `${process.pid} ${hostname()}\n`);
    } catch (error) {
      lock.close();
      throw error;
    }
    return unlock;
  } catch (error) {
    throw explainFileError(directory, error);
  }
}

/**
 * Checks that no process uses the directory, for example before a database is created in it.
 *
 * @throws DataDirectoryInUse with the other process's ID
 */
export function checkUnlocked(directory: string): void {
  if (existsSync(join(directory, 'memory-service.lock'))) lockDataDirectory(directory)();
}

/** Returns the path to the Unix domain socket on which a service accepts commands for a data directory. */
export function socketPath(directory: string): string {
  return join(directory, 'memory-service.sock');
}

/** The operating system's maximum length for a socket path. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** Explains why the process that uses a data directory accepts no commands. */
export function explainNoCommands(directory: string): string {
  if (process.platform === 'win32')
    return 'On Windows, a service on the embedded database takes commands only through its admin API: use --url, or stop the service.';
  const path = socketPath(directory);
  const bytes = Buffer.byteLength(path);
  return bytes <= MAX_SOCKET_PATH_BYTES
    ? 'That process takes no commands, because it is still starting or is a command itself. Try again shortly.'
    : `That process takes no commands, because the path of its socket has ${bytes} bytes, more than the system allows (${MAX_SOCKET_PATH_BYTES}): ${path}. Use --url, or a shorter DATA_DIR.`;
}

/**
 * Whether a process accepts connections on the socket in a data directory. EAGAIN also counts, because a busy process
 * has a full connection queue.
 *
 * @throws OperatorError when this user may not connect
 */
export async function isServed(directory: string): Promise<boolean> {
  const path = socketPath(directory);
  const code = await new Promise<string | undefined>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? ''));
  });
  if (code === 'EACCES' || code === 'EPERM') {
    throw new OperatorError(
      `The service on ${directory} accepts commands only from its own user (${code}: ${path}). Run the command as that user.`,
    );
  }
  return code === undefined || code === 'EAGAIN';
}

/**
 * Locks a file through a SQLite write transaction, because Node offers kernel file locks only through SQLite. The file
 * remains empty. Closing any file descriptor for the file would release the lock, so other code in this process must
 * not open the file.
 *
 * @returns undefined when another connection holds the lock
 */
export function lockFile(path: string): DatabaseSync | undefined {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  let lock: DatabaseSync | undefined;
  try {
    lock = new (loadSqlite().DatabaseSync)(path);
    // A journal in memory avoids a second file.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
    return lock;
  } catch (error) {
    lock?.close();
    const { errcode, errstr } = error as { errcode?: number; errstr?: string };
    if (errcode === undefined) throw error;
    if (errcode === SQLITE_BUSY) return undefined;
    // Opening the file throws the file system's error, which names the reason.
    closeSync(openSync(path, 'r+'));
    throw Object.assign(new Error(), { code: `memory-service.lock cannot be locked (${errstr})` });
  }
}

/** Loads SQLite without the warning about an experimental module that some Node versions print. */
function loadSqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Describes the process that holds the lock. The process ID is only valid on its host, which may be a container. */
function readHolder(pidFile: string): string | undefined {
  try {
    const [, pid, host] = /^(\d+) (\S+)\n$/.exec(readFileSync(pidFile, 'utf8')) ?? [];
    return pid && `process ${pid} on host ${host}`;
  } catch {
    return undefined;
  }
}
