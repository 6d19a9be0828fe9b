"""The protocol without its transport: requests for calls, and results or faults from responses."""

from __future__ import annotations

import json
import re
import socket
import ssl
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any, cast
from urllib.parse import quote, urlencode

import httpx2
from anthropic.types.beta import BetaToolResultBlockParam

from ._advice import advice, foreign_response
from ._version import __version__
from .errors import MemoryServiceError
from .types import ChangePage, Context, Identity, MemoryResult, ToolUse

_TENANT = re.compile(r"[A-Za-z0-9._:@-]{1,128}")
_API_KEY = re.compile(r"[\x21-\x7e]+")
_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_BLOCK_FIELDS = ("type", "id", "name", "input")
# A gateway reports network errors to the service as 502 and 504.
_RETRYABLE = (429, 502, 503, 504)
_SUCCESSES = (200, 201, 204)
# Rejections of one call. Other errors concern the key, the service, or the network.
_REJECTED = (400, 403, 404, 409, 413)


@dataclass(frozen=True, repr=False)
class Call:
    """A call of the service. All attempts send the same data."""

    body: bytes | None
    """None for a GET."""
    headers: Mapping[str, str]
    idempotency_key: str | None
    tool_use_id: str | None = None
    route: str = "execute"
    method: str | None = None
    """By default, GET without a body and POST with one."""
    is_for_store: bool = False
    """Whether the call belongs to the Memory Stores API."""


@dataclass(frozen=True)
class StoreReply:
    """The response of the Memory Stores API: a body, or the error of a rejected call."""

    body: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Fault:
    """Details of an attempt without a result. Contains no credential and no part of the input."""

    message: str
    code: str
    retryable: bool
    status: int | None = None
    request_id: str | None = None
    retry_after: float | None = None

    def error(self, call: Call, tries: int) -> MemoryServiceError:
        details = [f"{tries} tries"] if tries > 1 else []
        if self.request_id is not None:
            details.append(f"request {self.request_id}")
        return MemoryServiceError(
            f"{self.message} ({', '.join(details)})" if details else self.message,
            status=self.status,
            code=self.code,
            request_id=self.request_id,
            retryable=self.retryable,
            retry_after=self.retry_after,
            idempotency_key=call.idempotency_key,
        )


@dataclass(frozen=True)
class Endpoint:
    """The URL of the service, and the credentials of the caller."""

    base: str
    origin: str
    headers: Mapping[str, str] = field(repr=False)

    def url_for(self, call: Call) -> str:
        return f"{self.base}/{call.route}"

    def named_url(self, call: Call) -> str:
        """Returns the URL for messages, without its query, which may contain paths of the memory."""
        return self.url_for(call).partition("?")[0]

    def name_for(self, call: Call) -> str:
        """Returns the name of the service for messages, with its URL if the URL may be wrong."""
        return f"The memory service at {self.base}" if call.route == "whoami" else "The memory service"


def endpoint(url: str, api_key: str | None, tenant: str | None, provenance: bool | None = None) -> Endpoint:
    """Validates a client's options. Error messages never contain a key."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        parsed = httpx2.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError("url must be the URL of the memory service, like https://memory.example.com")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise ValueError("url must not hold a user, password, query or fragment: give the key as api_key")
    headers = {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "User-Agent": f"memory-service-client-python/{__version__}",
    }
    if api_key is not None:
        if not _API_KEY.fullmatch(api_key.strip()):
            raise ValueError("api_key is empty or holds characters that a header cannot carry")
        headers["Authorization"] = f"Bearer {api_key.strip()}"
    if tenant is not None:
        if not _TENANT.fullmatch(tenant):
            raise ValueError("tenant must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -")
        headers["X-Tenant-Id"] = tenant
    if provenance is not None:
        headers["X-Memory-Provenance"] = "include" if provenance else "omit"
    origin = f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"
    path = parsed.raw_path.decode("ascii").partition("?")[0].rstrip("/")
    if path.endswith("/execute"):
        raise ValueError(f"url must not end in /execute, which the client adds: {origin}{path}")
    return Endpoint(f"{origin}{path}", origin, headers)


def prepare_check(service: Endpoint) -> Call:
    """Returns the request that identifies the caller."""
    return Call(None, _without_body(service), None, route="whoami")


def prepare(call: Mapping[str, object] | ToolUse, service: Endpoint, idempotency_key: str | None = None) -> Call:
    """Returns the request of a call. The ID of a block is its idempotency key; an input gets a new key."""
    block = _as_block(call)
    if block is not None:
        if idempotency_key is not None:
            raise TypeError("a tool_use block's id is its idempotency key: give no other")
        given_id = block.get("id")
        # A block without an ID is sent as well, because the service explains the error.
        tool_use_id = given_id if isinstance(given_id, str) else None
        return Call(_encode(block), service.headers, tool_use_id, tool_use_id)
    if not isinstance(call, Mapping):
        raise TypeError(f"a memory tool input or a tool_use block is needed, not {type(call).__name__}")
    key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
    if not _IDEMPOTENCY_KEY.fullmatch(key):
        raise ValueError("idempotency_key must be 1 to 255 printable ASCII characters without spaces")
    return Call(_encode(call), {**service.headers, "Idempotency-Key": key}, key)


def prepare_instructions(service: Endpoint, protocol: bool) -> Call:
    """Returns the request for the text of the system prompt."""
    route = "instructions" if protocol else "instructions?protocol=false"
    return Call(None, _without_body(service), None, route=route)


def prepare_context(service: Endpoint, since: str | None, max_chars: int | None) -> Call:
    """Returns the request for an agent's context."""
    query = {"since": since, "max_chars": max_chars}
    given = urlencode({name: value for name, value in query.items() if value is not None})
    return Call(None, _without_body(service), None, route=f"context?{given}" if given else "context")


