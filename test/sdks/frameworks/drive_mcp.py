"""Connects the official Python SDK for MCP to /mcp in the built service, with both eras of the protocol."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from mcp import Client
from mcp.shared.exceptions import MCPError
from real_service import running_service

VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
MISSING_CODES = {"auto": -32602, "legacy": -32002}


async def drive(url: str, mode: str) -> None:
    path = f"/memories/{mode}.md"
    calls = [
        {"command": "create", "path": path, "file_text": "Lives in Lyon."},
        {"command": "insert", "path": path, "insert_line": 1, "insert_text": "Likes tea."},
        {"command": "view", "path": path},
    ]
    async with Client(f"{url}/mcp", mode=mode) as client:
        assert client.protocol_version == VERSIONS[mode], client.protocol_version
        assert [tool.name for tool in (await client.list_tools()).tools] == ["memory", "memory_search"]
        results = await asyncio.gather(*(client.call_tool("memory", call) for call in calls))
        assert [result.content[0].text for result in results] == [
            f"File created successfully at: {path}",
            f"The file {path} has been edited.",
            f"Here's the content of {path} with line numbers:\n     1\tLives in Lyon.\n     2\tLikes tea.",
        ], results
        assert f"memory://{path}" in [str(resource.uri) for resource in (await client.list_resources()).resources]
        try:
            await client.read_resource("memory:///memories/none.md")
        except MCPError as error:
            assert error.error.code == MISSING_CODES[mode], error
        else:
            raise AssertionError("a missing resource was read")


def main() -> int:
    with tempfile.TemporaryDirectory() as name, running_service(Path(name), AUTH="none") as url:
        for mode in VERSIONS:
            asyncio.run(drive(url, mode))
    print(f"mcp {version('mcp')}: {', '.join(VERSIONS.values())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
