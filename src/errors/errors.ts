import { ERROR_CATALOG, type ErrorCode, type ErrorDefinition, type ErrorValues } from './catalog.ts';

const definitions: { readonly [R in ErrorReason]: ErrorDefinition<ErrorValues[R], ErrorCode> } =
  ERROR_CATALOG;

/** An entry of the catalog. Several reasons can share a code, which is what programs see. */
export type ErrorReason = keyof ErrorValues;

/**
 * What a caller or an operator has to deal with, as opposed to a result that the model can read. The catalog words
 * it: HTTP clients get it as `application/problem+json`, and the command line prints it with a hint of its own
 * (`cli/hints.ts`). To add one, add it to the catalog.
 *
 * @param values what the message is made of
 */
export class ServiceError<R extends ErrorReason = ErrorReason> extends Error {
  override name = 'ServiceError';
  readonly reason: R;
  readonly values: ErrorValues[R];
  readonly status: number;
  readonly code: ErrorCode;
  /** Seconds after which trying again makes sense (the `Retry-After` header). */
  readonly retryAfter: number | undefined;

  constructor(reason: R, ...values: ErrorValues[R]) {
    const { status, message, retryAfter, cause } = definitions[reason].problem(...values);
    super(message, { cause });
    this.reason = reason;
    this.values = values;
    this.status = status;
    this.code = codeOf(reason);
    this.retryAfter = retryAfter;
  }
}

/** Whether an error has a reason, and so the values of that reason. */
export function hasReason<R extends ErrorReason>(error: unknown, reason: R): error is ServiceError<R> {
  return error instanceof ServiceError && error.reason === reason;
}

export function codeOf(reason: ErrorReason): ErrorCode {
  return definitions[reason].code ?? (reason as ErrorCode);
}

/** What a code means, in the API's description. */
export function descriptionOf(reason: ErrorReason): string {
  return definitions[reason].description;
}

/**
 * Ends the process with a message on the terminal. Only starting the process and the command line throw it, so no
 * request meets it; what an operation cannot do is a `ServiceError`.
 */
export class OperatorError extends Error {
  override name = 'OperatorError';
  readonly exitCode: number;

  constructor(message: string, { exitCode = 1 }: { exitCode?: number } = {}) {
    super(message);
    this.exitCode = exitCode;
  }
}
