import { ServiceError } from '../errors.ts';

export const FOREIGN_KEY_VIOLATION = '23503';
export const CHECK_VIOLATION = '23514';
const SERIALIZATION_FAILURE = '40001';
/** `lock_timeout` expired. */
export const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK_DETECTED = '40P01';
const ADMIN_SHUTDOWN = '57P01';
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_FUNCTION = '42883';
const INVALID_SCHEMA_NAME = '3F000';

const NOT_MIGRATED: ReadonlySet<string> = new Set([UNDEFINED_TABLE, UNDEFINED_FUNCTION, INVALID_SCHEMA_NAME]);

/** No connection was established, so no statement was sent. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  '53300', // too_many_connections
  '57P03', // cannot_connect_now
]);

/** SQLSTATEs for wrong credentials, an unknown database, and missing privileges. */
const ACCESS_REFUSED = /^(28...|3D000|42501)$/;

/** The database works, but this statement was not executed in time. */
const BUSY: ReadonlySet<string> = new Set([
  LOCK_NOT_AVAILABLE,
  '57014', // query_canceled (statement_timeout)
  SERIALIZATION_FAILURE,
  DEADLOCK_DETECTED,
]);

/** The server, or the connection to it, is not available now. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  '25006', // read_only_sql_transaction: a standby, or a disk-full safeguard
  '25P03', // idle_in_transaction_session_timeout
  '53000', // insufficient_resources
  '53100', // disk_full
  '53200', // out_of_memory
  '53300', // too_many_connections
  ADMIN_SHUTDOWN,
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '58030', // io_error
  ...NOT_MIGRATED,
]);

const NETWORK: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
]);

type DatabaseErrorCode = 'database_busy' | 'database_unavailable' | 'internal_error';

/**
 * A failed statement or connection. The driver's error is dropped, because its message and detail contain parameters, such as paths and
 * contents. The SQLSTATE is kept for the log.
 */
export class DatabaseError extends ServiceError<DatabaseErrorCode> {
  override name = 'DatabaseError';
  /** The SQLSTATE. Undefined for an error of the connection or the driver. */
  readonly sqlState: string | undefined;
  /** The SQLSTATE, or else the system's code for an error of the connection, such as ECONNREFUSED. */
  readonly faultCode: string | undefined;
  /** Whether the database or the connection was at fault, and not the statement. */
  readonly isUnavailable: boolean;
  /** Whether nothing was sent, so that a retry cannot execute anything twice. */
  readonly neverSent: boolean;
  /** Why the database cannot be used at all, in the driver's words, which contain no parameters in this case. */
  readonly accessFault: string | undefined;

  constructor(error: unknown) {
    const state = sqlStateOf(error);
    const code = state ?? networkCode(error);
    const isUnavailable =
      state === undefined ? isConnectionFault(error) : UNAVAILABLE.has(state) || state.startsWith('08');
    super(codeOf(state, isUnavailable), {
      sqlState: state,
      code,
      errorName: error instanceof Error ? error.name : typeof error,
    });
    this.sqlState = state;
    this.faultCode = code;
    this.isUnavailable = isUnavailable;
    this.neverSent = NOT_CONNECTED.has(code ?? '');
    const isAccessFault = state === undefined ? isUnavailable : this.neverSent || ACCESS_REFUSED.test(state);
    this.accessFault = isAccessFault ? describe(error) : undefined;
  }

  /** Whether it is unknown if the statement was executed, or the database is unavailable. */
  get outcomeUnknown(): boolean {
    return this.sqlState === undefined || this.isUnavailable;
  }

  /** Whether the database was never migrated. */
  get isNotMigrated(): boolean {
    return NOT_MIGRATED.has(this.sqlState ?? '');
  }
}

function codeOf(state: string | undefined, isUnavailable: boolean): DatabaseErrorCode {
  if (state !== undefined && BUSY.has(state)) return 'database_busy';
  return isUnavailable ? 'database_unavailable' : 'internal_error';
}

export function asDatabaseError(error: unknown): DatabaseError {
  return error instanceof DatabaseError ? error : new DatabaseError(error);
}

/** Rethrows an error of the driver as a `DatabaseError`. */
export function throwDatabaseError(error: unknown): never {
  throw asDatabaseError(error);
}

/** Faults that Citus reports with the SQLSTATE of a bug (XX000), by their words, and the SQLSTATEs that they are. */
const CITUS_FAULTS: readonly [RegExp, string][] = [
  // It rolls back what comes to a shard while that is being moved or split.
  [/^could not find valid entry for shard \d+$/, SERIALIZATION_FAILURE],
  // A session that waits for a worker finds out that its own server is gone.
  [/^postmaster was shut down, exiting$/, ADMIN_SHUTDOWN],
];

function sqlStateOf(error: unknown): string | undefined {
  for (const { code, message } of causeChain(error)) {
    const citusFault = CITUS_FAULTS.find(([words]) => typeof message === 'string' && words.test(message));
    if (citusFault !== undefined) return citusFault[1];
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

/** The message of an error, or of the errors that it contains. */
export function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof AggregateError ? cause.errors.map(String).join('; ') : String(cause);
}

type Layer = { code?: unknown; message?: unknown };

/** An error, its causes, and the errors of an AggregateError (one for each address of a host). */
function* causeChain(error: unknown, depth = 0): Generator<Layer> {
  if (typeof error !== 'object' || error === null || depth > 5) return;
  yield error;
  if (error instanceof AggregateError) for (const each of error.errors) yield* causeChain(each, depth + 1);
  if ('cause' in error) yield* causeChain(error.cause, depth + 1);
}

function networkCode(error: unknown): string | undefined {
  for (const { code } of causeChain(error)) if (typeof code === 'string' && NETWORK.has(code)) return code;
  return undefined;
}

// pg gives these no code. The messages are only matched, never shown.
const DRIVER_FAULT =
  /^(Connection terminated|timeout exceeded when trying to connect|Client was closed|Client has encountered a connection error|Cannot use a pool after calling end|Query read timeout|PGlite is clos)/;

function isConnectionFault(error: unknown): boolean {
  if (networkCode(error) !== undefined) return true;
  for (const { message } of causeChain(error)) {
    if (typeof message === 'string' && DRIVER_FAULT.test(message)) return true;
  }
  return false;
}
