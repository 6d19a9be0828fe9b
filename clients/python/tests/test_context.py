"""The context: a snapshot of the memory for a conversation, and the changes to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest

from fake_service import Answer, FakeService, problem
from memory_service_client import (
    AsyncMemoryClient,
    AsyncMemoryContext,
    MemoryClient,
    MemoryContext,
    MemoryServiceError,
)
from memory_service_client.types import Context

FIRST = {"guidance": "Use it.", "snapshot": "All files.", "changes": None, "version": "v.1"}
UNCHANGED = {"guidance": "Use it.", "snapshot": None, "changes": "", "version": "v.1"}
CHANGED = {"guidance": "Use it.", "snapshot": None, "changes": "A new file.", "version": "v.2"}


def answer(body: Mapping[str, Any]) -> Answer:
    return Answer(200, json.dumps(body).encode(), {})


def read_context(url: str, flavor: str, **options: Any) -> Context:
    if flavor == "sync":
        with MemoryClient(url, max_retries=0) as client:
            return client.context(**options)

    async def main() -> Context:
        async with AsyncMemoryClient(url, max_retries=0) as client:
            return await client.context(**options)

    return anyio.run(main)


def converse(
    url: str, flavor: str, steps: str, *, tenant: str | None = None, write: Callable[[], object] = lambda: None
) -> tuple[list[str | None], str, str | None]:
    """Calls `start` for each `s` and `update` for each `u`, with a write after the first call.

    Returns the texts, the guidance, and the version.
    """
    texts: list[str | None] = []
    if flavor == "sync":
        with MemoryClient(url, tenant=tenant) as client:
            context = MemoryContext(client)
            for step in steps:
                texts.append(context.start() if step == "s" else context.update())
                if len(texts) == 1:
                    write()
            return texts, context.guidance, context.version

    async def main() -> tuple[list[str | None], str, str | None]:
        async with AsyncMemoryClient(url, tenant=tenant) as client:
            context = AsyncMemoryContext(client)
            for step in steps:
                texts.append(await context.start() if step == "s" else await context.update())
                if len(texts) == 1:
                    write()
            return texts, context.guidance, context.version

    return anyio.run(main)


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_the_context_is_requested_with_a_version_and_a_limit(fake: FakeService, flavor: str) -> None:
    fake.script = [answer(FIRST), answer(CHANGED)]
    assert read_context(fake.url, flavor) == FIRST
    assert read_context(fake.url, flavor, since="v.1", max_chars=2000) == CHANGED
    assert [request.path for request in fake.received] == ["/context", "/context?since=v.1&max_chars=2000"]


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_response_without_a_text_and_a_service_without_a_context_are_errors(fake: FakeService, flavor: str) -> None:
    fake.script = [answer({**UNCHANGED, "changes": None}), problem(404, "route_not_found")]
    with pytest.raises(MemoryServiceError, match="/context responded with 200, but not like a memory service"):
        read_context(fake.url, flavor, since="v.1")
    with pytest.raises(MemoryServiceError, match=r"The service has no context\. Update it, or check url\."):
        read_context(fake.url, flavor, since="v.1")


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_conversation_gets_the_snapshot_and_then_the_changes(fake: FakeService, flavor: str) -> None:
    fake.script = [answer(each) for each in (FIRST, UNCHANGED, CHANGED, FIRST)]
    assert converse(fake.url, flavor, "suus") == (["All files.", None, "A new file.", "All files."], "Use it.", "v.1")
    sent = [request.path for request in fake.received]
    assert sent == ["/context", "/context?since=v.1", "/context?since=v.1", "/context"]


def test_a_conversation_continues_from_its_saved_version(fake: FakeService) -> None:
    fake.script = [answer(CHANGED)]
    with MemoryClient(fake.url) as client:
        assert MemoryContext(client, "v.1").update() == "A new file."
    assert [request.path for request in fake.received] == ["/context?since=v.1"]


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_write_changes_the_context_of_the_service(service_url: str, tenant: str, flavor: str) -> None:
    def write() -> None:
        with MemoryClient(service_url, tenant=tenant) as client:
            client.execute({"command": "create", "path": "/memories/pinned/a.md", "file_text": "Be brief."})

    texts, guidance, _ = converse(service_url, flavor, "suu", tenant=tenant, write=write)
    assert texts == [
        "<memory_snapshot>\nThere are no files in /memories.\n</memory_snapshot>",
        "<memory_snapshot>\nHere's the content of /memories/pinned/a.md with line numbers:\n"
        "     1\tBe brief.\n</memory_snapshot>",
        None,
    ]
    assert guidance.startswith("MEMORY PROTOCOL:\n")
