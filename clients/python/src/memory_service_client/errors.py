from __future__ import annotations


class MemoryServiceError(Exception):
    """A call without a result: the service was unreachable or busy, or rejected the request.

    A failure that the model can correct is a result with `is_error` instead. The message and the attributes contain no
    API key, and no data that was sent or stored.
    """

    status: int | None
    """HTTP status; None if there was no response."""

    code: str
    """Stable code of the failure: the service's code (`unauthorized`, `database_unavailable`, …), `network_error`,
    `timeout`, `invalid_response`, or `http_{status}` for a response that does not come from the service.
    """

    request_id: str | None
    """Identifies the request in the service's log."""

    retryable: bool
    """Whether the same call can succeed later: after a network error, a timeout, 429, 502, 503, or 504."""

    retry_after: float | None
    """Seconds to wait, as requested by the service; None without such a request."""

    idempotency_key: str | None
    """Idempotency key of all attempts. Pass it to `execute` to send the call again without applying it twice."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "network_error",
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after = retry_after
        self.idempotency_key = idempotency_key
