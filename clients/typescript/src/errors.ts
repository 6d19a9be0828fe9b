/** Details of a call without a result. */
export interface Fault {
  /** HTTP status; undefined when there was no response. */
  status?: number | undefined;
  /**
   * The kind of failure, for programs: the code of the service (`unauthorized`, `database_unavailable`, …), or
   * `network_error`, `timeout`, `aborted`, `invalid_response`, or `http_{status}` for a response that is not the
   * service's.
   */
  code: string;
  /** One sentence or two for people. Holds no credential and nothing of the input. */
  message: string;
  /** Finds the request in the service's log. */
  requestId?: string | undefined;
  /** Whether the same call can succeed later. */
  retryable: boolean;
  /** The time of `Retry-After`, in milliseconds. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/**
 * A call that got no result: the service could not be reached, was busy, or rejected the request. A failure that the
 * model can correct is not an error but a result with `is_error: true`.
 */
export class MemoryServiceError extends Error {
  override readonly name = 'MemoryServiceError';
  /** HTTP status; undefined when there was no response. */
  readonly status: number | undefined;
  /** The kind of failure, for programs: see `Fault`. */
  readonly code: string;
  /** Finds the request in the service's log. */
  readonly requestId: string | undefined;
  /** Whether the same call can succeed later: after a network error, a time-out, 429, 502, 503 or 504. */
  readonly retryable: boolean;
  /** Time to wait, as requested by the service, in milliseconds. Undefined without such a request. */
  readonly retryAfterMs: number | undefined;
  /**
   * Idempotency key of all attempts. Pass it in the options of `execute` to send the call again: it is applied once.
   * Undefined for reads.
   */
  readonly idempotencyKey: string | undefined;

  constructor(fault: Fault, context: { tries: number; idempotencyKey?: string }) {
    const { status, code, message, requestId, retryable, retryAfterMs, cause } = fault;
    const tries = context.tries > 1 ? `${context.tries} tries` : undefined;
    const request = requestId === undefined ? undefined : `request ${requestId}`;
    const details = [tries, request].filter((each) => each !== undefined).join(', ');
    super(details === '' ? message : `${message} (${details})`, { cause });
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
    this.idempotencyKey = context.idempotencyKey;
  }
}
