"""Compares `MemoryBackend` with the `StoreBackend` in Deep Agents, call by call, and runs an agent with it.

Runs with the installed `deepagents` against the built service.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.store.memory import InMemoryStore
from memory_service_client import MemoryClient
from memory_service_client.deepagents import MemoryBackend
from real_service import make_key, running_service

LINES = "\n".join(f"line {i + 1}" for i in range(2500))
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("ls", ("/",)),
    ("read", ("/missing.md",)),
    ("edit", ("/missing.md", "a", "b")),
    ("delete", ("/missing.md",)),
    ("glob", ("*.md",)),
    ("grep", ("tea",)),
    ("write", ("/notes.md", "Likes tea.\nLives in Lyon – 里昂.\nGreen tea, black tea.\n")),
    ("write", ("/projects/plan.md", "one\r\ntwo\n\nfour")),
    ("write", ("/projects/deep/.hidden.md", "tea")),
    ("write", ("/projects/long.txt", LINES)),
    ("write", ("/empty.md", "")),
    ("ls", ("/",)),
    ("ls", ("/projects",)),
    ("ls", ("/projects/",)),
    ("ls", ("/missing",)),
    ("read", ("/notes.md",)),
    ("read", ("/notes.md", 1, 1)),
    ("read", ("/notes.md", 2, 100)),
    ("read", ("/notes.md", 99)),
    ("read", ("/notes.md", -1, -1)),
    ("read", ("/projects/plan.md",)),
    ("read", ("/projects/long.txt",)),
    ("read", ("/projects/long.txt", 2400, 500)),
    ("read", ("/projects",)),
    ("read", ("/empty.md",)),
    ("grep", ("tea",)),
    ("grep", ("tea", "/projects")),
    ("grep", ("tea", "/notes.md")),
    ("grep", ("tea", "/missing")),
    ("grep", ("tea", None, "*.txt")),
    ("grep", ("tea", None, "{notes,.hidden}.md")),
    ("glob", ("*.md",)),
    ("glob", ("/*.md",)),
    ("glob", ("**/*.md",)),
    ("glob", ("*.md", "/projects")),
    ("glob", ("*.{md,txt}", "/projects")),
    ("glob", ("../x",)),
    ("glob", ("notes.md", "/notes.md")),
    ("edit", ("/notes.md", "tea", "coffee")),
    ("edit", ("/notes.md", "tea", "coffee", True)),
    ("edit", ("/notes.md", "Lyon", r"Paris \1")),
    ("edit", ("/notes.md", "absent", "x")),
    ("edit", ("/notes.md", "", "x")),
    ("edit", ("/projects/plan.md", "four\n", "x")),
    ("read", ("/notes.md",)),
    ("write", ("/notes.md", "replaced")),
    ("read", ("/notes.md",)),
    ("upload_files", ([("/up/a.md", "uploaded – 里昂".encode())],)),
    ("download_files", (["/up/a.md", "/missing.md", "/up"],)),
    ("delete", ("/projects",)),
    ("ls", ("/",)),
    ("delete", ("/projects",)),
    ("delete", ("/notes.md",)),
    ("delete", ("/",)),
    ("ls", ("/",)),
]


def comparable(value: Any) -> Any:
    """Removes times, and sorts files with the same time, whose order is not defined."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return comparable(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items() if name not in ("modified_at", "created_at")}
    if isinstance(value, list):
        return sorted((comparable(item) for item in value), key=str)
    return value


def compare(ours: MemoryBackend) -> None:
    theirs = StoreBackend(store=InMemoryStore(), namespace=lambda _runtime: ("reference",))
    for method, arguments in CALLS:
        given = comparable(getattr(ours, method)(*arguments))
        expected = comparable(getattr(theirs, method)(*arguments))
        assert given == expected, f"{method}{str(arguments)[:80]}\n{given}\n{expected}"
    assert comparable(ours.grep("a", max_count=0)) == comparable(theirs.grep("a", max_count=0))


class Script(BaseChatModel):
    """Plays a model's calls one by one."""

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, *_args: Any, **_kwargs: Any) -> Script:
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> ChatResult:
        path = "/memories/user.md"
        calls = [
            ("write_file", {"file_path": path, "content": "Lives in Lyon.\n"}),
            ("read_file", {"file_path": path}),
            ("edit_file", {"file_path": path, "old_string": "Lyon", "new_string": "Paris"}),
            ("grep", {"pattern": "Paris", "path": "/memories/", "output_mode": "content"}),
            ("glob", {"pattern": "*.md", "path": "/memories/"}),
            ("ls", {"path": "/memories/"}),
            ("read_file", {"file_path": "/memories/missing.md"}),
        ]
        done = sum(isinstance(message, ToolMessage) for message in messages)
        name, arguments = calls[done] if done < len(calls) else ("", {})
        tool_calls = [{"name": name, "args": arguments, "id": f"call_{done}"}] if name else []
        message = AIMessage(content="" if name else "Done.", tool_calls=tool_calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def run_agent(ours: MemoryBackend) -> list[str]:
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": ours})
    agent = create_deep_agent(model=Script(), backend=backend)
    result = asyncio.run(agent.ainvoke({"messages": [{"role": "user", "content": "I live in Lyon."}]}))
    return [message.text.strip() for message in result["messages"] if isinstance(message, ToolMessage)]


def main() -> int:
    with tempfile.TemporaryDirectory() as name, running_service(Path(name), AUTH="keys") as url:
        key = make_key(Path(name), "--service")
        memory = MemoryClient(url, api_key=key, tenant="compared")
        compare(MemoryBackend(memory))

        backend = MemoryBackend(MemoryClient(url, api_key=key, tenant="counts"))
        backend.write("/counts.md", "a0 b0 c0 d0")
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda each: backend.edit("/counts.md", f"{each}0", f"{each}1"), "abcd"))
        found = backend.read("/counts.md").file_data
        assert found is not None and found["content"] == "a1 b1 c1 d1"

        agent = MemoryClient(url, api_key=key, tenant="agent")
        texts = run_agent(MemoryBackend(agent))
        assert texts[0].endswith("/memories/user.md"), texts
        assert "Lives in Lyon." in texts[1] and "Lives in Paris." in texts[3], texts
        assert "/memories/user.md" in texts[4] and "/memories/user.md" in texts[5], texts
        assert texts[6].startswith("Error: File '/missing.md' not found"), texts
        view = agent.execute({"command": "view", "path": "/memories/user.md"})
        assert view["content"].endswith("     1\tLives in Paris.\n     2\t")

        reader = make_key(Path(name), "--tenant", "agent", "--access", "read_only")
        rejected = MemoryBackend(MemoryClient(url, api_key=reader)).write("/user.md", "x")
        assert rejected.error == "Error: The credential is read-only."
    print(f"deepagents {version('deepagents')}: {len(CALLS) + 1} calls as with StoreBackend, and an agent")
    return 0


if __name__ == "__main__":
    sys.exit(main())
