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
    """Clocks, sleep functions, and the random generator. Tests replace them."""

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
    """State of an outage, so that only its first failure is logged, and only one call waits with retries."""

    def __init__(self, timing: Timing) -> None:
        self._clock = timing.clock
        self._reported = False
        self._retries_resume_at = -math.inf

    def allows_retries(self) -> bool:
        """Returns whether to retry a call. Calls shortly after a call that used up its retries are not retried."""
        return self._clock() >= self._retries_resume_at

    def record(self, fault: Fault, pause: float) -> bool:
        """Records a call without a result.

        After a retryable fault, the calls of the next `pause` seconds are not retried. Returns whether the failure is
        the first one since a successful call.
        """
        if fault.retryable:
            self._retries_resume_at = self._clock() + pause
        first = not self._reported
        self._reported = True
        return first

    def end(self) -> None:
        """Records a call with a result."""
        self._reported = False
        self._retries_resume_at = -math.inf


def backoff(timing: Timing, failures: int, fault: Fault) -> float:
    """Returns the seconds until the next attempt, after 1 or more failures.

    The delay has full jitter: it is random between 0 and a bound that doubles, so that clients that failed together do
    not retry together. For the same reason, the delay is added to the time of `Retry-After`.
    """
    # The exponent is limited, because changes are retried for ever.
    bound = min(_LAST_BOUND, _FIRST_BOUND * 2.0 ** min(failures - 1, 10))
    return (fault.retry_after or 0.0) + timing.random() * bound


class Tries:
    """The attempts of one call: their time limits, and the delays between them."""

    def __init__(self, limits: Limits, timing: Timing, outage: Outage) -> None:
        self.failed = 0
        self._max_retries = limits.max_retries if outage.allows_retries() else 0
        self._limits = limits
        self._timing = timing
        self._deadline = timing.clock() + limits.timeout

    def next_time_limit(self) -> float:
        return max(_SHORTEST_TRY, min(self._limits.attempt_timeout, self._time_left()))

    def delay_after(self, fault: Fault) -> float | None:
        """Returns the seconds until the next attempt, or None if there is no further attempt."""
        self.failed += 1
        if not fault.retryable or self.failed > self._max_retries:
            return None
        delay = backoff(self._timing, self.failed, fault)
        # A call whose next attempt would exceed the deadline fails immediately.
        return delay if delay + _SHORTEST_TRY <= self._time_left() else None

    def _time_left(self) -> float:
        return self._deadline - self._timing.clock()
