import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../errors/errors.ts';
import type { Query, QueryExecutor, Value } from './query.ts';
import { describeUnavailability, type Layer } from './unavailability.ts';

export const FOREIGN_KEY_VIOLATION = '23503';
export const CHECK_VIOLATION = '23514';
const SERIALIZATION_FAILURE = '40001';
/** SQLSTATE for an expired `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = '55P03';
/** SQLSTATE for an expired `statement_timeout`. */
export const QUERY_CANCELED = '57014';
const DEADLOCK_DETECTED = '40P01';
const ADMIN_SHUTDOWN = '57P01';
const CONNECTION_FAILURE = '08006';
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_FUNCTION = '42883';
const INVALID_SCHEMA_NAME = '3F000';

const NOT_MIGRATED: ReadonlySet<string> = new Set([UNDEFINED_TABLE, UNDEFINED_FUNCTION, INVALID_SCHEMA_NAME]);

/**
 * SQLSTATEs for a rejected session. On an open connection they come from a pooler, which has not forwarded the
 * statement.
 */
const SESSION_REJECTED = /^(28...|3D000|53300|57P03)$/;

/** SQLSTATEs from a working database that did not execute the statement in time. */
const BUSY: ReadonlySet<string> = new Set([
  LOCK_NOT_AVAILABLE,
  QUERY_CANCELED,
  SERIALIZATION_FAILURE,
  DEADLOCK_DETECTED,
]);

/** SQLSTATEs for a server or a connection that is currently unavailable. By class: */
const UNAVAILABLE =
  // connection exception, invalid authorization, insufficient resources, operator intervention (but not 57014), system
  // error
  /^(08...|28...|53...|57P..|58...|25006|25P03|3D000|42501)$/;

/** SQLSTATEs for an unavailability that lasts until an operator fixes the cause. */
const LASTING = /^(28...|3D000|42501)$/;

/** Operating system and TLS error codes for a broken connection. */
const BROKEN_CONNECTION =
  /^(E(CONN\w+|HOST\w+|NET\w+|NOTFOUND|AI_\w+|PIPE|PROTO|TIMEDOUT)|ERR_(SSL|STREAM|SOCKET)_\w+)$/;

type DatabaseErrorCode = 'database_busy' | 'database_unavailable' | 'internal_error';

/**
 * Error in a statement or a connection. The driver's error is dropped, because its message and detail may contain
 * parameters, such as paths and contents. The SQLSTATE is kept for the log.
 */
export class DatabaseError extends ServiceError<DatabaseErrorCode> {
  override name = 'DatabaseError';
  /** SQLSTATE; undefined for a connection or driver error. */
  readonly sqlState: string | undefined;
  /** SQLSTATE, or the system's code for a connection error, such as ECONNREFUSED. */
  readonly faultCode: string | undefined;
  /** Whether the database or the connection failed, and not the statement. */
  readonly isUnavailable: boolean;
  /** Whether the failure may end without an operator, such as a server restart. */
  readonly mayPass: boolean;
  /** Whether a retry cannot execute the statement twice, because it was never sent or was rolled back. */
  readonly neverSent: boolean;
  /** Whether a Citus session has lost its connection to another node. */
  readonly isNodeLost: boolean;
  /** The driver's error name. */
  readonly errorName: string;
  /** Reason why the database is unavailable, without secrets. */
  readonly unavailability: string | undefined;

  /** @param options.connecting whether the connection could not be opened, for any reason */
  constructor(error: unknown, { connecting = false }: { connecting?: boolean } = {}) {
    const layers = [...causeChain(error)];
    const state = findSqlState(layers);
    const code = state ?? connectionCode(layers);
    const isServerOrNetwork =
      state === undefined ? isConnectionFault(layers) : isUnavailableState(state, layers);
    const isUnavailable = connecting || isServerOrNetwork;
    const unavailability = isUnavailable ? describeUnavailability(layers, connecting) : undefined;
    const errorName = error instanceof Error ? error.name : typeof error;
    // `ConnectionWatch` logs the reason for a failed connection attempt once, instead of once per request.
    const cause = connecting ? undefined : { sqlState: state, code, errorName, reason: unavailability };
    super(databaseErrorCode(state, isUnavailable), cause);
    this.sqlState = state;
    this.faultCode = code;
    this.errorName = errorName;
    this.isUnavailable = isUnavailable;
    this.mayPass = isServerOrNetwork && !LASTING.test(state ?? '');
    this.isNodeLost = layers.some(({ message }) => typeof message === 'string' && NODE_LOST.test(message));
    this.neverSent = connecting || this.isNodeLost || SESSION_REJECTED.test(state ?? '');
    this.unavailability = unavailability;
  }

  /** Whether the statement may have been executed, because the error has no SQLSTATE or the database is unavailable. */
  get outcomeUnknown(): boolean {
    return this.sqlState === undefined || this.isUnavailable;
  }

