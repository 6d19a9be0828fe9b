"""Continues the caller's trace, when OpenTelemetry's API is installed."""

from __future__ import annotations

from collections.abc import Callable

_inject: Callable[[dict[str, str]], None] | None
try:
    from opentelemetry.propagate import inject as _inject
except ImportError:
    _inject = None


def trace_headers() -> dict[str, str]:
    """The headers that name the active span (`traceparent`): none outside of one."""
    headers: dict[str, str] = {}
    if _inject is not None:
        _inject(headers)
    return headers
