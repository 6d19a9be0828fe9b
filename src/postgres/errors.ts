import { ServiceError } from '../errors.ts';
import { IdempotentReplay } from '../memory/store.ts';

export const FOREIGN_KEY_VIOLATION = '23503';
export const CHECK_VIOLATION = '23514';
const SERIALIZATION_FAILURE = '40001';
/** `lock_timeout` ran out. */
export const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK_DETECTED = '40P01';
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_FUNCTION = '42883';
const INVALID_SCHEMA_NAME = '3F000';

/** The database works, but this statement did not get its turn in time. */
const BUSY: ReadonlySet<string> = new Set([
  LOCK_NOT_AVAILABLE,
  '57014', // query_canceled (statement_timeout)
  SERIALIZATION_FAILURE,
  DEADLOCK_DETECTED,
]);

/** The server, or what is left of the way to it, cannot do the work now. */
const AWAY: ReadonlySet<string> = new Set([
  '25006', // read_only_sql_transaction: a standby, or a disk-full safeguard
  '25P03', // idle_in_transaction_session_timeout
  '53000', // insufficient_resources
  '53100', // disk_full
  '53200', // out_of_memory
  '53300', // too_many_connections
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '58030', // io_error
  UNDEFINED_TABLE, // not migrated (yet)
  UNDEFINED_FUNCTION,
  INVALID_SCHEMA_NAME,
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

/** The five characters by which Postgres names an error, or undefined when `error` is not one of its errors. */
export function sqlState(error: unknown): string | undefined {
  for (const layer of layers(error)) {
    if (typeof layer.code === 'string' && /^[0-9A-Z]{5}$/.test(layer.code)) return layer.code;
  }
  return undefined;
}

/** True when the migrations have never run on the database. */
export function isNotMigrated(error: unknown): boolean {
  const state = sqlState(error);
  return state === UNDEFINED_TABLE || state === UNDEFINED_FUNCTION || state === INVALID_SCHEMA_NAME;
}

/**
 * The one place where a fault of the database becomes an error of the service. The original is dropped, since its
 * message and detail hold parameters, that is paths and contents; what is kept for the log is the SQLSTATE.
 */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const state = sqlState(error);
  if (state !== undefined && BUSY.has(state)) {
    return new ServiceError(503, 'database_busy', 'The database is busy. Try again shortly.', {
      retryAfter: 1,
      cause: { sqlState: state },
    });
  }
  if (isAway(error)) {
    return new ServiceError(
      503,
      'database_unavailable',
      'The database is not available. Try again shortly.',
      {
        retryAfter: 2,
        cause: { sqlState: state ?? networkCode(error) },
      },
    );
  }
  return new ServiceError(500, 'internal_error', 'The service failed to handle the request.', {
    cause: { sqlState: state, errorName: error instanceof Error ? error.name : typeof error },
  });
}

/** Does some work on the database; its faults come out as `ServiceError`. */
export function withFaultsMapped<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    throw error instanceof IdempotentReplay ? error : toServiceError(error);
  });
}

/** True when the database, or the way to it, was at fault, and not the statement. */
export function isAway(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined ? isConnectionFault(error) : AWAY.has(state) || state.startsWith('08');
}

/** True when it is not known whether the statement was done, or it cannot be done now. */
export function outcomeUnknown(error: unknown): boolean {
  return sqlState(error) === undefined || isAway(error);
}

// No connection came about, so no statement was sent on it.
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  '53300',
  '57P03',
]);

/** True when the fault came before anything was sent: doing it again cannot do it twice. */
export function neverSent(error: unknown): boolean {
  return NOT_CONNECTED.has(sqlState(error) ?? networkCode(error) ?? '');
}

type Layer = { code?: unknown; message?: unknown };

/** An error, its causes, and what an AggregateError (one attempt for each address of a host) gathers. */
function* layers(error: unknown, depth = 0): Generator<Layer> {
  if (typeof error !== 'object' || error === null || depth > 5) return;
  yield error;
  if (error instanceof AggregateError) for (const each of error.errors) yield* layers(each, depth + 1);
  if ('cause' in error) yield* layers(error.cause, depth + 1);
}

function networkCode(error: unknown): string | undefined {
  for (const { code } of layers(error)) if (typeof code === 'string' && NETWORK.has(code)) return code;
  return undefined;
}

// pg gives no code to these. Matched against the driver's own words only, never shown.
const DRIVER_FAULT =
  /^(Connection terminated|timeout exceeded when trying to connect|Client was closed|Client has encountered a connection error|Cannot use a pool after calling end|Query read timeout|PGlite is clos)/;

function isConnectionFault(error: unknown): boolean {
  if (networkCode(error) !== undefined) return true;
  for (const { message } of layers(error)) {
    if (typeof message === 'string' && DRIVER_FAULT.test(message)) return true;
  }
  return false;
}
