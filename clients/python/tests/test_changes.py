"""The changes to a memory: the stream, breaks in it, and the end."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from fake_service import Answer, Drop, FakeService, FakeTime, Hang, Step, Stream, problem
from memory_service_client import AsyncMemoryClient, ChangeEvent, MemoryClient, MemoryServiceError, client
from memory_service_client._retry import Timing

RETRY = "retry: 1000\n\n"
PAGE = {"events": [], "cursor": "7", "has_more": False}


def event(cursor: str) -> str:
    return f"id: {cursor}\ndata: {json.dumps({'cursor': cursor, 'type': 'created'})}\n\n"


def stream_problem(status: int, code: str) -> str:
    return f"event: problem\ndata: {json.dumps({'status': status, 'code': code, 'detail': 'Detail.'})}\n\n"


def page(body: dict[str, Any]) -> Answer:
    return Answer(200, json.dumps(body).encode())


@dataclass
class Followed:
    """The cursors of changes, the cursors passed to `resync`, and the error."""

    cursors: list[str] = field(default_factory=list)
    resyncs: list[str] = field(default_factory=list)
    error: MemoryServiceError | None = None


def follow(
    flavor: str, url: str, count: int, options: dict[str, Any], timing: Timing, resync: bool = False
) -> Followed:
    """Iterates over changes up to `count`."""
    followed = Followed()

    def take(change: ChangeEvent) -> bool:
        followed.cursors.append(change["cursor"])
        return len(followed.cursors) == count

    async def resync_async(cursor: str) -> None:
        followed.resyncs.append(cursor)

    async def main() -> None:
        async with AsyncMemoryClient(url, _timing=timing) as memory:
            given = {**options, "resync": resync_async} if resync else options
            changes: AsyncGenerator[ChangeEvent, None] = memory.changes(**given)
            async for change in changes:
                if take(change):
                    break
            await changes.aclose()

    try:
        if flavor == "async":
            anyio.run(main)
        else:
            with MemoryClient(url, _timing=timing) as memory:
                given = {**options, "resync": followed.resyncs.append} if resync else options
                changes: Generator[ChangeEvent, None, None] = memory.changes(**given)
                for change in changes:
                    if take(change):
                        break
                changes.close()
    except MemoryServiceError as error:
        followed.error = error
    return followed


pytestmark = pytest.mark.parametrize("flavor", ["sync", "async"])


def test_continues_after_the_last_event_when_a_stream_ends(
    flavor: str, fake: FakeService, time: FakeTime, timing: Timing
) -> None:
    fake.script = [
        Stream(RETRY + event("1") + event("2")),
        Stream(RETRY + event("3") + 'id: 4\ndata: {"cursor"', "reset"),
        Stream(RETRY + "id: 5\ndata:\n\n" + stream_problem(503, "shutting_down")),
        Stream(event("6") + stream_problem(409, "access_changed")),
        Drop(),
        Stream(event("7"), "silent"),
    ]
    assert follow(flavor, fake.url, 5, {}, timing).cursors == ["1", "2", "3", "6", "7"]
    assert [request.path for request in fake.received] == [
        "/v1/changes",
        "/v1/changes?after=2",
        "/v1/changes?after=3",
        "/v1/changes?after=5",
        "/v1/changes?after=6",
        "/v1/changes?after=6",
    ]
    assert {request.headers["Accept"] for request in fake.received} == {"text/event-stream"}
    # The stream's delay and half of the backoff; the last stream had no `retry`.
    assert time.sleeps == [1.1, 1.1, 1.1, 1.1, 0.2]


def test_opens_another_stream_when_one_is_silent(
    flavor: str, fake: FakeService, timing: Timing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "SILENCE", 0.2)
    fake.script = [Stream(RETRY + event("1"), "silent"), Hang(), Stream(event("2"), "silent")]
    assert follow(flavor, fake.url, 2, {}, timing).cursors == ["1", "2"]


def test_sends_the_filter_with_each_request(flavor: str, fake: FakeService, timing: Timing) -> None:
    fake.script = [Stream(RETRY), Stream(event("1"), "silent")]
    options = {"after": "1", "path": "/memories/a", "types": ["created", "deleted"], "by": "me", "content": True}
    follow(flavor, fake.url, 1, options, timing)
    expected = "/v1/changes?after=1&path=%2Fmemories%2Fa&type=created&type=deleted&by=me&content=true"
    assert [request.path for request in fake.received] == [expected, expected]


def test_waits_while_the_service_is_unavailable_and_warns_once(
    flavor: str, fake: FakeService, time: FakeTime, timing: Timing, caplog: pytest.LogCaptureFixture
) -> None:
    fake.script = [
        *[problem(503, "database_unavailable")] * 9,
        problem(429, "rate_limited", Retry_After="7"),
        problem(500, "internal_error"),
        Stream(event("1"), "silent"),
    ]
    with caplog.at_level(logging.WARNING):
        assert follow(flavor, fake.url, 1, {}, timing).cursors == ["1"]
    assert time.sleeps == [0.1, 0.2, 0.4, 0.8, 1.6, 2.5, 2.5, 2.5, 2.5, 9.5, 2.5]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("step", "status", "code", "message"),
    [
        (problem(403, "tenant_mismatch"), 403, "tenant_mismatch", "The key is not valid for this tenant."),
        (Stream(RETRY + stream_problem(401, "unauthorized")), 401, "unauthorized", "Set api_key."),
        (Stream(stream_problem(410, "changes_expired")), 410, "changes_expired", "Detail."),
        (problem(404, "route_not_found"), 404, "route_not_found", "The service has no changes."),
        (Answer(200, b"<html>"), 200, "invalid_response", "not like a memory service"),
    ],
    ids=["response", "end of the stream", "expired", "no such route", "page of a proxy"],
)
def test_other_rejections_are_raised(
    flavor: str, fake: FakeService, timing: Timing, step: Step, status: int, code: str, message: str
) -> None:
    fake.script = [Stream(event("1")), step]
    followed = follow(flavor, fake.url, 2, {}, timing)
    assert followed.cursors == ["1"]
    assert followed.error is not None
    assert (followed.error.status, followed.error.code) == (status, code)
    assert message in str(followed.error)


def test_takes_a_new_position_before_resync(flavor: str, fake: FakeService, timing: Timing) -> None:
    expired = problem(410, "changes_expired")
    fake.script = [expired, problem(503, "overloaded"), page(PAGE), Stream(event("8"), "silent")]
    followed = follow(flavor, fake.url, 1, {"after": "1"}, timing, resync=True)
    assert (followed.cursors, followed.resyncs) == (["8"], ["7"])
    assert [request.path for request in fake.received] == [
        "/v1/changes?after=1",
        "/v1/changes?after=now&limit=1",
        "/v1/changes?after=now&limit=1",
        "/v1/changes?after=7",
    ]


def test_continues_from_one_position_after_now(flavor: str, fake: FakeService, timing: Timing) -> None:
    fake.script = [page(PAGE), Drop(), Stream(event("8"), "silent")]
    assert follow(flavor, fake.url, 1, {"after": "now"}, timing).cursors == ["8"]
    assert [request.path for request in fake.received] == [
        "/v1/changes?after=now&limit=1",
        "/v1/changes?after=7",
        "/v1/changes?after=7",
    ]


def test_lists_one_page(flavor: str, fake: FakeService) -> None:
    fake.script = [page(PAGE)]

    async def main() -> object:
        async with AsyncMemoryClient(fake.url) as memory:
            return await memory.list_changes(after="now", limit=1)

    if flavor == "async":
        assert anyio.run(main) == PAGE
    else:
        with MemoryClient(fake.url) as memory:
            assert memory.list_changes(after="now", limit=1) == PAGE
    assert fake.received[0].path == "/v1/changes?after=now&limit=1"


def test_yields_the_changes_by_the_service(flavor: str, service_url: str, tenant: str) -> None:
    path = "/memories/ü.md"

    def texts(changes: list[ChangeEvent]) -> list[str]:
        return [
            f"{change['type']} {change['version']['path']} {change.get('content')}"
            for change in changes
            if "version" in change
        ]

    async def main() -> list[ChangeEvent]:
        async with AsyncMemoryClient(service_url, tenant=tenant) as memory:
            await memory.execute({"command": "create", "path": path, "file_text": "one"})
            found = []
            async for change in memory.changes(path=path, content=True):
                found.append(change)
                if len(found) == 2:
                    break
                await memory.execute({"command": "delete", "path": path})
            return found

    def run() -> list[ChangeEvent]:
        with MemoryClient(service_url, tenant=tenant) as memory:
            memory.execute({"command": "create", "path": path, "file_text": "one"})
            found = []
            for change in memory.changes(path=path, content=True):
                found.append(change)
                if len(found) == 2:
                    break
                memory.execute({"command": "delete", "path": path})
            return found

    found = anyio.run(main) if flavor == "async" else run()
    assert texts(found) == [f"created {path} one", f"deleted {path} None"]
