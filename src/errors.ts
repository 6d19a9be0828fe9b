/**
 * A fault that the caller or the operator has to deal with, as opposed to a result that the model can read.
 * It becomes an `application/problem+json` answer, so nothing secret may be in its `message`.
 */
export class ServiceError extends Error {
  readonly status: number;
  /** Stable, for programs: `lower_snake_case`. */
  readonly code: string;
  /** Seconds after which trying again makes sense (the `Retry-After` header). */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    options: { retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ServiceError';
    this.status = status;
    this.code = code;
    this.retryAfter = options.retryAfter;
  }
}
/** What a command cannot do, in words for the person who ran it; the CLI prints them and exits with 1. */
export class OperatorError extends Error {
  override name = 'OperatorError';
}
