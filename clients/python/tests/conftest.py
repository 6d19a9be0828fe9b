from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import anyio
import pytest

from fake_service import FakeService, FakeTime, fake_service
from memory_service_client import AsyncMemoryClient, MemoryClient
from memory_service_client._retry import Timing
from messages_api import MessagesApi, messages_api
from real_service import run_command, running_service


class Execute(Protocol):
    """Creates a client with the given options and executes one call with it, sync or async."""

    def __call__(self, url: str, call: Any, **options: Any) -> Mapping[str, Any]: ...


@pytest.fixture(params=["sync", "async"])
def execute(request: pytest.FixtureRequest) -> Execute:
    def run(url: str, call: Any, *, idempotency_key: str | None = None, **options: Any) -> Mapping[str, Any]:
        if request.param == "sync":
            with MemoryClient(url, **options) as client:
                result: Mapping[str, Any] = client.execute(call, idempotency_key=idempotency_key)
                return result

        async def main() -> Mapping[str, Any]:
            async with AsyncMemoryClient(url, **options) as client:
                result: Mapping[str, Any] = await client.execute(call, idempotency_key=idempotency_key)
                return result

        return anyio.run(main)

    return run


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with fake_service() as service:
        yield service


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def timing(time: FakeTime) -> Timing:
    return Timing(time.clock, time.now, time.random, time.sleep, time.async_sleep)


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with messages_api() as stand_in:
        yield stand_in


@pytest.fixture(scope="session")
def service_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("data") / "db"
    with running_service(directory, SHARING="on") as url:
        for shared in ("team", "builder"):
            run_command(directory, "tenants", "create", shared)
        yield url


@pytest.fixture
def tenant() -> str:
    """A tenant for one test only."""
    return f"test-{uuid.uuid4()}"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
