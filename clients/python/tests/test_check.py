"""`check`, which detects wrong options when a program starts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from fake_service import Answer, FakeService, Hang, problem
from memory_service_client import AsyncMemoryClient, Identity, MemoryClient, MemoryServiceError
from real_service import make_key, run_command, running_service

Check = Callable[..., Identity]


@pytest.fixture(params=["sync", "async"])
def check(request: pytest.FixtureRequest) -> Check:
    def run(url: str, **options: Any) -> Identity:
        if request.param == "sync":
            with MemoryClient(url, **options) as client:
                return client.check()

        async def main() -> Identity:
            async with AsyncMemoryClient(url, **options) as client:
                return await client.check()

        return anyio.run(main)

    return run


def message_of(check: Check, url: str, **options: Any) -> str:
    with pytest.raises(MemoryServiceError) as caught:
        check(url, **options)
    assert caught.value.idempotency_key is None
    return str(caught.value).partition(" (request ")[0]


def test_check_reports_a_service_without_authentication(check: Check, service_url: str, tenant: str) -> None:
    identity = check(service_url, tenant=tenant)
    assert identity["credential"] == {"kind": "none", "id": None, "label": None, "subject": None}
    assert identity["tenant"] == {"id": tenant, "exists": False, "archived": False}
    assert identity["rights"] == {
        "access": "read_write",
        "creates_tenants": True,
        "manages_stores": True,
        "can_share": True,
        "paths": [],
    }
    assert identity["limits"]["max_file_bytes"] == 1024 * 1024
    assert (identity["settings"]["secrets"], identity["settings"]["create_existing"]) == ("store", "error")
    assert identity["mounts"] == []


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    directory = tmp_path_factory.mktemp("secured") / "db"
    with running_service(directory, AUTH="keys") as url:
        run_command(directory, "tenants", "create", "acme")
        yield url, directory


def test_check_explains_wrong_keys_and_tenants(check: Check, secured: tuple[str, Path]) -> None:
    url, directory = secured
    key, service_key = make_key(directory, "--tenant", "acme"), make_key(directory, "--service")
    identity = check(url, api_key=key)
    assert (identity["credential"]["kind"], identity["tenant"]["id"]) == ("tenant_key", "acme")
    assert identity["tenant"]["exists"]
    service = f"The memory service at {url}"
    assert message_of(check, url) == f"{service} responded with 401 unauthorized: The service needs a key. Set api_key."
    assert (
        message_of(check, url, api_key="msk_wrong")
        == f"{service} responded with 401 unauthorized: api_key is not a valid key or token of this service."
    )
    assert (
        message_of(check, url, api_key=service_key)
        == f"{service} responded with 400 tenant_required: The key is valid for many tenants. Set tenant."
    )
    assert (
        message_of(check, url, api_key=key, tenant="other") == f"{service} responded with 403 tenant_mismatch: "
        "The key is not valid for this tenant. Omit tenant, or use a key of that tenant."
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            Answer(body=b"<html>Welcome</html>", headers={"Content-Type": "text/html"}),
            "{url}/whoami responded with 200, but not like a memory service. "
            "Check url, and any proxy in front of the service.",
        ),
        (
            Answer(),
            "{url}/whoami responded with 200, but not like a memory service. "
            "Check url, and any proxy in front of the service.",
        ),
        (
            Answer(404, b"<html>"),
            "{url}/whoami responded with 404, but not like a memory service. "
            "Check url, and any proxy in front of the service.",
        ),
        (
            Answer(301, b"", {"Location": "https://elsewhere.example"}),
            "{url}/whoami redirects. Set url to where it redirects to.",
        ),
        (
            problem(403, "unknown_tenant", "Tenant acme does not exist. An operator must create it first."),
            "The memory service at {url} responded with 403 unknown_tenant: "
            "Tenant acme does not exist. An operator must create it first. Check tenant.",
        ),
        (
            problem(403, "tenant_suspended", "Tenant acme is suspended."),
            "The memory service at {url} responded with 403 tenant_suspended: "
            "Tenant acme is suspended. Check tenant, or have an operator resume it.",
        ),
        (
            problem(403, "is_admin_key"),
            "The memory service at {url} responded with 403 is_admin_key: "
            "api_key is an admin key, which is for the admin API only. Use a tenant key or a service key.",
        ),
        (
            problem(503, "database_unavailable"),
            "The memory service at {url} responded with 503 database_unavailable: Not now.",
        ),
    ],
)
def test_check_rejects_other_servers(check: Check, fake: FakeService, answer: Answer, words: str) -> None:
    fake.script.append(answer)
    assert message_of(check, fake.url, tenant="acme") == words.format(url=fake.url)
    assert [received.path for received in fake.received] == ["/whoami"]


def test_check_names_a_closed_port(check: Check) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    assert (
        message_of(check, url) == f"The memory service at {url} cannot be reached: the connection was refused. "
        "Check url and that the service runs."
    )


def test_check_explains_a_server_without_tls(check: Check, fake: FakeService) -> None:
    url = fake.url.replace("http://", "https://")
    message = message_of(check, url)
    assert message.startswith(f"The memory service at {url} cannot be reached: TLS failed (")
    assert message.endswith("). It does not speak TLS: if it has none, start url with http://.")


def test_check_explains_a_server_with_tls(check: Check) -> None:
    def answer_with_an_alert(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"\x15\x03\x01\x00\x02\x02\x46")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer_with_an_alert, args=[server], daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        message = message_of(check, url)
    assert message.startswith(f"The memory service at {url} cannot be reached: the connection failed (")
    assert message.endswith("). Its response is not HTTP: if it has TLS, start url with https://.")


@pytest.mark.parametrize("limits", [(0.2, 600), (600, 0.2)], ids=["timeout", "attempt_timeout"])
def test_check_times_out_like_a_call(check: Check, fake: FakeService, limits: tuple[float, float]) -> None:
    timeout, attempt_timeout = limits
    fake.script = [Hang()]
    assert (
        message_of(check, fake.url, timeout=timeout, attempt_timeout=attempt_timeout)
        == f"The memory service at {fake.url} sent no response in time."
    )
