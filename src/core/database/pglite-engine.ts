import { statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PGlite, type PGliteInterface } from '@electric-sql/pglite';
import { OperatorError } from '../errors/errors.ts';
import { damagedDatabase, hasDatabase } from './data-directory.ts';
import { MEANING, PLANNER } from './database.ts';
import { throwDatabaseError } from './database-errors.ts';

const MEBIBYTE = 1024 * 1024;

/**
 * Free disk space below which the embedded database rejects writes. Postgres creates its write-ahead log in 16 MiB
 * segments, and stops if it cannot create a segment. The reserve is for running statements and for the next start.
 */
export const RESERVED_BYTES = 64 * MEBIBYTE;

/** Free space required to create an embedded database: its initial size and the reserve. */
export const NEW_DATABASE_BYTES = 128 * MEBIBYTE;

/** Returns the free bytes on a directory's file system, or `Infinity` if the file system does not report them. */
export function freeBytes(directory: string): number {
  const { bavail, bsize, blocks } = statfsSync(directory);
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

/** Formats bytes as `12 MiB`. */
export function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE)} MiB`;
}

/*
 * Checkpoints and vacuum, which background processes perform on a server. The embedded database has no such
 * processes, so its log and tables would grow without limit. See
 * docs/decisions/0012-upkeep-of-the-embedded-database.md.
 */

type Client = Pick<PGliteInterface, 'exec' | 'query'>;

/** Write-ahead log size that Postgres keeps for reuse after a checkpoint. */
export const LOG_SETTINGS = { max_wal_size: '128MB', min_wal_size: '32MB' };

/** Log size that triggers a checkpoint. A checkpoint writes about as much data, and all requests wait for it. */
const CHECKPOINT_AFTER_BYTES = 32 * 1024 * 1024;
/** Number of statements between two checks. The largest statements (in imports) log a few MiB each. */
const STATEMENTS_PER_CHECK = 16;

const LOGGED_BYTES = 'SELECT pg_current_wal_insert_lsn() - redo_lsn AS bytes FROM pg_control_checkpoint()';

/**
 * Returns a function to call before each statement, including statements in a transaction. The function makes a
 * checkpoint if one is due, so that Postgres can reuse the log.
 */
export function checkpoints(): (client: Client) => Promise<void> {
  let statements = 0;
  const update = async (client: Client) => {
    statements = (statements + 1) % STATEMENTS_PER_CHECK;
    if (statements !== 0) return;
    const [logged] = (await client.query<{ bytes: string }>(LOGGED_BYTES)).rows;
    if (Number(logged?.bytes) > CHECKPOINT_AFTER_BYTES) await client.exec('CHECKPOINT');
  };
  return (client) => update(client).catch(throwDatabaseError);
}

/**
 * Query for the tables, including TOAST tables, with more dead or inserted rows than autovacuum's thresholds would
 * tolerate.
 */
const DUE_TABLES = `
SELECT c.oid::regclass::text AS name FROM pg_stat_all_tables AS s JOIN pg_class AS c ON c.oid = s.relid
WHERE greatest(s.n_dead_tup, s.n_ins_since_vacuum) > 5000 + 0.02 * greatest(c.reltuples, 0)`;

/** Vacuums one table at a time, so that requests can run between two tables. */
export async function vacuumTables(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(DUE_TABLES).catch(throwDatabaseError);
  for (const { name } of rows)
    await client.exec(`VACUUM (PROCESS_TOAST false) ${name}`).catch(throwDatabaseError);
}

export interface EmbeddedEvents {
  /** Reports that Postgres has stopped. All further queries fail. */
  stopped(reason: string): void;
  /** Reports whether writes are rejected because the disk is nearly full. */
  readOnly(isReadOnly: boolean): void;
}

/** Message on standard error when Postgres stops. WebAssembly prints `Aborted`. */
const END = /\b(?:PANIC|FATAL): +(.*)|^(Aborted)\(/;

/** SQLSTATE `crash_shutdown`. */
const CRASH_SHUTDOWN = '57P02';

/**
 * PGlite that rejects calls after its Postgres has stopped. A stopped Postgres still holds its locks. PGlite has one
 * thread, so it would wait for them forever and block the event loop.
 */
export class PgliteEngine extends PGlite {
  readonly #end: { reason?: string };

  /**
   * @param directory database directory; a new database is created if the directory is empty or missing
   * @param onEnd called once, with the message from Postgres, when Postgres stops
   */
  constructor(directory: string, onEnd: (reason: string) => void) {
    const end: { reason?: string } = {};
    const settings = Object.entries(LOG_SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    super(directory, {
      startParams: [...PGlite.defaultStartParams, ...settings],
      onStderr: (line) => {
        const [, message, aborted] = END.exec(line) ?? [];
        const reason = message ?? aborted;
        if (reason !== undefined && end.reason === undefined) {
          end.reason = reason;
          onEnd(reason);
        }
        return false;
      },
    });
    this.#end = end;
  }

  /** Reason why Postgres has stopped; undefined while it runs. */
  get endReason(): string | undefined {
    return this.#end.reason;
  }

  /** PGlite calls this method for every query. */
  override execProtocolRawSync(message: Uint8Array): Uint8Array {
    this.#assertRunning();
    const response = super.execProtocolRawSync(message);
    this.#assertRunning();
    return response;
  }

  #assertRunning(): void {
    if (this.endReason !== undefined) throw new EngineStopped();
  }
}

class EngineStopped extends Error {
  override name = 'EngineStopped';
  readonly code = CRASH_SHUTDOWN;

  constructor() {
    super('The embedded database has stopped.');
  }
}

export async function migrateEngine(
  client: PgliteEngine,
  migrationsFolder: string,
  functions: string,
): Promise<void> {
  // Imported on demand, because most starts do not migrate.
  const { drizzle } = await import('drizzle-orm/pglite');
  const { migrate } = await import('drizzle-orm/pglite/migrator');
  await migrate(drizzle(client), { migrationsFolder });
  await client.exec(functions);
}

/** Opens or creates the database in a directory. Removes incomplete files if the creation fails. */
export async function openEngine(directory: string, events: EmbeddedEvents): Promise<PgliteEngine> {
  const isNew = !hasDatabase(directory);
  const free = freeBytes(dirname(directory));
  if (isNew && free < NEW_DATABASE_BYTES) throw diskFull(directory, free, NEW_DATABASE_BYTES);
  // Imported on demand, because most starts create no database.
  if (isNew) await (await import('./template.ts')).copyTemplate(directory);
  keepByteOrderMarks();
  let isOpen = false;
  let firstReason: string | undefined;
  const client = new PgliteEngine(directory, (reason) => {
    firstReason = reason;
    if (isOpen) events.stopped(reason);
  });
  try {
    await client.waitReady;
    const settings = Object.entries({ ...MEANING, ...PLANNER }).map(
      ([name, value]) => `SET ${name} = '${value}';`,
    );
    await client.exec(settings.join('\n'));
  } catch (error) {
    if (isNew) await rm(directory, { recursive: true, force: true });
    const left = freeBytes(dirname(directory));
    if (left < RESERVED_BYTES) throw diskFull(directory, left, RESERVED_BYTES);
    throw damagedDatabase(directory, firstReason ?? (error instanceof Error ? error.message : String(error)));
  }
  isOpen = true;
  return client;
}

function diskFull(directory: string, free: number, needed: number): OperatorError {
  return new OperatorError(
    `The embedded database in ${directory} needs ${mebibytes(needed)} of free disk space, but only ${mebibytes(free)} are free. Make room, or set DATA_DIR to a directory on another disk.`,
  );
}

let keepsByteOrderMarks = false;

/**
 * Keeps byte order marks in contents. PGlite decodes text with `new TextDecoder('utf-8')`, which drops a leading
 * U+FEFF. It creates a decoder at construction and after each database error, so the default is changed permanently for
 * the process. Callers that pass options are not affected.
 */
function keepByteOrderMarks(): void {
  if (keepsByteOrderMarks) return;
  keepsByteOrderMarks = true;
  globalThis.TextDecoder = class extends globalThis.TextDecoder {
    constructor(label?: string, options: ConstructorParameters<typeof TextDecoder>[1] = { ignoreBOM: true }) {
      super(label, options);
    }
  };
}
