"""An agent with both tools finds a fact among a thousand files and edits its file, against the real service."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import anyio
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError

from fake_service import FakeService, problem
from memory_service_client import (
    MEMORY_SEARCH_TOOL,
    AsyncMemoryClient,
    AsyncMemorySearchTool,
    AsyncMemoryServiceTool,
    MemoryClient,
    MemorySearchTool,
    MemoryServiceError,
    MemoryServiceTool,
)
from messages_api import Block, MessagesApi, text, tool_use

FILES = 1000
PATH = "/memories/customers/acme/contract.md"
CONTRACT = "# Contract\nRenewal date: 12 March\nContact: Odile Faure\n"


@pytest.fixture
def thousand_files(service_url: str, tenant: str) -> None:
    files = {
        f"/memories/notes/{i % 9}/{i}.md": f"# Customer {i}\nAsked about invoice {i * 7}.\n" for i in range(FILES - 1)
    }
    calls = [
        tool_use(f"seed_{i}", command="create", path=path, file_text=content)
        for i, (path, content) in enumerate({**files, PATH: CONTRACT}.items())
    ]
    for start in range(0, FILES, 25):
        request = urllib.request.Request(
            f"{service_url}/execute",
            json.dumps(calls[start : start + 25]).encode(),
            {"Content-Type": "application/json", "X-Tenant-Id": tenant},
        )
        with urllib.request.urlopen(request) as response:
            assert not any(result["is_error"] for result in json.load(response))


def search(tool_use_id: str, **tool_input: object) -> Block:
    return {"type": "tool_use", "id": tool_use_id, "name": "memory_search", "input": tool_input}


@pytest.mark.usefixtures("thousand_files")
@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_finds_a_fact_among_a_thousand_files(api: MessagesApi, service_url: str, tenant: str, flavor: str) -> None:
    edit = {"command": "str_replace", "path": PATH, "old_str": "12 March", "new_str": "30 June"}
    api.script = [
        [search("t1", query="odile renewal")],
        [tool_use("t2", **edit), search("t3", query="")],
        [text("The contract now renews on 30 June.")],
    ]
    common: Any = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "The contract with Odile now renews on 30 June."}],
    }
    if flavor == "sync":
        with (
            MemoryClient(service_url, tenant=tenant) as memory,
            Anthropic(base_url=api.url, api_key="test", max_retries=0) as anthropic,
        ):
            tools = [MemoryServiceTool(memory), MemorySearchTool(memory)]
            anthropic.beta.messages.tool_runner(tools=tools, **common).until_done()
    else:

        async def main() -> None:
            async with (
                AsyncMemoryClient(service_url, tenant=tenant) as memory,
                AsyncAnthropic(base_url=api.url, api_key="test", max_retries=0) as anthropic,
            ):
                tools = [AsyncMemoryServiceTool(memory), AsyncMemorySearchTool(memory)]
                await anthropic.beta.messages.tool_runner(tools=tools, **common).until_done()

        anyio.run(main)
    assert api.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}, MEMORY_SEARCH_TOOL]
    assert api.tool_results() == [
        [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": "Found 1 file in /memories, the best first:\n"
                f"{PATH}:2: Renewal date: 12 March\n{PATH}:3: Contact: Odile Faure",
            }
        ],
        [
            {
                "type": "tool_result",
                "tool_use_id": "t2",
                "content": "The memory file has been edited. Here is the snippet showing the change "
                "(with line numbers):\n     1\t# Contract\n     2\tRenewal date: 30 June\n"
                "     3\tContact: Odile Faure\n     4\t",
            },
            {
                "type": "tool_result",
                "tool_use_id": "t3",
                "content": "Error: Invalid `query` parameter: it must not be empty",
                "is_error": True,
            },
        ],
    ]


def test_a_failure_of_the_service_is_the_cause_of_the_tool_error(fake: FakeService) -> None:
    fake.script = [problem(401, "unauthorized")]
    with MemoryClient(fake.url) as client, pytest.raises(ToolError) as caught:
        MemorySearchTool(client).call({"query": "x"})
    assert isinstance(caught.value.__cause__, MemoryServiceError)
    assert caught.value.content == f"Error: {caught.value.__cause__}"


def test_the_definition_accepts_cache_control(fake: FakeService) -> None:
    with MemoryClient(fake.url) as client:
        tool = MemorySearchTool(client, cache_control={"type": "ephemeral"})
        assert tool.to_dict() == {**MEMORY_SEARCH_TOOL, "cache_control": {"type": "ephemeral"}}
