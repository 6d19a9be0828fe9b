import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OperatorError } from '../errors.ts';

/** The major version of PGlite's Postgres. A folder of another version cannot be opened. */
const POSTGRES_VERSION = '18';

const RESTORE =
  'Restore the folder from a backup, or set DATA_DIR to another folder to start with an empty database.';
const OWN_FILES = 'Make this user the owner of the folder and all files in it.';
const CHANGE = 'Set DATA_DIR to a folder on a local disk that this user may read and write.';

/** An error for an embedded database that is damaged or unreadable. */
export function damagedDatabase(folder: string, reason: string): OperatorError {
  const advice = reason.endsWith('Permission denied') ? OWN_FILES : RESTORE;
  return new OperatorError(`The embedded database in ${folder} cannot be opened: ${reason}. ${advice}`);
}

/**
 * Checks whether there is a database in a folder. PGlite would create an empty one in any folder without `PG_VERSION`, and the memory
 * would look lost.
 *
 * @returns false when there is none yet
 * @throws OperatorError when the folder contains something else, or a damaged database
 */
export function hasDatabase(folder: string): boolean {
  try {
    if (!existsSync(folder) || readdirSync(folder).length === 0) return false;
    if (!existsSync(join(folder, 'PG_VERSION'))) throw damagedDatabase(folder, 'PG_VERSION is missing');
    const version = readFileSync(join(folder, 'PG_VERSION'), 'latin1').trim();
    if (version === POSTGRES_VERSION) return true;
    if (!/^\d{1,3}$/.test(version)) throw damagedDatabase(folder, 'PG_VERSION holds no version');
    throw new OperatorError(
      `The embedded database in ${folder} is of PostgreSQL ${version}, and this version of memory-service needs ${POSTGRES_VERSION}. Export the memory with the version of memory-service that wrote it, and import it into another DATA_DIR.`,
    );
  } catch (error) {
    throw explainFileError(folder, error);
  }
}

/** Turns an error of the file system into one that says what to do. Returns other errors unchanged. */
function explainFileError(folder: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const reason = FILE_ERRORS[code] ?? code;
  const advice = code === 'ENOSPC' ? 'Make room on its disk.' : CHANGE;
  return new OperatorError(`The data directory ${folder} cannot be used: ${reason}. ${advice}`);
}

const FILE_ERRORS: Partial<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
  EDQUOT: "this user's disk quota is used up",
  EEXIST: 'it is not a folder',
  ENOTDIR: 'it is not a folder, or is below a file',
  ENOENT: 'it cannot be created there',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'its name is too long',
};

/**
 * Creates a folder and its parents. `mkdirSync` with `recursive` would loop forever on a file system that reports ENOENT, such as
 * `/proc`.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!existsSync(folder)) throw error;
  }
}

/** Another process uses the embedded database. Two processes would destroy it. */
export class DataDirectoryInUse extends OperatorError {}

const LOCK_FILE = /^memory-service\.(\d+)\.lock$/;

/**
 * Locks the folder for this process, until the returned function is called or the process ends in any way.
 *
 * Each process first creates a lock file with a unique name and then looks for those of other running processes. Of two that start at
 * once, at least one sees the other and gives up, and no lock is ever taken over. Processes on different machines or in different
 * containers do not see each other.
 *
 * @throws DataDirectoryInUse naming the other process
 * @throws OperatorError when it cannot be written
 */
export function lockDataDirectory(folder: string): () => void {
  const mine = join(folder, `memory-service.${process.pid}.lock`);
  const unlock = () => rmSync(mine, { force: true });
  try {
    makeFolder(resolve(folder));
    writeFileSync(mine, startTimeOf(process.pid) ?? '');
    refuseOthers(folder);
    return unlock;
  } catch (error) {
    if (existsSync(mine)) unlock();
    throw explainFileError(folder, error);
  }
}

/** @throws DataDirectoryInUse when the folder has a lock file of another process that still runs */
function refuseOthers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = Number(LOCK_FILE.exec(name)?.[1] ?? process.pid);
    if (pid === process.pid) continue;
    const file = join(folder, name);
    if (isRunning(pid, file)) {
      throw new DataDirectoryInUse(
        `The data directory ${folder} is in use by process ${pid}. Stop that process, set DATA_DIR to another folder, or set DATABASE_URL to run several processes on one Postgres.`,
      );
    }
    rmSync(file, { force: true });
  }
}

/** Whether the process that wrote the lock file still runs, and its ID has not been reused. */
function isRunning(pid: number, lockFile: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const startTime = startTimeOf(pid);
  if (startTime === undefined) return true;
  try {
    const written = readFileSync(lockFile, 'utf8');
    return written === '' || written === startTime;
  } catch {
    return false;
  }
}

/** The start time of a process, in clock ticks since boot (proc(5), field 22), with the boot ID. Linux only. */
function startTimeOf(pid: number): string | undefined {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${afterName.split(' ')[19]} ${boot}`;
  } catch {
    return undefined;
  }
}
