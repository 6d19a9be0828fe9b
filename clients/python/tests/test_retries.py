"""Retries, time limits, and errors, against a service with scripted responses."""

from __future__ import annotations

import json
import logging
import pickle
import socket
import time as real_time
import traceback

import pytest

from conftest import Execute
from fake_service import Answer, Drip, Drop, FakeService, FakeTime, Hang, Step, problem, timestamp
from memory_service_client import MemoryServiceError
from memory_service_client._retry import Timing

VIEW = {"command": "view", "path": "/memories"}
# Constants, because a traceback shows source lines, which must not contain the secrets.
SECRET_KEY = "msk_SECRET-KEY"
SECRET_CALL = {"command": "create", "path": "/memories/SECRET-PATH", "file_text": "SECRET-TEXT"}
BLOCK = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": VIEW}


@pytest.mark.parametrize(
    "failure",
    [
        Drop(),
        problem(429, "rate_limited"),
        problem(503, "database_unavailable"),
        Answer(502, b"<h1>Bad Gateway</h1>"),
        Answer(504, b""),
    ],
    ids=["connection reset", "429", "503", "502 of a gateway", "504 of a gateway"],
)
def test_temporary_failures_are_retried(
    execute: Execute, fake: FakeService, time: FakeTime, timing: Timing, failure: Step
) -> None:
    fake.script = [failure, failure, Answer()]
    assert execute(fake.url, VIEW, _timing=timing) == {"content": "done", "is_error": False}
    assert len(time.sleeps) == 2


def test_all_attempts_of_an_input_send_the_same_request(execute: Execute, fake: FakeService, timing: Timing) -> None:
    fake.script = [Drop(), problem(503, "overloaded"), Answer()]
    execute(fake.url, VIEW, _timing=timing)
    assert {request.body for request in fake.received} == {b'{"command":"view","path":"/memories"}'}
    assert {request.path for request in fake.received} == {"/execute"}
    (key,) = {request.headers["Idempotency-Key"] for request in fake.received}
    assert len(key) == 36
    # Each attempt can be found separately in the service's log.
    assert len({request.headers["X-Request-Id"] for request in fake.received}) == 3


def test_each_call_has_a_new_key(execute: Execute, fake: FakeService) -> None:
    fake.script = [Answer(), Answer(), Answer()]
    execute(fake.url, VIEW)
    execute(fake.url, VIEW)
    execute(fake.url, VIEW, idempotency_key="my-key")
    first, second, third = (request.headers["Idempotency-Key"] for request in fake.received)
    assert first != second
    assert third == "my-key"


def test_a_block_is_sent_under_its_id(execute: Execute, fake: FakeService, timing: Timing) -> None:
    fake.script = [Drop(), problem(429, "rate_limited"), Answer()]
    result = execute(fake.url, {**BLOCK, "caller": {"type": "direct"}}, _timing=timing)
    assert result == {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done", "is_error": False}
    assert [json.loads(request.body) for request in fake.received] == [BLOCK] * 3
    assert not any("Idempotency-Key" in request.headers for request in fake.received)


@pytest.mark.parametrize(
    ("call", "given_id"),
    [(BLOCK, "toolu_2"), (BLOCK, ""), (BLOCK, None), (BLOCK, ["toolu_1"]), (VIEW, "toolu_1")],
)
def test_the_result_of_another_block_is_rejected(
    execute: Execute, fake: FakeService, call: dict[str, object], given_id: object
) -> None:
    result = {"type": "tool_result", "tool_use_id": given_id, "content": "SECRET-TEXT", "is_error": False}
    fake.script = [Answer(body=json.dumps(result).encode())]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, call)
    assert (caught.value.code, caught.value.status, caught.value.retryable) == ("invalid_response", 200, False)
    assert "SECRET-TEXT" not in str(caught.value)


def test_a_block_with_another_key_is_rejected(execute: Execute, fake: FakeService) -> None:
    with pytest.raises(TypeError, match="id is its idempotency key"):
        execute(fake.url, BLOCK, idempotency_key="other")


@pytest.mark.parametrize("key", ["", "with space", "x" * 256, "é"])
def test_invalid_keys_are_rejected(execute: Execute, fake: FakeService, key: str) -> None:
    with pytest.raises(ValueError, match="idempotency_key must be"):
        execute(fake.url, VIEW, idempotency_key=key)


