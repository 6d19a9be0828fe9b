from __future__ import annotations


class MemoryServiceError(Exception):
    """A call that got no result: the service could not be reached, was busy, or rejected the request.

    A failure that the model can correct is not an error but a result with `is_error`. Text and attributes hold no API
    key, and
    nothing of what was sent or stored.
    """

    status: int | None
    """The HTTP status; None when there was no response."""

    code: str
    """The kind of failure, for programs: the code of the service (`unauthorized`, `database_unavailable`, …), or
    `network_error`, `timeout`, `invalid_response`, or `http_{status}` for a response that is not the service's."""

    request_id: str | None
    """Finds the request in the service's log."""

    retryable: bool
    """Whether the same call can succeed later: after a network error, a time-out, 429, 502, 503 or 504."""

    retry_after: float | None
    """Seconds that the service asked to wait; None when it did not say."""

    idempotency_key: str | None
    """Idempotency key of all attempts. Pass it to `execute` to send the call again: it is applied once."""

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
