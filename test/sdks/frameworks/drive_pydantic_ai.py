"""Runs the documented program for pydantic-ai with a function model against the built service."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pydantic_ai
from memory_service_client import MemoryClient
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from real_service import REPOSITORY, make_key, run_command, running_service

CALLS = [
    {"command": "create", "path": "/memories/user.md", "file_text": "Lives in Lyon."},
    {"command": "view", "path": "/memories/missing.md"},
    {"command": "view", "path": "/memories/other.md"},
    {"command": "view", "path": "/memories/user.md"},
]
RESULTS = [
    "File created successfully at: /memories/user.md",
    "The path /memories/missing.md does not exist. Please provide a valid path.",
    "The path /memories/other.md does not exist. Please provide a valid path.",
    "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.",
]
results: list[object] = []


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    assert [tool.name for tool in info.function_tools] == ["memory", "memory_search"]
    assert "MEMORY PROTOCOL" in (info.instructions or "")
    results[:] = [part.content for each in messages for part in each.parts if isinstance(part, ToolReturnPart)]
    done = len(results)
    return ModelResponse(parts=[ToolCallPart("memory", CALLS[done]) if done < len(CALLS) else TextPart("Done.")])


def main() -> int:
    guide = (REPOSITORY / "docs" / "agent-frameworks.md").read_text(encoding="utf-8")
    program = next(code for code in re.findall(r"^```python\n(.*?)^```$", guide, re.M | re.S) if "MCPToolset" in code)
    assert f"`pydantic-ai-slim` {version('pydantic-ai-slim')}" in guide
    agent = pydantic_ai.Agent
    with tempfile.TemporaryDirectory() as name, running_service(Path(name), AUTH="keys") as url:
        run_command(Path(name), "tenants", "create", "acme")
        key = make_key(Path(name), "--tenant", "acme")
        os.environ.update(MEMORY_SERVICE_URL=url, MEMORY_SERVICE_API_KEY=key)
        pydantic_ai.Agent = lambda _model, **options: agent(FunctionModel(model), **options)  # type: ignore
        exec(compile(program, "agent-frameworks.md", "exec"), {})
        view = MemoryClient(url, api_key=key).execute({"command": "view", "path": "/memories/user.md"})
    assert results == RESULTS, results
    assert view["content"] == RESULTS[-1]
    print(f"pydantic-ai {version('pydantic-ai-slim')}: the documented program, {len(CALLS)} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