def test_backoff_has_full_jitter(execute: Execute, fake: FakeService, time: FakeTime, timing: Timing) -> None:
    fake.script = [*[Drop()] * 8, Answer()]
    time.chance = 1.0
    execute(fake.url, VIEW, timeout=1000, _timing=timing)
    assert time.sleeps == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5])

    fake.script = [Drop(), Drop(), Answer()]
    time.chance, time.sleeps = 0.0, []
    execute(fake.url, VIEW, _timing=timing)
    assert time.sleeps == [0, 0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        (timestamp(1_700_000_009), 9),
        (timestamp(1_600_000_000), 0),
        ("soon", 0),
        ("-1", 0),
        ("1.5", 0),
        ("Wed, 99 Foo 9999 99:99:99 GMT", 0),
    ],
)
def test_retries_wait_for_retry_after(
    execute: Execute, fake: FakeService, time: FakeTime, timing: Timing, header: str, seconds: float
) -> None:
    fake.script = [problem(503, "database_unavailable", Retry_After=header), Answer()]
    execute(fake.url, VIEW, _timing=timing)
    # The jitter is added.
    assert time.sleeps == pytest.approx([seconds + 0.1])


def test_retry_after_past_the_deadline_ends_the_call(
    execute: Execute, fake: FakeService, time: FakeTime, timing: Timing
) -> None:
    fake.script = [problem(429, "rate_limited", Retry_After="60")]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, _timing=timing)
    assert (caught.value.code, caught.value.retry_after, caught.value.retryable) == ("rate_limited", 60, True)
    assert time.sleeps == []


def test_the_deadline_covers_all_attempts(execute: Execute, fake: FakeService, time: FakeTime, timing: Timing) -> None:
    fake.script = [problem(503, "database_unavailable", Retry_After="10")] * 10
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, timeout=35, _timing=timing)
    assert sum(time.sleeps) <= 35
    assert len(fake.received) == 4
    assert caught.value.code == "database_unavailable"


def test_retries_have_a_limit(execute: Execute, fake: FakeService, timing: Timing) -> None:
    fake.script = [problem(503, "overloaded")] * 3
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, max_retries=2, _timing=timing)
    assert str(caught.value) == (
        "The memory service responded with 503 overloaded: Not now. (3 tries, request req-of-the-service)"
    )


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 415, 422, 500, 501])
def test_other_failures_are_not_retried(
    execute: Execute, fake: FakeService, time: FakeTime, timing: Timing, status: int
) -> None:
    fake.script = [problem(status, "some_code", "What is wrong.")]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, _timing=timing)
    error = caught.value
    assert (error.status, error.code, error.request_id) == (status, "some_code", "req-of-the-service")
    assert (error.retryable, error.retry_after) == (False, None)
    assert error.idempotency_key == fake.received[0].headers["Idempotency-Key"]
    assert (
        str(error)
        == f"The memory service responded with {status} some_code: What is wrong. (request req-of-the-service)"
    )
    assert time.sleeps == []


@pytest.mark.parametrize(
    ("code", "options", "advice"),
    [
        ("unauthorized", {}, "The service needs a key. Set api_key."),
        ("unauthorized", {"api_key": "msk_wrong"}, "api_key is not a valid key or token of this service."),
        ("tenant_required", {}, "The key is valid for many tenants. Set tenant."),
        (
            "tenant_mismatch",
            {"tenant": "a"},
            "The key is not valid for this tenant. Omit tenant, or use a key of that tenant.",
        ),
        ("route_not_found", {}, "{url}/execute does not exist. Check url."),
    ],
)
def test_errors_name_the_wrong_option(
    execute: Execute, fake: FakeService, code: str, options: dict[str, str], advice: str
) -> None:
    fake.script = [problem(400, code, "A header.")]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, **options)
    assert str(caught.value) == (
        f"The memory service responded with 400 {code}: {advice.format(url=fake.url)} (request req-of-the-service)"
    )


def test_a_closed_port_is_retried(execute: Execute, time: FakeTime, timing: Timing) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(MemoryServiceError) as caught:
            execute(url, VIEW, max_retries=1, _timing=timing)
    error = caught.value
    assert (error.status, error.code, error.retryable) == (None, "network_error", True)
    assert str(error) == (
        f"The memory service at {url} cannot be reached: the connection was refused. "
        f"Check url and that the service runs. (2 tries, request {error.request_id})"
    )
    assert len(time.sleeps) == 1


def test_an_unknown_host_is_reported(execute: Execute) -> None:
    with pytest.raises(MemoryServiceError) as caught:
        execute("http://memory.invalid", VIEW, max_retries=0)
    assert str(caught.value) == (
        "The memory service at http://memory.invalid cannot be reached: its host name cannot be resolved. "
        f"Check url and that the service runs. (request {caught.value.request_id})"
    )


def test_a_service_without_tls_is_reported(execute: Execute, fake: FakeService) -> None:
    url = fake.url.replace("http:", "https:")
    with pytest.raises(MemoryServiceError) as caught:
        execute(url, VIEW, max_retries=0)
    assert str(caught.value).startswith(f"The memory service at {url} cannot be reached: TLS failed (")
    assert caught.value.code == "network_error"