def prepare_changes(service: Endpoint, **query: object) -> Call:
    """Returns the request for a page of changes. None and False select the default."""
    given = {name: value for name, value in query.items() if value not in (None, False)}
    if given.get("content"):
        given["content"] = "true"
    route = f"v1/changes?{urlencode(given, doseq=True)}" if given else "v1/changes"
    return Call(None, _without_body(service), None, route=route)


def prepare_sharing(
    service: Endpoint, method: str, resource: str, body: Mapping[str, object] | None = None, *, id: str | None = None
) -> Call:
    """Returns a request for the invitations or the shares, or for one of them."""
    route = f"v1/{resource}" if id is None else f"v1/{resource}/{quote(id, safe='')}"
    headers = _without_body(service) if body is None else service.headers
    return Call(None if body is None else _encode(body), headers, None, route=route, method=method)


def prepare_store(
    service: Endpoint,
    store: str,
    method: str,
    path: str = "",
    *,
    resource: str = "memories",
    query: Mapping[str, str] | None = None,
    body: Mapping[str, object] | None = None,
) -> Call:
    """Returns a request for the memories of a store, or for another `resource` of it."""
    route = f"v1/memory_stores/{quote(store, safe='')}/{resource}{path}" + (f"?{urlencode(query)}" if query else "")
    headers = _without_body(service) if body is None else service.headers
    encoded = None if body is None else _encode(body)
    return Call(encoded, headers, None, route=route, method=method, is_for_store=True)


def _without_body(service: Endpoint) -> dict[str, str]:
    return {name: value for name, value in service.headers.items() if name != "Content-Type"}


def _as_block(call: Mapping[str, object] | ToolUse) -> dict[str, object] | None:
    if isinstance(call, Mapping):
        if call.get("type") == "tool_use":
            return {name: call[name] for name in _BLOCK_FIELDS if name in call}
    elif getattr(call, "type", None) == "tool_use":
        return {name: getattr(call, name) for name in _BLOCK_FIELDS}
    return None


