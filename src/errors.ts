import { ERROR_CATALOG, type ErrorCode, type ErrorDefinition, type ErrorValues } from './error-catalog.ts';

const definitions: { readonly [C in ErrorCode]: ErrorDefinition<ErrorValues[C]> } = ERROR_CATALOG;

/**
 * A fault that the caller or the operator has to deal with, as opposed to a result that the model can read. It becomes an
 * `application/problem+json` answer. To add one, add its code to the catalog.
 *
 * @param values what the code's message is made of
 */
export class ServiceError<C extends ErrorCode = ErrorCode> extends Error {
  override name = 'ServiceError';
  readonly status: number;
  readonly code: ErrorCode;
  /** Seconds after which trying again makes sense (the `Retry-After` header). */
  readonly retryAfter: number | undefined;

  constructor(code: C, ...values: ErrorValues[C]) {
    const { status, message, retryAfter, cause } = definitions[code].problem(...values);
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** What kind of obstacle an `OperatorError` is; the admin API answers with this code. */
export type OperatorErrorCode =
  | 'invalid_parameter'
  | 'not_found'
  | 'refused'
  | 'history_incomplete'
  | 'over_quota'
  | 'precondition_failed';

/** What an operation cannot do, in words for the operator. The CLI prints them and exits with `exitCode`. */
export class OperatorError extends Error {
  override name = 'OperatorError';
  readonly exitCode: number;
  /** Not `code`, which is that of a system error. */
  readonly problemCode: OperatorErrorCode;

  constructor(
    message: string,
    { exitCode = 1, code = 'refused' }: { exitCode?: number; code?: OperatorErrorCode } = {},
  ) {
    super(message);
    this.exitCode = exitCode;
    this.problemCode = code;
  }
}