def test_a_broken_connection_is_reported(execute: Execute, fake: FakeService) -> None:
    fake.script = [Drop()]
    with pytest.raises(MemoryServiceError, match=r"cannot be reached: the connection failed \(ReadError\)\."):
        execute(fake.url, VIEW, max_retries=0)


def test_an_attempt_without_a_response_is_retried(execute: Execute, fake: FakeService, time: FakeTime) -> None:
    fake.script = [Hang(), Answer()]
    timing = Timing(sleep=time.sleep, async_sleep=time.async_sleep)
    assert execute(fake.url, VIEW, attempt_timeout=0.2, _timing=timing)["content"] == "done"
    first, second = fake.received
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]


@pytest.mark.parametrize("step", [Hang(), Drip(0.02)], ids=["no answer", "an answer in bits"])
def test_the_deadline_aborts_an_attempt(execute: Execute, fake: FakeService, step: Step) -> None:
    fake.script = [step]
    started = real_time.monotonic()
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, timeout=0.3, max_retries=0)
    assert 0.25 < real_time.monotonic() - started < 5
    error = caught.value
    assert (error.status, error.code, error.retryable) == (None, "timeout", True)
    assert error.request_id == fake.received[0].headers["X-Request-Id"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'"done"',
        b'{"content":1,"is_error":false}',
        b'{"content":"done"}',
        b"\xff\xfe{",
        b"[" * 100_000,
    ],
)
def test_responses_of_other_servers_are_rejected(
    execute: Execute, fake: FakeService, time: FakeTime, timing: Timing, body: bytes
) -> None:
    fake.script = [Answer(200, body)]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, _timing=timing)
    assert (caught.value.status, caught.value.code) == (200, "invalid_response")
    assert str(caught.value).startswith(
        f"{fake.url}/execute responded with 200, but not like a memory service. "
        "Check url, and any proxy in front of the service. (request "
    )
    assert time.sleeps == []


def test_a_response_that_cannot_be_decoded_is_rejected(execute: Execute, fake: FakeService, timing: Timing) -> None:
    fake.script = [Answer(200, b"not gzip", {"Content-Encoding": "gzip"})]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, _timing=timing)
    assert caught.value.code == "invalid_response"


def test_errors_do_not_quote_a_page_of_a_proxy(execute: Execute, fake: FakeService, timing: Timing) -> None:
    fake.script = [Answer(403, b"<h1>Forbidden by the proxy</h1>", {"X-Request-Id": "proxy-1"})]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW, _timing=timing)
    assert (caught.value.code, caught.value.request_id) == ("http_403", "proxy-1")
    assert str(caught.value) == (
        f"{fake.url}/execute responded with 403, but not like a memory service. "
        "Check url, and any proxy in front of the service. (request proxy-1)"
    )


def test_redirects_are_not_followed(execute: Execute, fake: FakeService, timing: Timing) -> None:
    fake.script = [Answer(307, b"", {"Location": f"{fake.url}/elsewhere"})]
    with pytest.raises(MemoryServiceError, match=r"/execute redirects\. Set url to where it redirects to\.") as caught:
        execute(fake.url, VIEW, _timing=timing)
    assert caught.value.status == 307
    assert len(fake.received) == 1


@pytest.mark.parametrize(
    "failure", [Drop(), Hang(), problem(401, "unauthorized"), problem(503, "overloaded"), Answer(200, b"?")]
)
def test_errors_exclude_the_key_and_contents(
    execute: Execute, fake: FakeService, caplog: pytest.LogCaptureFixture, failure: Step, time: FakeTime
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.script = [failure] * 3
    timing = Timing(sleep=time.sleep, async_sleep=time.async_sleep)
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, SECRET_CALL, api_key=SECRET_KEY, attempt_timeout=0.2, max_retries=1, _timing=timing)
    assert fake.received[0].headers["Authorization"] == "Bearer msk_SECRET-KEY"
    error = caught.value
    shown = [
        str(error),
        repr(error),
        repr(vars(error)),
        "".join(traceback.format_exception(error)),
        caplog.text,
    ]
    assert not any("SECRET-" in each for each in shown)
    # No object that holds the request is reachable from the error.
    assert error.__cause__ is None
    assert error.__context__ is None


def test_errors_survive_pickling(execute: Execute, fake: FakeService) -> None:
    fake.script = [problem(401, "unauthorized")]
    with pytest.raises(MemoryServiceError) as caught:
        execute(fake.url, VIEW)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert vars(copy) == vars(caught.value)
