import { statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PGlite, type PGliteInterface } from '@electric-sql/pglite';
import { OperatorError } from '../errors/errors.ts';
import { damagedDatabase, hasDatabase } from './data-directory.ts';
import { PLANNER } from './database.ts';
import { throwDatabaseError } from './errors.ts';

const MEBIBYTE = 1024 * 1024;

/**
 * The embedded database writes nothing while its disk has less space than this. Postgres creates its write-ahead log
 * in segments of 16 MiB, and stops when it cannot create one; the reserve is for the statements that are running, and
 * for the next start.
 */
export const RESERVED_BYTES = 64 * MEBIBYTE;

/** The free space that a new embedded database needs: its own size, and the reserve. */
export const NEW_DATABASE_BYTES = 128 * MEBIBYTE;

/** Free space on the file system of a folder, in bytes. `Infinity` if the file system does not report it. */
export function freeBytes(folder: string): number {
  const { bavail, bsize, blocks } = statfsSync(folder);
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

/** Formats bytes, such as `12 MiB`. */
export function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE)} MiB`;
}

/*
 * What the background processes of a server do, which the embedded database does not have: checkpoints and
 * autovacuum. Without them its log and its tables grow as long as it runs. See
 * docs/decisions/0012-upkeep-of-the-embedded-database.md.
 */

type Client = Pick<PGliteInterface, 'exec' | 'query'>;

/** How much of the write-ahead log Postgres keeps for reuse after a checkpoint. */
export const LOG_SETTINGS = { max_wal_size: '128MB', min_wal_size: '32MB' };

/** A checkpoint writes at most about as much as was logged since the last one, and every request waits for it. */
const CHECKPOINT_AFTER_BYTES = 32 * 1024 * 1024;
/** The largest statements, those of imports, log a few MiB each. */
const STATEMENTS_PER_CHECK = 16;

const LOGGED_BYTES = 'SELECT pg_current_wal_insert_lsn() - redo_lsn AS bytes FROM pg_control_checkpoint()';

/**
 * Returns a function to call before each statement, also in a transaction. It makes a checkpoint when one is due,
 * which frees the log before it.
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

/** Tables, and those with their large values, whose deleted rows or new rows are more than autovacuum would leave. */
const DUE_TABLES = `
SELECT c.oid::regclass::text AS name FROM pg_stat_all_tables AS s JOIN pg_class AS c ON c.oid = s.relid
WHERE greatest(s.n_dead_tup, s.n_ins_since_vacuum) > 5000 + 0.02 * greatest(c.reltuples, 0)`;

/** Makes the space of deleted rows usable again, table by table, so that requests get their turn in between. */
export async function vacuumTables(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(DUE_TABLES).catch(throwDatabaseError);
  for (const { name } of rows)
    await client.exec(`VACUUM (PROCESS_TOAST false) ${name}`).catch(throwDatabaseError);
}

/** Events of an embedded database. A server reports its own. */
export interface EmbeddedEvents {
  /** Postgres has stopped, for the given reason. Every query fails from now on. */
  stopped(reason: string): void;
  /** The disk is nearly full, so writes are refused; or there is room again, and they are accepted. */
  readOnly(isReadOnly: boolean): void;
}

/** How Postgres announces on standard error that it stops. `Aborted` comes from WebAssembly. */
const END = /\b(?:PANIC|FATAL): +(.*)|^(Aborted)\(/;

/** SQLSTATE crash_shutdown. */
const CRASH_SHUTDOWN = '57P02';

/**
 * PGlite that is not called again after its Postgres has stopped. A stopped Postgres still holds its locks, and
 * PGlite, which has one thread, would wait for them forever without returning to the event loop.
 */
export class PgliteEngine extends PGlite {
  readonly #end: { reason?: string };

  /**
   * @param folder of the database; a new one is created in a folder that is empty or missing
   * @param onEnd called once, with the message of Postgres, as soon as Postgres has stopped
   */
  constructor(folder: string, onEnd: (reason: string) => void) {
    const end: { reason?: string } = {};
    const settings = Object.entries(LOG_SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    super(folder, {
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

  /** Why Postgres has stopped; undefined while it runs. */
  get endReason(): string | undefined {
    return this.#end.reason;
  }

  /** Runs every query. */
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

/** Opens or creates the database in a folder. Removes the leftovers when creation fails. */
export async function openEngine(folder: string, events: EmbeddedEvents): Promise<PgliteEngine> {
  const isNew = !hasDatabase(folder);
  const free = freeBytes(dirname(folder));
  if (isNew && free < NEW_DATABASE_BYTES) throw diskFull(folder, free, NEW_DATABASE_BYTES);
  keepByteOrderMarks();
  let isOpen = false;
  let firstReason: string | undefined;
  const client = new PgliteEngine(folder, (reason) => {
    firstReason = reason;
    if (isOpen) events.stopped(reason);
  });
  try {
    await client.waitReady;
    const settings = Object.entries(PLANNER).map(([name, value]) => `SET ${name} = ${value};`);
    await client.exec(settings.join('\n'));
  } catch (error) {
    if (isNew) await rm(folder, { recursive: true, force: true });
    const left = freeBytes(dirname(folder));
    if (left < RESERVED_BYTES) throw diskFull(folder, left, RESERVED_BYTES);
    throw damagedDatabase(folder, firstReason ?? (error instanceof Error ? error.message : String(error)));
  }
  isOpen = true;
  return client;
}

function diskFull(folder: string, free: number, needed: number): OperatorError {
  return new OperatorError(
    `The embedded database in ${folder} needs ${mebibytes(needed)} of free disk space, but only ${mebibytes(free)} are free. Make room, or set DATA_DIR to a folder on another disk.`,
  );
}

let keepsByteOrderMarks = false;

/**
 * PGlite decodes text with `new TextDecoder('utf-8')`, which drops a leading U+FEFF and so would change contents. It
 * creates a decoder when it is constructed and after each database error, so this changes the default of the process
 * permanently. Callers that pass options are not affected.
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
