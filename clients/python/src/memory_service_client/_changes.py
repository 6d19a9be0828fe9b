"""The changes to a memory without the transport: requests, and changes or faults from events."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import httpx2

from ._protocol import Call, Endpoint, Fault, Result, json_object, prepare_changes, problem_fault
from .types import ChangeEvent, ChangePage

# Seconds without a byte. The service sends a comment at least every 15 seconds.
SILENCE = 45.0
# Seconds before a stream is opened again, unless it has a `retry` field.
_RETRY = 2.0


class Feed:
    """A position among the changes, and the state of the stream of the changes after it."""

    fault: Fault
    """The fault that ended the last stream, or prevented one."""

    failures: int
    """Number of failures since the last event."""

    def __init__(self, service: Endpoint, after: str | None, **filters: object) -> None:
        self.failures = 0
        self._service = service
        self._after = after
        self._is_expired = False
        self._filters = filters
        self._retry = _RETRY

    def stream(self) -> Call:
        """Returns the request for the stream of the changes after the position."""
        call = prepare_changes(self._service, after=self._after, **self._filters)
        return replace(call, headers={**call.headers, "Accept": "text/event-stream"})

    def end(self) -> Call:
        """Returns the request for the position after the latest change."""
        return prepare_changes(self._service, after="now", limit=1)

    def read(self, event: httpx2.ServerSentEvent, request_id: str) -> ChangeEvent | Fault | None:
        """Moves the position. Returns the event's change, the problem that ends the stream, or None."""
        self.failures = 0
        self._after = event.id or self._after
        if event.retry is not None:
            self._retry = event.retry / 1000
        body = json_object(event.data.encode())
        if event.event == "problem":
            fault = problem_fault(body, self.stream(), self._service, request_id)
            return fault and self.broken(fault)
        # Without data, an event has only a position, or the delay before the stream is opened again.
        return cast(ChangeEvent, body) if event.event == "message" and event.data else None

    def broken(self, fault: Fault) -> Fault:
        """Returns the fault of a stream that had begun, with the delay before it is opened again."""
        return replace(fault, retry_after=self._retry)

    def ended(self, request_id: str) -> Fault:
        message = "The memory service ended the stream."
        return self.broken(Fault(message, code="network_error", retryable=True, request_id=request_id))

    def move_to(self, page: Result) -> str | None:
        """Moves the position to the end of a page. Returns it if the earlier position had expired."""
        self._after = cast(ChangePage, page)["cursor"]
        was_expired, self._is_expired = self._is_expired, False
        return self._after if was_expired else None

    def expire(self) -> None:
        """Moves the position to the latest change, which is not known yet."""
        self._after, self._is_expired = "now", True

    @property
    def needs_end(self) -> bool:
        """Whether to request the end first. A stream after `now` would lose changes if it broke before an event."""
        return self._after == "now"


def is_stream(response: httpx2.Response) -> bool:
    return response.headers.get("Content-Type", "").startswith("text/event-stream")


def is_temporary(fault: Fault) -> bool:
    """Whether another request can succeed: also after `access_changed`, when a key has got another access."""
    return fault.retryable or (fault.status or 0) >= 500 or fault.code == "access_changed"
