"""The text for the system prompt."""

from __future__ import annotations

import json

import anyio
import pytest

from fake_service import Answer, FakeService, problem
from memory_service_client import AsyncMemoryClient, MemoryClient, MemoryServiceError


def instructions(
    url: str, flavor: str, api_key: str | None = None, tenant: str | None = None, protocol: bool = True
) -> str:
    if flavor == "sync":
        with MemoryClient(url, max_retries=0, api_key=api_key, tenant=tenant) as client:
            return client.instructions(protocol=protocol)

    async def main() -> str:
        async with AsyncMemoryClient(url, max_retries=0, api_key=api_key, tenant=tenant) as client:
            return await client.instructions(protocol=protocol)

    return anyio.run(main)


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_instructions_are_read_from_the_service(service_url: str, tenant: str, flavor: str) -> None:
    assert instructions(service_url, flavor, tenant=tenant).startswith(
        "IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE.\nMEMORY PROTOCOL:\n"
    )
    assert instructions(service_url, flavor, tenant=tenant, protocol=False) == ""


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_instructions_are_requested_once_and_explain_a_failure(fake: FakeService, flavor: str) -> None:
    text = json.dumps({"content": "text", "mounts": []}).encode()
    fake.script = [Answer(200, text, {}), problem(401, "unauthorized")]
    assert instructions(fake.url, flavor, api_key="msk_x") == "text"
    assert [request.path for request in fake.received] == ["/instructions"]
    with pytest.raises(MemoryServiceError, match="api_key is not a valid key"):
        instructions(fake.url, flavor, api_key="msk_x")
