"""Compares `MemoryServiceStore` with the `InMemoryStore` in pydantic-ai-harness, and runs the documented program.

Runs with the installed `pydantic-ai-harness` against the built service.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pydantic_ai
from memory_service_client import MemoryClient
from memory_service_client.pydantic_ai_harness import MemoryServiceStore, _receipt_path
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness import Memory
from pydantic_ai_harness.memory import InMemoryStore, MemoryConflictError, MemoryOperation, MemoryStore
from real_service import REPOSITORY, make_key, running_service

FIRST = MemoryOperation("run-1:call-1", "write:one")
SECOND = MemoryOperation("run-1:call-2", "write:two")
THIRD = MemoryOperation("run-1:call-3", "delete")
SEARCH = {"limit": 10, "max_files": 10, "max_chars": 80, "max_file_chars": 1000}
# Names instead of versions: `none`, or the number of a step that returned the version.
STEPS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("read", ("notes/main.md",), {"max_chars": 100}),
    ("list_paths", (), {"limit": 5}),
    ("get_operation", (FIRST,), {}),
    ("write", ("notes/main.md", "one – 里昂"), {"expected_version": "none", "operation": FIRST}),
    ("read", ("notes/main.md",), {"max_chars": 100}),
    ("read", ("notes/main.md",), {"max_chars": 2}),
    ("write", ("notes/main.md", "again"), {"expected_version": "none", "operation": FIRST}),
    ("get_operation", (FIRST,), {}),
    ("get_operation", (MemoryOperation(FIRST.id, "other"),), {}),
    ("write", ("notes/main.md", "x"), {"expected_version": "none", "operation": MemoryOperation(FIRST.id, "other")}),
    ("write", ("notes/main.md", "x"), {"expected_version": "none"}),
    ("write", ("notes/main.md", "x"), {"expected_version": "unknown"}),
    ("write", ("notes/main.md", "two"), {"expected_version": "3", "operation": SECOND}),
    ("read", ("notes/main.md",), {"max_chars": 100}),
    ("write", ("notes/main.md", "x"), {"expected_version": "3"}),
    ("write", ("notes/other.md", "x"), {"expected_version": "12"}),
    ("delete", ("notes/main.md",), {"expected_version": "3"}),
    ("delete", ("notes/main.md",), {"expected_version": "none"}),
    ("delete", ("missing.md",), {"expected_version": "none"}),
    ("delete", ("missing.md",), {"expected_version": "12"}),
    ("delete", ("notes/main.md",), {"expected_version": "12", "operation": THIRD}),
    ("delete", ("notes/main.md",), {"expected_version": "none", "operation": THIRD}),
    ("read", ("notes/main.md",), {"max_chars": 100}),
    ("write", ("notes/main.md", "two"), {"expected_version": "none"}),
    ("write", ("notes/main.md", "x"), {"expected_version": "12"}),
    ("write", ("notes/main.md", "two"), {"expected_version": "23"}),
    ("write", ("notes/alpha.md", "alpha alpha"), {"expected_version": "none"}),
    ("write", ("notes/deep/beta.md", "alpha"), {"expected_version": "none"}),
    ("write", ("empty.md", ""), {"expected_version": "none"}),
    ("list_paths", (), {"limit": 10}),
    ("list_paths", (), {"limit": 2}),
    ("list_paths", ("notes/",), {"limit": 10}),
    ("list_paths", ("no",), {"limit": 10}),
    ("list_paths", ("missing/",), {"limit": 10}),
    ("search", ("notes/", "ALPHA two"), SEARCH),
    ("search", ("", "alpha"), SEARCH),
    ("search", ("notes/", "alpha"), {**SEARCH, "max_files": 1}),
    ("search", ("notes/", "alpha"), {**SEARCH, "max_file_chars": 5}),
    ("search", ("notes/", " "), SEARCH),
    ("read", ("a b.md",), {"max_chars": 100}),
    ("read", ("a/../b.md",), {"max_chars": 100}),
    ("read", ("a/./b.md",), {"max_chars": 100}),
    ("read", ("/a.md",), {"max_chars": 100}),
    ("read", ("a.md",), {"max_chars": 0}),
    ("list_paths", ("../",), {"limit": 1}),
    ("list_paths", (), {"limit": 0}),
]


async def play(store: Any) -> list[object]:
    """Returns the outcome of each step, with whether there is a version instead of the version."""
    versions: dict[str, str | None] = {"none": None, "unknown": "unknown"}
    outcomes: list[object] = []
    for number, (method, arguments, options) in enumerate(STEPS):
        if "expected_version" in options:
            options = {**options, "expected_version": versions[options["expected_version"]]}
        try:
            found = await getattr(store, method)(*arguments, **options)
        except (ValueError, RuntimeError) as error:
            outcomes.append(type(error).__name__)
            continue
        if hasattr(found, "version"):
            versions[str(number)] = found.version
            found = {**asdict(found), "version": found.version is not None}
        outcomes.append(found)
    return outcomes


async def compare(client: MemoryClient) -> None:
    ours, theirs = await play(MemoryServiceStore(client)), await play(InMemoryStore())
    for step, given, expected in zip(STEPS, ours, theirs, strict=True):
        assert given == expected, f"{step}\n{given}\n{expected}"
    # Files from the memory tool are listed unless the capability cannot name them.
    for name in ("added.md", "a space.md"):
        client.execute({"command": "create", "path": f"/memories/tool/{name}", "file_text": "alpha"})
    assert await MemoryServiceStore(client).list_paths("tool/", limit=10) == ["tool/added.md"]
    assert (await MemoryServiceStore(client).search("tool/", "alpha", **SEARCH)).scanned == 1


class Stopped(Exception):
    pass


async def replay_after_stop(client: MemoryClient) -> None:
    """Ends writes after the service has applied them, before their receipts are complete."""

    def stopped() -> MemoryServiceStore:
        def stop(*_: object) -> None:
            raise Stopped

        store = MemoryServiceStore(client)
        store._receipts.complete = stop  # type: ignore[method-assign]
        return store

    async def stop_write(content: str | None, expected: str | None, operation: MemoryOperation) -> None:
        store = stopped()
        try:
            if content is None:
                await store.delete("stop.md", expected_version=expected, operation=operation)
            else:
                await store.write("stop.md", content, expected_version=expected, operation=operation)
        except Stopped:
            return
        raise AssertionError("The write did not stop.")

    store = MemoryServiceStore(client)
    await stop_write("one\n", None, FIRST)
    created = await store.read("stop.md", max_chars=100)
    assert created is not None
    await stop_write("one\ntwo\n", created.version, SECOND)
    edited = await store.read("stop.md", max_chars=100)
    assert edited is not None
    # A change by another agent follows the write that was stopped.
    client.execute({"command": "insert", "path": "/memories/stop.md", "insert_line": 2, "insert_text": "three\n"})
    for operation, expected, existed in ((FIRST, created.version, False), (SECOND, edited.version, True)):
        for found in (
            await store.get_operation(operation),
            await store.write("stop.md", "twice", expected_version=None, operation=operation),
        ):
            assert found is not None
            assert (found.version, found.replayed, found.existed) == (expected, True, existed)
    current = await store.read("stop.md", max_chars=100)
    assert current is not None and current.content == "one\ntwo\nthree\n"
    await stop_write(None, current.version, THIRD)
    deleted = await store.get_operation(THIRD)
    assert deleted is not None and (deleted.version, deleted.replayed, deleted.existed) == (None, True, True)

    # An attempt that was not applied is applied by the next one.
    fourth = MemoryOperation("run-1:call-4", "write:four")
    try:
        await store.write("stop.md", "four", expected_version="unknown", operation=fourth)
    except MemoryConflictError:
        assert await store.get_operation(fourth) is None
    written = await store.write("stop.md", "four", expected_version=None, operation=fourth)
    assert not written.replayed and await store.get_operation(fourth) is not None


async def prune_receipts(client: MemoryClient) -> None:
    """Fills a bucket with receipts."""
    store = MemoryServiceStore(client)
    bucket = _receipt_path(MemoryOperation("0", "")).rpartition("/")[0]
    all_operations = (MemoryOperation(str(number), "") for number in range(5000))
    operations = [each for each in all_operations if _receipt_path(each).startswith(f"{bucket}/")][:20]
    for operation in operations:
        await store.delete("missing.md", expected_version=None, operation=operation)
    kept = [await store.get_operation(operation) is not None for operation in operations]
    assert kept == [False] * 4 + [True] * 16, kept


async def append_at_once(client: MemoryClient) -> None:
    """Runs agents of several processes that append to one file."""

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if any(isinstance(part, ToolReturnPart) for each in messages for part in each.parts):
            return ModelResponse(parts=[TextPart("Done.")])
        prompt = str(messages[0].parts[-1].content)  # type: ignore[union-attr]
        return ModelResponse(parts=[ToolCallPart("write_memory", {"content": prompt[-1]})])

    def agent() -> pydantic_ai.Agent[None, str]:
        memory: Memory[None] = Memory(MemoryServiceStore(client), inject_memory=False)
        return pydantic_ai.Agent(FunctionModel(model), capabilities=[memory])

    await asyncio.gather(*(agent().run(f"Note {letter}") for letter in "abcd"))
    file = await MemoryServiceStore(client).read("main/MEMORY.md", max_chars=100)
    assert file is not None and sorted(file.content.split()) == ["a", "b", "c", "d"], file


CALLS: list[tuple[str, dict[str, str]]] = [
    ("write_memory", {"content": "Lives in Lyon."}),
    ("write_memory", {"content": "Paris", "old_text": "Lyon"}),
    ("search_memory", {"query": "paris"}),
    ("read_memory", {"file": "MEMORY.md"}),
]


def run_documented(url: str, key: str) -> list[object]:
    """Runs the program in the guide with a function model, and returns the results of its calls."""
    guide = (REPOSITORY / "docs" / "agent-frameworks.md").read_text(encoding="utf-8")
    snippets = re.findall(r"^```python\n(.*?)^```$", guide, re.M | re.S)
    program = next(code for code in snippets if "pydantic_ai_harness" in code)
    assert f"`pydantic-ai-harness` {version('pydantic-ai-harness')}" in guide
    results: list[object] = []

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        returned = [part for each in messages for part in each.parts if isinstance(part, ToolReturnPart)]
        results[:] = [part.content for part in returned]
        done = len(results)
        return ModelResponse(parts=[ToolCallPart(*CALLS[done]) if done < len(CALLS) else TextPart("Done.")])

    agent = pydantic_ai.Agent
    os.environ.update(MEMORY_SERVICE_URL=url, MEMORY_SERVICE_API_KEY=key)
    pydantic_ai.Agent = lambda _model, **options: agent(FunctionModel(model), **options)  # type: ignore
    try:
        exec(compile(program, "agent-frameworks.md", "exec"), {})
    finally:
        pydantic_ai.Agent = agent  # type: ignore[misc]
    return results


def main() -> int:
    with tempfile.TemporaryDirectory() as name, running_service(Path(name), AUTH="keys") as url:
        key = make_key(Path(name), "--service")
        for check in (compare, replay_after_stop, prune_receipts, append_at_once):
            asyncio.run(check(MemoryClient(url, api_key=key, tenant=check.__name__)))

        memory = MemoryClient(url, api_key=key, tenant="documented")
        memory.execute({"command": "create", "path": "/memories/other.md", "file_text": "Likes tea."})
        written, edited, found, text = run_documented(url, make_key(Path(name), "--tenant", "documented"))
        assert isinstance(written, dict) and written["status"] == "created", written
        assert isinstance(edited, dict) and edited["status"] == "updated", edited
        assert isinstance(found, dict) and found["matches"][0]["snippet"] == "Lives in Paris.\n", found
        assert text == "Lives in Paris.\n", text
        view = memory.execute({"command": "view", "path": "/memories/main/MEMORY.md"})
        assert view["content"].endswith("     1\tLives in Paris.\n     2\t"), view
        shown = memory.execute({"command": "view", "path": "/memories"})["content"]
        assert "/memories/main/MEMORY.md" in shown and ".memory-operations" not in shown, shown

        reader = make_key(Path(name), "--tenant", "documented", "--access", "read_only")
        store: MemoryStore = MemoryServiceStore(MemoryClient(url, api_key=reader))
        try:
            asyncio.run(store.write("main/new.md", "x", expected_version=None, operation=FIRST))
            raise AssertionError("A read-only key wrote.")
        except pydantic_ai.exceptions.ToolFailed as error:
            assert str(error) == "The credential is read-only.", error
    harness = version("pydantic-ai-harness")
    print(f"pydantic-ai-harness {harness}: {len(STEPS)} calls as with InMemoryStore, and the documented program")
    return 0


if __name__ == "__main__":
    sys.exit(main())
