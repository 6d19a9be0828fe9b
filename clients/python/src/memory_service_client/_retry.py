from __future__ import annotations

import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from ._protocol import Fault

_FIRST_BOUND = 0.2
_LAST_BOUND = 5.0
_SHORTEST_TRY = 0.01


@dataclass(frozen=True)
class Timing:
    """Time and chance; tests bring their own."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    random: Callable[[], float] = random.random
    sleep: Callable[[float], None] = time.sleep
    async_sleep: Callable[[float], Awaitable[None]] = anyio.sleep


@dataclass(frozen=True)
class Limits:
    """The time limits and the number of attempts of a call."""

    timeout: float
    attempt_timeout: float
    max_retries: int

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and self.attempt_timeout > 0):
            raise ValueError("timeout and attempt_timeout have to be above 0 seconds")
        if self.max_retries < 0:
            raise ValueError("max_retries must be at least 0")

    @property
    def single(self) -> float:
        """The time limit of a call with one attempt."""
        return min(self.attempt_timeout, self.timeout)


class Outage:
    """State of an outage: calls without a result. With it, an outage is reported once and waited for once."""

    def __init__(self, timing: Timing) -> None:
        self._clock = timing.clock
        self._reported = False
        self._retries_resume_at = -math.inf

    def allows_retries(self) -> bool:
        """Whether a call is worth retrying: not shortly after another one ran out of retries."""
        return self._clock() >= self._retries_resume_at

    def record(self, fault: Fault, pause: float) -> bool:
        """Records a call without a result.

        If the service is at fault, the calls of the next `pause` seconds are not retried. Returns whether it is the
        first one since a call succeeded.
        """
        if fault.retryable:
            self._retries_resume_at = self._clock() + pause
        first = not self._reported
        self._reported = True
        return first

    def end(self) -> None:
        """Records a call that got a result."""
        self._reported = False
        self._retries_resume_at = -math.inf


class Tries:
    """The tries of one call: how long each may take, and how long to wait after one that failed."""

    def __init__(self, limits: Limits, timing: Timing, outage: Outage) -> None:
        self.failed = 0
        self._max_retries = limits.max_retries if outage.allows_retries() else 0
        self._limits = limits
        self._timing = timing
        self._deadline = timing.clock() + limits.timeout

    def next_time_limit(self) -> float:
        return max(_SHORTEST_TRY, min(self._limits.attempt_timeout, self._time_left()))

    def delay_after(self, fault: Fault) -> float | None:
        """Seconds to wait before the next attempt; None if there is no further attempt.

        Full jitter, anything from 0 to a bound that doubles, so that clients that failed together do not come back
        together; what `Retry-After` asked for comes on top, for the same reason.
        """
        bound = min(_LAST_BOUND, _FIRST_BOUND * 2**self.failed)
        self.failed += 1
        if not fault.retryable or self.failed > self._max_retries:
            return None
        delay = (fault.retry_after or 0.0) + self._timing.random() * bound
        # A call that cannot be tried again in time fails now, not at the deadline.
        return delay if delay + _SHORTEST_TRY <= self._time_left() else None

    def _time_left(self) -> float:
        return self._deadline - self._timing.clock()
