"""Continues the caller's trace if OpenTelemetry's API is installed."""

from __future__ import annotations

from collections.abc import Callable

_inject: Callable[[dict[str, str]], None] | None
try:
    from opentelemetry.propagate import inject as _inject
except ImportError:
    _inject = None


def trace_headers() -> dict[str, str]:
    """Returns the headers that identify the active span (`traceparent`), or no headers outside of a span."""
    headers: dict[str, str] = {}
    if _inject is not None:
        _inject(headers)
    return headers
