"""Runs the documents' snippets, and the example, without changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from memory_service_client import MemoryClient, MemoryInput
from messages_api import Block, MessagesApi, text, tool_use
from real_service import REPOSITORY
from stand_in_api import stand_in_api

ANSWER = text("I will.")
CREATE = tool_use("t1", command="create", path="/memories/style.txt", file_text="Short answers.\n")
CREATED = [{"type": "tool_result", "tool_use_id": "t1", "content": "File created successfully at: /memories/style.txt"}]
VIEW: MemoryInput = {"command": "view", "path": "/memories/style.txt"}
VIEWED = "Here's the content of /memories/style.txt with line numbers:\n     1\tShort answers.\n     2\t"
LISTING = (
    "Here're the files and directories up to 2 levels deep in /memories, "
    "excluding hidden items and node_modules:\n4.0K\t/memories"
)

CACHED = {"type": "ephemeral"}
SNAPSHOT = (
    "<memory_snapshot>\nHere's the content of /memories/pinned/tone.md with line numbers:\n"
    "     1\tBe polite.\n</memory_snapshot>"
)
CHANGES = "<memory_changes>\nThese files are new or changed:\n15B\t/memories/style.txt\tDAY\n</memory_changes>"

# Expected output from each snippet in a document, in order, and the tool results that it sends.
AGENT = ("I will.\n", [CREATED])
DOCUMENTS: dict[str, list[tuple[str, list[list[Block]]]]] = {
    "README.md": [AGENT],
    "clients/python/README.md": [
        AGENT,
        AGENT,
        ("I will.\n", [[{**CREATED[0], "is_error": False}]]),
        (f"{LISTING} False\n", []),
        AGENT,
        ("created /memories/tea.md Green\ndeleted /memories/tea.md None\n", []),
        ("/memories/team\n", []),
        ("none read_write\n", []),
    ],
    "docs/agents.md": [],
    "docs/context.md": [
        ("I will.\nShort.\n", [CREATED]),
        ("I will.\nShort.\n", [[{**CREATED[0], "is_error": False}]]),
    ],
}


def snippets(document: str) -> list[str]:
    markdown = (REPOSITORY / document).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL)


SNIPPETS = [
    pytest.param(code, *expected, id=f"{document}-{number}")
    for document, all_expected in DOCUMENTS.items()
    for number, (code, expected) in enumerate(zip(snippets(document), all_expected, strict=True), 1)
]


def run(*arguments: str, api_url: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", *arguments],
        env={**os.environ, "ANTHROPIC_BASE_URL": api_url, "ANTHROPIC_API_KEY": "test", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


@pytest.mark.parametrize(("code", "prints", "results"), SNIPPETS)
def test_snippet_runs(
    api: MessagesApi, service_url: str, tenant: str, code: str, prints: str, results: list[list[Block]]
) -> None:
    api.script = [[CREATE], [ANSWER], [text("Short.")]]
    settings = {"MEMORY_SERVICE_URL": service_url, "MEMORY_SERVICE_TENANT": tenant}
    assert run("-c", code, api_url=api.url, **settings) == prints
    assert api.tool_results() == results


@pytest.mark.parametrize("code", snippets("docs/context.md"), ids=["tool_runner", "create"])
def test_snippet_caches_the_guidance_and_the_snapshot_and_appends_only_the_changes(
    api: MessagesApi, service_url: str, tenant: str, code: str
) -> None:
    with MemoryClient(service_url, tenant=tenant) as client:
        client.execute({"command": "create", "path": "/memories/pinned/tone.md", "file_text": "Be polite."})
    api.script = [[CREATE], [ANSWER], [text("Short.")]]
    run("-c", code, api_url=api.url, MEMORY_SERVICE_URL=service_url, MEMORY_SERVICE_TENANT=tenant)
    first, _, last = api.requests
    [guidance] = last["system"]
    assert guidance["text"].startswith("MEMORY PROTOCOL:\n")
    assert guidance["cache_control"] == CACHED
    assert first["system"] == last["system"]
    contents = [message["content"] for message in last["messages"]]
    snapshot, task, *_, changes, next_task = contents
    assert snapshot == [{**text(SNAPSHOT), "cache_control": CACHED}]
    assert (task, next_task) == ("Remember that I like short answers.", "How do I like answers?")
    assert re.sub(r"\d{4}-\d\d-\d\d", "DAY", changes) == CHANGES


def test_the_agent_of_the_readme_ends_with_the_stand_in_of_the_tutorial(service_url: str, tenant: str) -> None:
    [agent] = snippets("README.md")
    settings = {"MEMORY_SERVICE_URL": service_url, "MEMORY_SERVICE_TENANT": tenant}
    with stand_in_api() as url:
        assert run("-c", agent, api_url=url, **settings) == "Done: I live in Lyon. Please remember that.\n"
    with MemoryClient(service_url, tenant=tenant) as client:
        content = client.execute({"command": "view", "path": "/memories/user.md"})["content"]
    assert content.endswith("numbers:\n     1\t- I live in Lyon. Please remember that.\n     2\t")


def test_example_runs(api: MessagesApi, service_url: str, tenant: str) -> None:
    api.script = [[text("I'll note that."), CREATE], [text("Noted.")]]
    printed = run(
        str(REPOSITORY / "examples" / "python_agent.py"),
        "I like short answers. Remember that.",
        api_url=api.url,
        MEMORY_SERVICE_URL=service_url,
        MEMORY_SERVICE_TENANT=tenant,
    )
    assert printed == (
        "I'll note that.\n"
        '[memory] {"command": "create", "path": "/memories/style.txt", "file_text": "Short answers.\\n"}\n'
        "Noted.\n"
    )
    assert api.tool_results() == [CREATED]
    with MemoryClient(service_url, tenant=tenant) as client:
        assert client.execute(VIEW)["content"] == VIEWED


def test_example_prints_its_usage() -> None:
    example = REPOSITORY / "examples" / "python_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Usage: python ")
