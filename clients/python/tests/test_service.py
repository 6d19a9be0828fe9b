"""The clients against the real service."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest

from conftest import Execute
from fake_service import FakeService, FakeTime, ForwardAndDrop, Received
from memory_service_client import MemoryServiceError
from memory_service_client._retry import Timing
from real_service import make_key, running_service

ROOT = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:"


def test_all_commands_return_their_results(execute: Execute, service_url: str, tenant: str) -> None:
    def run(**tool_input: object) -> tuple[str, bool]:
        result = execute(service_url, tool_input, tenant=tenant)
        assert set(result) == {"content", "is_error"}
        return result["content"], result["is_error"]

    a, b = "/memories/a.txt", "/memories/notes/b.txt"
    assert run(command="view", path="/memories") == (f"{ROOT}\n4.0K\t/memories", False)
    assert run(command="create", path=a, file_text="Grüße 👋\r\n\n") == (f"File created successfully at: {a}", False)
    assert run(command="create", path=a, file_text="") == (f"Error: File {a} already exists", True)
    assert run(command="view", path=a) == (
        f"Here's the content of {a} with line numbers:\n     1\tGrüße 👋\r\n     2\t\n     3\t",
        False,
    )
    assert run(command="str_replace", path=a, old_str="👋", new_str="☕") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tGrüße ☕\r\n     2\t\n     3\t",
        False,
    )
    assert run(command="str_replace", path=a, old_str="👋", new_str="☕") == (
        f"No replacement was performed, old_str `👋` did not appear verbatim in {a}.",
        True,
    )
    assert run(command="insert", path=a, insert_line=0, insert_text="Top\n") == (
        f"The file {a} has been edited.",
        False,
    )
    assert run(command="insert", path=a, insert_line=9, insert_text="Top\n") == (
        "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 4]",
        True,
    )
    assert run(command="rename", old_path=a, new_path=b) == (f"Successfully renamed {a} to {b}", False)
    assert run(command="delete", path="/memories/notes") == ("Successfully deleted /memories/notes", False)
    assert run(command="view", path=b) == (f"The path {b} does not exist. Please provide a valid path.", True)


def test_a_block_returns_its_tool_result(execute: Execute, service_url: str, tenant: str) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "delete", "path": "/memories"}}
    assert execute(service_url, block, tenant=tenant) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "Error: Cannot delete the /memories directory itself",
        "is_error": True,
    }


def test_tenants_are_separate(execute: Execute, service_url: str, tenant: str) -> None:
    execute(service_url, {"command": "create", "path": "/memories/a", "file_text": "x"}, tenant=tenant)
    view = {"command": "view", "path": "/memories/a"}
    assert execute(service_url, view, tenant=tenant)["is_error"] is False
    assert execute(service_url, view, tenant=f"{tenant}-other")["is_error"] is True


def test_a_lone_surrogate_is_rejected_with_an_explanation(execute: Execute, service_url: str, tenant: str) -> None:
    call = {"command": "view", "path": "/memories/\ud800é"}
    result = execute(service_url, call, tenant=tenant)
    assert result["is_error"] is True
    assert result["content"].endswith("contains a character that is not allowed: U+D800")


def test_a_large_file_arrives_completely(execute: Execute, service_url: str, tenant: str) -> None:
    text = "\x01é👋\n" * 90_000
    created = execute(service_url, {"command": "create", "path": "/memories/large", "file_text": text}, tenant=tenant)
    assert created["is_error"] is False
    view = {"command": "view", "path": "/memories/large", "view_range": [89_999, 90_001]}
    assert execute(service_url, view, tenant=tenant)["content"] == (
        "Here's the content of /memories/large with line numbers:\n 89999\t\x01é👋\n 90000\t\x01é👋\n 90001\t"
    )


@pytest.mark.parametrize(
    "call",
    [
        {"command": "create", "path": "/memories/a", "file_text": "x"},
        {
            "type": "tool_use",
            "id": "toolu_lost",
            "name": "memory",
            "input": {"command": "create", "path": "/memories/a", "file_text": "x"},
        },
    ],
    ids=["input", "block"],
)
def test_a_write_is_applied_once_after_a_lost_response(
    execute: Execute,
    service_url: str,
    tenant: str,
    fake: FakeService,
    time: FakeTime,
    timing: Timing,
    call: dict[str, object],
) -> None:
    answers: list[bytes] = []

    def forward(request: Received) -> None:
        to_service = urllib.request.Request(f"{service_url}/execute", request.body, dict(request.headers))
        with urllib.request.urlopen(to_service) as response:
            answers.append(response.read())

    # A proxy that loses the responses to both attempts.
    fake.script = [ForwardAndDrop(forward), ForwardAndDrop(forward)]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, call, tenant=tenant, max_retries=1, _timing=timing)
    assert caught.value.code == "network_error"
    assert len(time.sleeps) == 1
    first, second = answers
    assert first == second
    assert b"File created successfully at: /memories/a" in first

    # The caller can retry with the same key.
    key = {"idempotency_key": caught.value.idempotency_key} if "command" in call else {}
    assert execute(service_url, call, tenant=tenant, **key)["content"] == "File created successfully at: /memories/a"


@pytest.fixture(scope="module")
def locked_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Yields a service URL with authentication, and a key."""
    data = tmp_path_factory.mktemp("locked") / "db"
    with running_service(data, AUTH="keys", AUTO_CREATE_TENANTS="true") as url:
        yield url, make_key(data, "--service")


def test_wrong_keys_and_tenants_are_rejected(execute: Execute, locked_service: tuple[str, str], tenant: str) -> None:
    url, key = locked_service
    view = {"command": "view", "path": "/memories"}
    assert execute(url, view, api_key=key, tenant=tenant)["is_error"] is False

    wrong_key = f"{key[:-1]}{'b' if key[-1] == 'a' else 'a'}"
    for options in ({}, {"api_key": wrong_key}):
        with pytest.raises(MemoryServiceError) as caught:
            execute(url, view, tenant=tenant, **options)
        error = caught.value
        assert (error.status, error.code, error.retryable) == (401, "unauthorized", False)
        assert error.request_id
        assert key[:-1] not in str(error)

    with pytest.raises(
        MemoryServiceError, match=r"400 tenant_required: The key is valid for many tenants\. Set tenant\."
    ):
        execute(url, view, api_key=key)
