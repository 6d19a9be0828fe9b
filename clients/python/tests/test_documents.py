"""The README's snippets and the example, run as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from memory_service_client import MemoryClient
from messages_api import MessagesApi, text, tool_use
from real_service import REPOSITORY

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
CREATE = tool_use("t1", command="create", path="/memories/style.txt", file_text="Short answers.\n")
VIEW = tool_use("t1", command="view", path="/memories/style.txt")
CREATED = [{"type": "tool_result", "tool_use_id": "t1", "content": "File created successfully at: /memories/style.txt"}]
VIEWED = "Here's the content of /memories/style.txt with line numbers:\n     1\tShort answers.\n     2\t"


def run(*arguments: str, api: MessagesApi, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", *arguments],
        env={**os.environ, "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "test", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def test_readme(api: MessagesApi, service_url: str, tenant: str) -> None:
    def snippet(beginning: str) -> str:
        (found,) = [code for code in SNIPPETS if beginning in code]
        code = found.replace("http://localhost:8080", service_url).replace('"acme"', f'"{tenant}"')
        return run("-c", code, api=api)

    api.script = [[CREATE], [text("I will.")], [VIEW], [text("Short.")], [VIEW], [text("That you like it short.")]]
    assert snippet("import Anthropic\nfrom memory_service_client import MemoryClient, MemoryServiceTool") == "I will.\n"
    assert snippet("import AsyncAnthropic") == "Short.\n"
    assert snippet("client.beta.messages.create(") == "That you like it short.\n"
    created, viewed, plain = api.tool_results()
    assert created == CREATED
    assert viewed == [{"type": "tool_result", "tool_use_id": "t1", "content": VIEWED}]
    assert plain == [{**viewed[0], "is_error": False}]

    assert snippet('result = memory.execute({"command": "view"').endswith(
        "4.0K\t/memories\n15B\t/memories/style.txt False\n"
    )
    assert re.fullmatch(r"404 route_not_found \S+ False\n", snippet("except MemoryServiceError as error"))
    assert len(SNIPPETS) == 5


def test_example(api: MessagesApi, service_url: str, tenant: str) -> None:
    api.script = [[text("I'll note that."), CREATE], [text("Noted.")]]
    printed = run(
        str(REPOSITORY / "examples" / "python_agent.py"),
        "I like short answers. Remember that.",
        api=api,
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
        assert client.execute(VIEW["input"])["content"] == VIEWED


def test_example_says_how_to_use_it() -> None:
    example = REPOSITORY / "examples" / "python_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Usage: python ")