  get isNotMigrated(): boolean {
    return NOT_MIGRATED.has(this.sqlState ?? '');
  }
}

function databaseErrorCode(state: string | undefined, isUnavailable: boolean): DatabaseErrorCode {
  if (isUnavailable) return 'database_unavailable';
  return BUSY.has(state ?? '') ? 'database_busy' : 'internal_error';
}

/** Whether the state means that the server is unavailable. A fatal error ends the session. */
function isUnavailableState(state: string, layers: readonly Layer[]): boolean {
  return (
    UNAVAILABLE.test(state) ||
    NOT_MIGRATED.has(state) ||
    layers.some(({ severity }) => severity === 'FATAL' || severity === 'PANIC')
  );
}

export function asDatabaseError(error: unknown): DatabaseError {
  return error instanceof DatabaseError ? error : new DatabaseError(error);
}

export function throwDatabaseError(error: unknown): never {
  throw asDatabaseError(error);
}

/** Rethrows any error from a connection attempt as a `DatabaseError`. */
export function throwConnectionError(error: unknown): never {
  throw new DatabaseError(error, { connecting: true });
}

/** Message from a Citus session that lost its connection to a failed node. Citus rolls back the transaction. */
const NODE_LOST = /^failure on connection marked as essential\b/;

/** Errors that Citus reports as an internal error (XX000), recognized by message, with their correct SQLSTATE. */
const CITUS_FAULTS: readonly [RegExp, string][] = [
  // Citus rolls back statements on a shard that is being moved or split.
  [/^could not find valid entry for shard \d+$/, SERIALIZATION_FAILURE],
  // A session that waits for a worker detects that its own server has stopped.
  [/^postmaster was shut down, exiting$/, ADMIN_SHUTDOWN],
  [NODE_LOST, CONNECTION_FAILURE],
];

function findSqlState(layers: readonly Layer[]): string | undefined {
  for (const { code, message } of layers) {
    const citusFault = CITUS_FAULTS.find(([words]) => typeof message === 'string' && words.test(message));
    if (citusFault !== undefined) return citusFault[1];
    // System codes such as EPIPE also have five letters.
    if (typeof code === 'string' && /^(?!E[A-Z]{4}$)[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

/** Yields an error, its causes, and the errors in an AggregateError, which has one error per host address. */
function* causeChain(error: unknown, depth = 0): Generator<Layer> {
  if (typeof error !== 'object' || error === null || depth > 5) return;
  yield error;
  if (error instanceof AggregateError) for (const each of error.errors) yield* causeChain(each, depth + 1);
  if ('cause' in error) yield* causeChain(error.cause, depth + 1);
}

function connectionCode(layers: readonly Layer[]): string | undefined {
  return layers.map(({ code }) => code).find((code) => typeof code === 'string') as string | undefined;
}

// pg gives these errors no code. The messages are only matched, never shown.
const DRIVER_FAULT =
  /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client was closed|Client has encountered a connection error|Cannot use a pool after calling end|Query read timeout|Received unexpected|PGlite is clos)/;

function isConnectionFault(layers: readonly Layer[]): boolean {
  return layers.some(
    ({ code, message, syscall }) =>
      (typeof code === 'string' && BROKEN_CONNECTION.test(code)) ||
      // The server's socket is a missing file.
      (code === 'ENOENT' && syscall === 'connect') ||
      (typeof message === 'string' && DRIVER_FAULT.test(message)),
  );
}

/**
 * Runs a transaction's work. After an error, Postgres rejects all further statements with SQLSTATE 25P02, and silently
 * turns the commit into a rollback. Therefore the first error is thrown even if `work` catches it.
 */
export async function failWithFirstFault<T>(
  query: QueryExecutor,
  work: (query: QueryExecutor) => Promise<T>,
): Promise<T> {
  let fault: unknown;
  const result = await work(
    async <Params extends Record<string, Value>, Row>(statement: Query<Params, Row>, params: Params) => {
      if (fault !== undefined) throw fault;
      try {
        return await query(statement, params);
      } catch (error) {
        fault ??= error;
        throw fault;
      }
    },
  );
  if (fault !== undefined) throw fault;
  return result;
}

/** Short delays bridge a pooler restart or the end of a failover, and cost little while the database is down. */
const DELAYS_MS = [50, 200];

/**
 * Retries `work`, at most twice, when the database was unavailable and a repetition is harmless.
 *
 * @param repeatable whether `work` may run twice: a read, or a write with an idempotency key. Other work is retried
 * only if it never reached the server
 */
export async function runWithRetries<T>(repeatable: boolean, work: () => Promise<T>): Promise<T> {
  for (const ms of DELAYS_MS) {
    try {
      return await work();
    } catch (error) {
      const isWorthRetrying =
        error instanceof DatabaseError && (repeatable ? error.isUnavailable : error.neverSent);
      if (!isWorthRetrying) throw error;
    }
    await delay(ms * (0.5 + Math.random()));
  }
  return work();
}
