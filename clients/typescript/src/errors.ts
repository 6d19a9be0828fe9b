/** Details of a call without a result. */
export interface Fault {
  /** HTTP status; undefined if there was no response. */
  status?: number | undefined;
  /**
   * Stable code of the failure: the service's code (`unauthorized`, `database_unavailable`, …), `network_error`,
   * `timeout`, `aborted`, `invalid_response`, or `http_{status}` for a response that does not come from the service.
   */
  code: string;
  /** One or two sentences for people. Contains no credential and no part of the input. */
  message: string;
  /** Identifies the request in the service's log. */
  requestId?: string | undefined;
  /** Whether the same call can succeed later. */
  retryable: boolean;
  /** Time of `Retry-After` in milliseconds. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/**
 * A call without a result: the service was unreachable or busy, or rejected the request. A failure that the model can
 * correct is a result with `is_error: true` instead.
 */
export class MemoryServiceError extends Error {
  override readonly name = 'MemoryServiceError';
  /** HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** Stable code of the failure: see `Fault`. */
  readonly code: string;
  /** Identifies the request in the service's log. */
  readonly requestId: string | undefined;
  /** Whether the same call can succeed later: after a network error, a timeout, 429, 502, 503, or 504. */
  readonly retryable: boolean;
  /** Time to wait, as requested by the service, in milliseconds. Undefined without such a request. */
  readonly retryAfterMs: number | undefined;
  /**
   * Idempotency key of all attempts. Pass it in the options of `execute` to send the call again without applying it
   * twice. Undefined for reads.
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
