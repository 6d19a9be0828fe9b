import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of an embedded database is in use: two processes on it would destroy it. */
export class DataDirectoryInUse extends Error {
  override name = 'DataDirectoryInUse';
}

/** The folder of an embedded database holds something else, or what is left of one. */
export class DataDirectoryDamaged extends Error {
  override name = 'DataDirectoryDamaged';
}

/**
 * Refuses a folder that is neither empty nor a database: PGlite would make a new, empty one in it, and the memory would look lost.
 *
 * @throws DataDirectoryDamaged
 */
export function checkDatabaseFolder(folder: string): void {
  if (!existsSync(folder) || readdirSync(folder).length === 0 || existsSync(join(folder, 'PG_VERSION')))
    return;
  throw new DataDirectoryDamaged(
    `The embedded database in ${folder} is damaged: PG_VERSION is missing. Restore the folder from a backup, or set DATA_DIR to another folder to begin anew.`,
  );
}

const LOCK_FILE = /^memory-service\.(\d+)\.lock$/;

/**
 * Takes the folder for this process, until the returned function is called or the process is gone, however it ended.
 *
 * Each process first makes a file with a name of its own and then looks for those of others that still run: of two
 * that start at once, at least one sees the other and gives up, and nobody ever takes a lock over. Processes on
 * different machines or in different containers do not see each other.
 *
 * @throws DataDirectoryInUse naming the other process.
 */
export function lockDataDirectory(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const mine = join(folder, `memory-service.${process.pid}.lock`);
  writeFileSync(mine, startTimeOf(process.pid) ?? '');
  const unlock = () => rmSync(mine, { force: true });

  for (const name of readdirSync(folder)) {
    const pid = Number(LOCK_FILE.exec(name)?.[1] ?? process.pid);
    if (pid === process.pid) continue;
    const file = join(folder, name);
    if (isRunning(pid, file)) {
      unlock();
      throw new DataDirectoryInUse(
        `The data directory ${folder} is in use by process ${pid}. Stop that process, set DATA_DIR to another folder, or set DATABASE_URL to run several processes on one Postgres.`,
      );
    }
    rmSync(file, { force: true });
  }
  return unlock;
}

/** Whether the process that wrote the lock file still runs, and its number has not gone to another one since. */
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

/** When a process started, in clock ticks since boot (proc(5), field 22), with the boot's id; Linux only. */
function startTimeOf(pid: number): string | undefined {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${afterName.split(' ')[19]} ${boot}`;
  } catch {
    return undefined;
  }
}