def _encode(value: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(dict(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # Lone surrogates are sent as escapes, because the service rejects them with a message for the model.
        return json.dumps(dict(value), allow_nan=False, separators=(",", ":")).encode()


Result = MemoryResult | BetaToolResultBlockParam | Identity | Context | ChangePage | StoreReply | Mapping[str, Any]


def read_response(
    call: Call, service: Endpoint, response: httpx2.Response, body: bytes, request_id: str, now: Callable[[], float]
) -> Result | Fault:
    """Reads the service's response to the attempt `request_id`."""
    status = response.status_code
    request_id = response.headers.get("X-Request-Id", request_id)
    if status in _SUCCESSES:
        return _result(call, json_object(body)) or Fault(
            foreign_response(status, service.named_url(call)),
            status=status,
            code="invalid_response",
            retryable=False,
            request_id=request_id,
        )
    problem: Mapping[str, object] = {}
    if response.headers.get("Content-Type", "").startswith("application/problem+json"):
        problem = json_object(body)
    elif call.is_for_store and (error := _store_error(json_object(body))):
        if status in _REJECTED:
            return StoreReply(error=error)
        problem = {"code": error["type"], "detail": error["message"]}
    fault = problem_fault({**problem, "status": status}, call, service, request_id) or Fault(
        foreign_response(status, service.named_url(call)),
        code=f"http_{status}",
        status=status,
        retryable=status in _RETRYABLE,
        request_id=request_id,
    )
    return replace(fault, retry_after=_retry_after(response.headers.get("Retry-After"), now))


def problem_fault(problem: Mapping[str, object], call: Call, service: Endpoint, request_id: str) -> Fault | None:
    """Returns the fault that a problem describes, or None if the problem does not come from the service."""
    status, code, detail = (problem.get(name) for name in ("status", "code", "detail"))
    if not (isinstance(status, int) and isinstance(code, str) and isinstance(detail, str)):
        return None
    words = advice(code, detail, service.headers, service.named_url(call)) or detail
    return Fault(
        f"{service.name_for(call)} responded with {status} {code}: {words}",
        status=status,
        code=code,
        retryable=status in _RETRYABLE,
        request_id=request_id,
    )


def _store_error(body: Mapping[str, object]) -> Mapping[str, Any] | None:
    error = body.get("error")
    if body.get("type") != "error" or not isinstance(error, dict):
        return None
    return error if isinstance(error.get("type"), str) and isinstance(error.get("message"), str) else None


def _result(call: Call, body: Mapping[str, object]) -> Result | None:
    if call.is_for_store:
        # A page has data, and a memory has an ID.
        return StoreReply(body) if isinstance(body.get("data"), list) or isinstance(body.get("id"), str) else None
    if call.route == "whoami":
        return _identity(body)
    if call.route.startswith("context"):
        return _context(body)
    if call.route.startswith("v1/changes"):
        return _change_page(body)
    if call.route.startswith(("v1/invitations", "v1/shares")):
        return _sharing(call, body)
    # Only the result of a tool has the field `is_error`.
    content, is_error = body.get("content"), body.get("is_error", None if call.route == "execute" else False)
    if not isinstance(content, str) or not isinstance(is_error, bool):
        return None
    # The result of another call: a proxy has mixed up responses.
    if body.get("tool_use_id", call.tool_use_id) != call.tool_use_id:
        return None
    if call.tool_use_id is None:
        return {"content": content, "is_error": is_error}
    return {
        "type": "tool_result",
        "tool_use_id": call.tool_use_id,
        "content": content,
        "is_error": is_error,
    }


def _identity(body: Mapping[str, object]) -> Identity | None:
    records = ("credential", "tenant", "rights", "limits", "settings")
    is_identity = all(isinstance(body.get(name), dict) for name in records) and isinstance(body.get("mounts"), list)
    return cast(Identity, body) if is_identity and isinstance(body.get("version"), str) else None


def _context(body: Mapping[str, object]) -> Context | None:
    text = body.get("changes") if body.get("snapshot") is None else body.get("snapshot")
    is_context = all(isinstance(each, str) for each in (text, body.get("guidance"), body.get("version")))
    return cast(Context, body) if is_context else None


def _change_page(body: Mapping[str, object]) -> ChangePage | None:
    is_page = isinstance(body.get("events"), list) and isinstance(body.get("cursor"), str)
    return cast(ChangePage, body) if is_page and isinstance(body.get("has_more"), bool) else None


def _sharing(call: Call, body: Mapping[str, object]) -> Mapping[str, Any] | None:
    if call.method == "DELETE":
        return {"ended": True}
    return body if any(name in body for name in ("invitations", "token", "received", "path")) else None


def json_object(body: bytes) -> Mapping[str, object]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _retry_after(value: str | None, now: Callable[[], float]) -> float | None:
    """Returns the seconds of a `Retry-After` header, which is a number of seconds or a date."""
    if value is None:
        return None
    if re.fullmatch(r"\d{1,9}", value.strip(), re.ASCII):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now())
    except (ValueError, OverflowError):
        return None


def transport_fault(error: httpx2.RequestError, service: Endpoint, request_id: str) -> Fault:
    """Describes an error of httpx2 without its message, which may quote the request."""
    if isinstance(error, httpx2.TimeoutException):
        return timeout_fault(service, request_id)
    if isinstance(error, (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ProxyError)):
        return Fault(
            f"The memory service at {service.origin} cannot be reached: {_reason(error)}. {_advice(error, service)}",
            code="network_error",
            retryable=True,
            request_id=request_id,
        )
    return Fault(
        f"The memory service at {service.origin} sent a response that cannot be read: {type(error).__name__}.",
        code="invalid_response",
        retryable=False,
        request_id=request_id,
    )


def _reason(error: httpx2.RequestError) -> str:
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return f"its TLS certificate is not trusted ({cause.verify_message})"
            case ssl.SSLError():
                return f"TLS failed ({cause.reason})"
            case socket.gaierror():
                return "its host name cannot be resolved"
            case ConnectionRefusedError():
                return "the connection was refused"
    return f"the connection failed ({type(error).__name__})"


def _advice(error: httpx2.RequestError, service: Endpoint) -> str:
    if any(isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER" for cause in _causes(error)):
        return "It does not speak TLS: if it has none, start url with http://."
    # A TLS server closes the connection on a request without TLS, or sends an alert.
    if isinstance(error, httpx2.RemoteProtocolError) and service.origin.startswith("http:"):
        return "Its response is not HTTP: if it has TLS, start url with https://."
    return "Check url and that the service runs."


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yields an error, its causes, and the errors of an exception group, which has one error per address of a host."""
    yield error
    inner = error.__cause__ or error.__context__
    for cause in (*getattr(error, "exceptions", ()), *([inner] if inner else [])):
        yield from _causes(cause)


def timeout_fault(service: Endpoint, request_id: str) -> Fault:
    return Fault(
        f"The memory service at {service.origin} sent no response in time.",
        code="timeout",
        retryable=True,
        request_id=request_id,
    )


def closed_loop_fault(service: Endpoint, request_id: str) -> Fault:
    return Fault(
        f"The memory service at {service.origin} cannot be reached: http_client has connections of an event loop that "
        "is closed. Make an http_client in each event loop.",
        code="network_error",
        retryable=True,
        request_id=request_id,
    )
