import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { OperatorError } from '../errors.ts';
import { PLANNER } from '../postgres/database.ts';
import { damagedDatabase, hasDatabase } from './data-directory.ts';
import { freeBytes, mebibytes, NEW_DATABASE_BYTES, RESERVED_BYTES } from './disk-space.ts';
import { LOG_SETTINGS } from './upkeep.ts';

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
 * PGlite that is not called again after its Postgres has stopped. A stopped Postgres still holds its locks, and PGlite, which has one
 * thread, would wait for them forever without returning to the event loop.
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
 * PGlite decodes text with `new TextDecoder('utf-8')`, which drops a leading U+FEFF and so would change contents. It creates a decoder when
 * it is constructed and after each database error, so this changes the default of the process permanently. Callers that pass options
 * are not affected.
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
