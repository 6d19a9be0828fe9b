"""Invitations and shares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from fake_service import Answer, FakeService, problem
from memory_service_client import AsyncMemoryClient, MemoryClient, MemoryServiceError

INVITATION = {"id": "inv_1", "access": "read_write", "token": "msi_1"}
SHARE = {"id": "shr_1", "tenant": "team", "path": "/memories/team", "access": "read_write", "status": "ok"}
SHARES: dict[str, list[object]] = {"given": [], "received": [SHARE]}


def answer(status: int, body: Mapping[str, Any] | None = None) -> Answer:
    return Answer(status, b"" if body is None else json.dumps(body).encode(), {})


def call(url: str, flavor: str, method: str, *args: Any, **options: Any) -> Any:
    if flavor == "sync":
        with MemoryClient(url) as client:
            return getattr(client.sharing(), method)(*args, **options)

    async def main() -> Any:
        async with AsyncMemoryClient(url) as client:
            return await getattr(client.sharing(), method)(*args, **options)

    return anyio.run(main)


@pytest.mark.parametrize("flavor", ["sync", "async"])
@pytest.mark.parametrize(
    ("method", "args", "options", "response", "expected"),
    [
        ("invite", [], {"access": "read_write", "prefix": "/memories/shared"}, answer(201, INVITATION), INVITATION),
        ("list_invitations", [], {}, answer(200, {"invitations": []}), []),
        ("revoke", ["inv_1"], {}, answer(204), None),
        ("accept", ["msi_1", "team"], {}, answer(201, SHARE), SHARE),
        ("list", [], {}, answer(200, SHARES), SHARES),
        ("end", ["shr/1"], {}, answer(204), None),
    ],
)
def test_sends_one_request(
    fake: FakeService,
    flavor: str,
    method: str,
    args: list[str],
    options: dict[str, Any],
    response: Answer,
    expected: Any,
) -> None:
    fake.script = [response]
    assert call(fake.url, flavor, method, *args, **options) == expected
    paths = {
        "invite": "/v1/invitations",
        "list_invitations": "/v1/invitations",
        "revoke": "/v1/invitations/inv_1",
        "accept": "/v1/shares",
        "list": "/v1/shares",
        "end": "/v1/shares/shr%2F1",
    }
    assert [received.path for received in fake.received] == [paths[method]]


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_does_not_repeat_an_acceptance(fake: FakeService, flavor: str) -> None:
    fake.script = [problem(503, "database_unavailable")]
    with pytest.raises(MemoryServiceError, match="503 database_unavailable"):
        call(fake.url, flavor, "accept", "msi_1", "team")
    assert len(fake.received) == 1
