"""Forks and event loops. A connection is only used by the process and in the loop that opened it."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from anthropic.types.beta import BetaToolUseBlockParam

import memory_service_client.client as client_module
from memory_service_client import AsyncMemoryClient, MemoryClient, MemoryServiceError

pytestmark = [
    # Python 3.12 and newer warn about a fork beside threads, and the test server is a thread.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    # `asyncio.run` leaves foreign connections to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture(autouse=True)
def _collect_here() -> Iterator[None]:
    yield
    gc.collect()


class Connections:
    """A service that returns the connection's number, and keeps connections open."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.opened = 0


@pytest.fixture
def connections() -> Iterator[Connections]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            with lock:
                service.opened += 1
                self.number = service.opened

        def do_POST(self) -> None:
            block = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            result = {"type": "tool_result", "tool_use_id": block["id"], "content": str(self.number), "is_error": False}
            body = json.dumps(result).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service = Connections(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def block(number: int) -> BetaToolUseBlockParam:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": {"command": "view"}}


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[Callable[[], Any]]:
    """Runs `work` in a fork of this process, and yields a function that waits for its result."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            outcome: object = {"result": work()}
        except BaseException:
            outcome = {"error": traceback.format_exc()}
        os.write(writing, json.dumps(outcome).encode())
        os._exit(0)
    os.close(writing)

    def result() -> Any:
        with os.fdopen(reading, "rb") as pipe:
            outcome = json.loads(pipe.read())
        assert "error" not in outcome, outcome["error"]
        return outcome["result"]

    try:
        yield result
    finally:
        os.waitpid(process, 0)


def contents(results: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(result["content"]) for result in results]


@needs_fork
def test_forks_of_a_sync_client_open_separate_connections(connections: Connections) -> None:
    client = MemoryClient(connections.url)

    def calls(first: int) -> list[str]:
        return contents([client.execute(block(first + i)) for i in range(50)])

    with client:
        assert set(calls(0)) == {"1"}
        with forked(lambda: calls(100)) as one, forked(lambda: calls(200)) as two:
            assert set(calls(300)) == {"1"}
            numbers = {*one(), *two()}
        assert numbers == {"2", "3"}
        assert set(calls(400)) == {"1"}


@needs_fork
def test_forks_of_an_async_client_open_separate_connections(connections: Connections) -> None:
    client = AsyncMemoryClient(connections.url)

    async def calls(first: int) -> list[str]:
        return contents([await client.execute(block(first + i)) for i in range(50)])

    assert set(asyncio.run(calls(0))) == {"1"}
    with forked(lambda: asyncio.run(calls(100))) as one, forked(lambda: asyncio.run(calls(200))) as two:
        numbers = {*one(), *two()}
    assert numbers == {"2", "3"}


@needs_fork
def test_a_fork_that_closes_the_client_keeps_the_connections_of_its_parent(connections: Connections) -> None:
    client = MemoryClient(connections.url)
    assert client.execute(block(1))["content"] == "1"
    with forked(client.close) as closed:
        closed()
    assert client.execute(block(2))["content"] == "1"
    client.close()


@needs_fork
def test_a_fork_rejects_an_http_client_that_its_parent_has_used(connections: Connections) -> None:
    with httpx2.Client() as http_client:
        client = MemoryClient(connections.url, http_client=http_client)

        def error() -> str:
            try:
                return str(client.execute(block(2))["content"])
            except MemoryServiceError as rejected:
                return str(rejected)

        # A client that was created before the fork, but not used, is valid.
        with forked(lambda: client.execute(block(0))["content"]) as unused:
            assert unused() == "1"
        client.execute(block(1))
        with forked(error) as used:
            assert used() == (
                "http_client was used before this process was forked, so its connections belong to another process. "
                "Make an http_client in each process."
            )


def test_an_async_client_works_in_several_event_loops(connections: Connections) -> None:
    client = AsyncMemoryClient(connections.url, max_retries=0)

    async def twice(first: int) -> list[str]:
        return contents([await client.execute(block(first)), await client.execute(block(first + 1))])

    assert asyncio.run(twice(0)) == ["1", "1"]
    assert asyncio.run(twice(2)) == ["2", "2"]
    assert asyncio.run(twice(4)) == ["3", "3"]


def test_an_async_client_can_be_entered_in_each_event_loop(connections: Connections) -> None:
    client = AsyncMemoryClient(connections.url, max_retries=0)

    async def main(number: int) -> str:
        async with client:
            return str((await client.execute(block(number)))["content"])

    assert [asyncio.run(main(1)), asyncio.run(main(2))] == ["1", "2"]


def test_an_async_client_works_in_event_loops_of_several_threads(connections: Connections) -> None:
    client = AsyncMemoryClient(connections.url, max_retries=0)
    found: list[str] = []
    together = threading.Barrier(3, timeout=30)

    async def main(number: int) -> None:
        for i in range(20):
            found.append(str((await client.execute(block(100 * number + i)))["content"]))
            together.wait()

    threads = [threading.Thread(target=asyncio.run, args=[main(number)]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["1"] * 20 + ["2"] * 20 + ["3"] * 20


def test_an_async_client_works_while_another_thread_removes_its_clients(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = AsyncMemoryClient(connections.url, max_retries=0)
    is_closed = client_module._is_closed

    def removed_meanwhile(loop: object) -> bool:
        client._own_http.clear()
        return is_closed(loop)

    monkeypatch.setattr(client_module, "_is_closed", removed_meanwhile)

    async def call(number: int) -> str:
        return str((await client.execute(block(number)))["content"])

    assert [asyncio.run(call(number)) for number in range(3)] == ["1", "2", "3"]


def test_a_call_is_retried_after_connections_of_a_closed_loop(connections: Connections) -> None:
    http_client = httpx2.AsyncClient()
    client = AsyncMemoryClient(connections.url, http_client=http_client)

    async def call(number: int) -> str:
        try:
            return str((await client.execute(block(number)))["content"])
        except MemoryServiceError as error:
            return str(error.code)

    assert asyncio.run(call(1)) == "1"
    assert asyncio.run(call(2)) in ("2", "network_error")
