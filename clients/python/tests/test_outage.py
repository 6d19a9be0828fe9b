"""Only the first failure in an outage is logged, and only one call waits with retries."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from fake_service import Answer, FakeService, FakeTime, problem
from memory_service_client import AsyncMemoryClient, MemoryClient, MemoryInput, MemoryServiceError
from memory_service_client._retry import Timing

VIEW: MemoryInput = {"command": "view", "path": "/memories"}
ONCE = "The agent runs without its memory; further failures are not logged until a call succeeds."
BUSY = problem(503, "database_unavailable")
DENIED = problem(401, "unauthorized", "The API key is not valid.")

Calls = Callable[..., list[str]]


@pytest.fixture(params=["sync", "async"])
def calls(request: pytest.FixtureRequest, fake: FakeService, timing: Timing) -> Calls:
    """Makes calls with one client, with `pause` after each. Returns the text from each result or error."""

    def run(number: int, *, pause: Callable[[], None] = lambda: None, **options: Any) -> list[str]:
        async def main() -> list[str]:
            outcomes = []
            sync_client = MemoryClient(fake.url, _timing=timing, **options)
            async_client = AsyncMemoryClient(fake.url, _timing=timing, **options)
            with sync_client:
                async with async_client:
                    for _ in range(number):
                        try:
                            sync = request.param == "sync"
                            result = sync_client.execute(VIEW) if sync else await async_client.execute(VIEW)
                            outcomes.append(result["content"])
                        except MemoryServiceError as error:
                            outcomes.append(str(error))
                        pause()
            return outcomes

        return anyio.run(main)

    return run


def test_the_first_failure_is_logged_as_a_warning(
    calls: Calls, fake: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    fake.script = [DENIED, DENIED, Answer(), DENIED, DENIED]
    outcomes = calls(5)
    assert outcomes[2] == "done"
    assert outcomes[0].startswith(
        "The memory service responded with 401 unauthorized: The service needs a key. Set api_key."
    )
    logged = [(record.name, record.levelname, record.message) for record in caplog.records]
    assert logged == [
        ("memory_service_client.client", "WARNING", f"{outcomes[0]} {ONCE}"),
        ("memory_service_client.client", "WARNING", f"{outcomes[3]} {ONCE}"),
    ]


def test_a_retry_is_logged_at_debug_level(calls: Calls, fake: FakeService, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "memory_service_client")
    fake.script = [BUSY, Answer()]
    calls(1)
    logged = [(record.levelname, record.message) for record in caplog.records]
    assert logged == [
        ("DEBUG", "Retrying in 0.10 s: The memory service responded with 503 database_unavailable: Not now."),
    ]


def test_outage_retries_one_call_and_sends_later_calls_once(calls: Calls, fake: FakeService, time: FakeTime) -> None:
    fake.script = [BUSY] * 13
    time.chance = 1.0
    calls(5)
    assert len(fake.received) == 9 + 4
    assert sum(time.sleeps) == pytest.approx(21.2)


def test_outage_ends_when_a_call_succeeds(calls: Calls, fake: FakeService) -> None:
    fake.script = [BUSY, BUSY, BUSY, Answer(), BUSY, BUSY]
    calls(4, max_retries=1)
    assert len(fake.received) == 6


def test_outage_ends_after_the_timeout(calls: Calls, fake: FakeService, time: FakeTime) -> None:
    fake.script = [BUSY] * 6
    time.chance = 0.0
    pauses = [0.9, 1.0, 0.0]
    calls(3, max_retries=1, timeout=1, pause=lambda: time.sleep(pauses.pop(0)))
    assert len(fake.received) == 2 + 1 + 2


def test_outage_does_not_start_with_a_rejected_call(calls: Calls, fake: FakeService) -> None:
    fake.script = [DENIED, BUSY, BUSY]
    calls(2, max_retries=1)
    assert len(fake.received) == 3
