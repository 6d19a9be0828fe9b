import { ERROR_CATALOG, type ErrorCode, type ErrorDefinition, type ErrorValues } from './catalog.ts';

const definitions: { readonly [R in ErrorReason]: ErrorDefinition<ErrorValues[R], ErrorCode> } =
  ERROR_CATALOG;

/** An entry's name in the catalog. Several reasons may share the code that programs see. */
export type ErrorReason = keyof ErrorValues;

/**
 * An error for a caller or an operator. Errors for the model are results instead. The catalog contains the messages:
 * HTTP clients receive them as `application/problem+json`, and the command line adds a hint (`cli/hints.ts`).
 *
 * @param values values for the message
 */
export class ServiceError<R extends ErrorReason = ErrorReason> extends Error {
  override name = 'ServiceError';
  readonly reason: R;
  readonly values: ErrorValues[R];
  readonly status: number;
  readonly code: ErrorCode;
  /** Number of seconds after which the client should retry (the `Retry-After` header). */
  readonly retryAfter: number | undefined;

  constructor(reason: R, ...values: ErrorValues[R]) {
    const { status, message, retryAfter, cause } = definitions[reason].problem(...values);
    super(message, { cause });
    this.reason = reason;
    this.values = values;
    this.status = status;
    this.code = reasonCode(reason);
    this.retryAfter = retryAfter;
  }
}

/** Whether an error has this reason, which also determines its values' types. */
export function hasReason<R extends ErrorReason>(error: unknown, reason: R): error is ServiceError<R> {
  return error instanceof ServiceError && error.reason === reason;
}

export function reasonCode(reason: ErrorReason): ErrorCode {
  return definitions[reason].code ?? (reason as ErrorCode);
}

export function reasonDescription(reason: ErrorReason): string {
  return definitions[reason].description;
}

/**
 * Ends the process with a message on the terminal. Only the process start and the command line throw this error.
 * Operations throw a `ServiceError`, because HTTP clients may call them.
 */
export class OperatorError extends Error {
  override name = 'OperatorError';
  readonly exitCode: number;
  /** Whether the same command can succeed later, as after a lost connection. */
  readonly isTemporary: boolean;

  constructor(message: string, { exitCode = 1, isTemporary = false } = {}) {
    super(message);
    this.exitCode = exitCode;
    this.isTemporary = isTemporary;
  }
}
