from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
import pytest
from anthropic.types import ToolUseBlock
from anthropic.types.beta import BetaToolUseBlock

from conftest import Execute
from fake_service import Answer, FakeService, Hang
from memory_service_client import AsyncMemoryClient, MemoryClient, MemoryInput, __version__

VIEW: MemoryInput = {"command": "view", "path": "/memories"}


def test_options_set_the_headers(execute: Execute, fake: FakeService) -> None:
    fake.script = [Answer(), Answer()]
    execute(fake.url, VIEW, api_key=" msk_abc\n", tenant="team-a:1@x")
    execute(fake.url, VIEW)
    first, second = (request.headers for request in fake.received)
    assert first["Authorization"] == "Bearer msk_abc"
    assert first["X-Tenant-Id"] == "team-a:1@x"
    assert first["Content-Type"] == "application/json"
    assert first["Accept"] == "application/json"
    assert first["User-Agent"] == f"memory-service-client-python/{__version__}"
    assert "Authorization" not in second
    assert "X-Tenant-Id" not in second


@pytest.mark.parametrize(("provenance", "header"), [(True, "include"), (False, "omit"), (None, None)])
def test_provenance_option_sets_the_header(
    execute: Execute, fake: FakeService, provenance: bool | None, header: str | None
) -> None:
    fake.script = [Answer()]
    execute(fake.url, VIEW, provenance=provenance)
    assert fake.received[0].headers.get("X-Memory-Provenance") == header


@pytest.mark.parametrize(
    ("suffix", "path"),
    [
        ("", "/execute"),
        ("/", "/execute"),
        ("/memory/v1/", "/memory/v1/execute"),
        ("/a%2Fb", "/a%2Fb/execute"),
        ("?", "/execute"),
    ],
)
def test_url_option_sets_the_path(execute: Execute, fake: FakeService, suffix: str, path: str) -> None:
    fake.script = [Answer()]
    execute(f"{fake.url}{suffix}", VIEW)
    assert fake.received[0].path == path


@pytest.mark.parametrize("make", [MemoryClient, AsyncMemoryClient])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": ""}, "url must be"),
        ({"url": "localhost:8080"}, "url must be"),
        ({"url": "ftp://localhost"}, "url must be"),
        ({"url": "http://"}, "url must be"),
        ({"url": "http://\x00"}, "url must be"),
        ({"url": "http://user:SECRET@localhost"}, "url must not hold"),
        ({"url": "http://localhost?key=SECRET"}, "url must not hold"),
        (
            {"url": "http://x/team/execute/"},
            "url must not end in /execute, which the client adds: http://x/team/execute",
        ),
        ({"url": "http://x", "api_key": ""}, "api_key is empty"),
        ({"url": "http://x", "api_key": "SEC\nRET"}, "api_key is empty or holds"),
        ({"url": "http://x", "api_key": "SECRET-é"}, "api_key is empty or holds"),
        ({"url": "http://x", "tenant": ""}, "tenant must be"),
        ({"url": "http://x", "tenant": "a b"}, "tenant must be"),
        ({"url": "http://x", "tenant": "a" * 129}, "tenant must be"),
        ({"url": "http://x", "timeout": 0}, "timeout"),
        ({"url": "http://x", "timeout": float("nan")}, "timeout"),
        ({"url": "http://x", "attempt_timeout": -1}, "timeout"),
        ({"url": "http://x", "max_retries": -1}, "max_retries"),
    ],
)
def test_invalid_options_are_rejected(make: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make(**options)
    assert "SECRET" not in f"{caught.value!r} {caught.value.__context__!r}"


@pytest.mark.parametrize("make", [MemoryClient, AsyncMemoryClient])
def test_repr_shows_no_key(make: Any) -> None:
    client = make("https://memory.example.com/x", api_key="msk_SECRET", tenant="a")
    assert repr(client) == f"{make.__name__}('https://memory.example.com')"
    assert "SECRET" not in repr(client._service)


@pytest.mark.parametrize("make", [ToolUseBlock, BetaToolUseBlock])
def test_blocks_of_the_sdk_are_accepted(execute: Execute, fake: FakeService, make: Any) -> None:
    fake.script = [Answer()]
    block = make(type="tool_use", id="toolu_1", name="memory", input=VIEW, caller={"type": "direct"})
    assert execute(fake.url, block)["tool_use_id"] == "toolu_1"
    assert json.loads(fake.received[0].body) == {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": VIEW}


@pytest.mark.parametrize("call", [None, "view", 1, [VIEW], object()])
def test_other_values_than_calls_are_rejected(execute: Execute, fake: FakeService, call: object) -> None:
    with pytest.raises(TypeError, match="a memory tool input or a tool_use block is needed"):
        execute(fake.url, call)


def test_a_given_http_client_stays_open(fake: FakeService) -> None:
    fake.script = [Answer(), Answer()]
    with httpx2.Client(headers={"X-Mine": "1"}, follow_redirects=True) as http_client:
        for _ in range(2):
            with MemoryClient(fake.url, http_client=http_client) as client:
                client.execute(VIEW)
    assert [request.headers["X-Mine"] for request in fake.received] == ["1", "1"]


def test_a_given_async_http_client_stays_open(fake: FakeService) -> None:
    fake.script = [Answer(), Answer()]

    async def main() -> None:
        async with httpx2.AsyncClient() as http_client:
            for _ in range(2):
                async with AsyncMemoryClient(fake.url, http_client=http_client) as client:
                    await client.execute(VIEW)
            assert not http_client.is_closed

    anyio.run(main)


def test_cancelling_aborts_a_call(fake: FakeService) -> None:
    fake.script = [Hang()]

    async def main() -> bool:
        async with AsyncMemoryClient(fake.url) as client:
            with anyio.move_on_after(0.2) as scope:
                await client.execute(VIEW)
            return scope.cancelled_caught

    assert anyio.run(main)
