"""The SDK's class (`BetaLocalFilesystemMemoryTool`) and the service, with the differences in docs/contract.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from memory_service_client import MemoryClient, MemoryServiceTool
from real_service import REPOSITORY

LISTING = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items"
CONTENT = "Here's the content of /memories/a.txt with line numbers:\n"
EDITED = "The file /memories/a.txt has been edited."
RANGE = "Invalid `insert_line` parameter: 3. It should be within the range"


def view(path: str = "/memories/a.txt") -> dict[str, object]:
    return {"command": "view", "path": path}


def create(path: str, text: str) -> dict[str, object]:
    return {"command": "create", "path": path, "file_text": text}


def insert(line: int, text: str) -> dict[str, object]:
    return {"command": "insert", "path": "/memories/a.txt", "insert_line": line, "insert_text": text}


# A conversation, and the last results from the class and from the service.
CASES: dict[str, tuple[list[dict[str, object]], str, str]] = {
    "header": (
        [create("/memories/node_modules/a.txt", "x"), view("/memories")],
        f"{LISTING}:\n4K\t/memories\n4K\t/memories/node_modules/\n1B\t/memories/node_modules/a.txt",
        f"{LISTING} and node_modules:\n4.0K\t/memories",
    ),
    "empty line": (
        [create("/memories/a.txt", "one\ntwo\n"), view()],
        f"{CONTENT}     1\tone\n     2\ttwo\n     3\t",
        f"{CONTENT}     1\tone\n     2\ttwo\n     3\t",
    ),
    "insert after the empty line": (
        [create("/memories/a.txt", "one\ntwo\n"), insert(3, "x")],
        f"{RANGE} [0, 2].",
        EDITED,
    ),
    "insert without a final newline": (
        [create("/memories/a.txt", "one"), insert(1, "two"), view()],
        f"{CONTENT}     1\tone\n     2\ttwo\n     3\t",
        f"{CONTENT}     1\tone\n     2\ttwo",
    ),
    "newlines of the text": (
        [create("/memories/a.txt", "one\ntwo\n"), insert(1, "x\n\n"), view()],
        f"{CONTENT}     1\tone\n     2\tx\n     3\ttwo\n     4\t",
        f"{CONTENT}     1\tone\n     2\tx\n     3\t\n     4\ttwo\n     5\t",
    ),
    "range": (
        [create("/memories/a.txt", "one"), insert(3, "x")],
        f"{RANGE} [0, 1].",
        f"Error: {RANGE} of lines of the file: [0, 1]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_local_class_differs_as_documented(name: str, tmp_path: Path, service_url: str, tenant: str) -> None:
    conversation, local, service = CASES[name]

    def last(tool: BetaLocalFilesystemMemoryTool | MemoryServiceTool) -> str:
        try:
            return str([tool.call(each) for each in conversation][-1])
        except ToolError as error:
            return str(error.content)

    found = last(BetaLocalFilesystemMemoryTool(str(tmp_path)))
    lines = found.split("\n")
    # A directory's size depends on the filesystem.
    usual = ["4K\t" + line.partition("\t")[2] if line.endswith(("/", "\t/memories")) else line for line in lines]
    assert "\n".join(usual) == local
    with MemoryClient(service_url, tenant=tenant) as client:
        assert last(MemoryServiceTool(client)) == service


def test_the_contract_documents_the_differences() -> None:
    contract = (REPOSITORY / "docs" / "contract.md").read_text(encoding="utf-8")
    section = contract[contract.index("### The class of the Python SDK") :]
    for words in ("excluding hidden items:`", "within the range [0, 2].`", "adds one", "all are dropped"):
        assert words in section
