from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Generic, TypeVar, cast, overload

import anyio
import httpx2
from anthropic.types.beta import BetaToolResultBlockParam
from typing_extensions import Self

from ._changes import SILENCE, Feed, is_stream, is_temporary
from ._protocol import (
    Call,
    Fault,
    Result,
    StoreReply,
    closed_loop_fault,
    endpoint,
    prepare,
    prepare_changes,
    prepare_check,
    prepare_context,
    prepare_instructions,
    prepare_sharing,
    prepare_store,
    read_response,
    timeout_fault,
    transport_fault,
)
from ._retry import Limits, Outage, Timing, Tries, backoff
from ._tracing import trace_headers
from .errors import MemoryServiceError
from .files import MemoryFiles
from .sharing import AsyncMemorySharing, MemorySharing
from .types import ChangeEvent, ChangePage, ChangeType, Context, Identity, MemoryInput, MemoryResult, ToolUse

_log = logging.getLogger(__name__)
_WARNED_ONCE = "The agent runs without its memory; further failures are not logged until a call succeeds."
_HttpClient = TypeVar("_HttpClient", httpx2.Client, httpx2.AsyncClient)


class _BaseClient(Generic[_HttpClient]):
    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        tenant: str | None = None,
        provenance: bool | None = None,
        timeout: float = 30.0,
        attempt_timeout: float = 10.0,
        max_retries: int = 8,
        http_client: _HttpClient | None = None,
        _timing: Timing | None = None,
    ) -> None:
        """A client of the service at `url`.

        Args:
            url: URL of the service, without `/execute`: `https://memory.example.com`.
            api_key: An API key (`msk_…`) or a JWT, sent as `Authorization: Bearer`.
            tenant: The tenant, for a service key or a service without authentication. Sent as `X-Tenant-Id`.
            provenance: Whether views and searches say who wrote each line last, if the tenant's setting `provenance`
                allows it. By default, the setting decides. Sent as `X-Memory-Provenance`.
            timeout: Time limit of a call with all its retries, in seconds. After a call that used up its retries, other
                calls are attempted only once for the same time, or until a call succeeds.
            attempt_timeout: Time limit of one attempt, in seconds.
            max_retries: Maximum number of retries.
            http_client: An httpx2 client to use, with its proxies, certificates, and pool. Create it in the process
                and in the event loop that use it. The caller has to close it.

        Raises:
            ValueError: An option is invalid. The message never contains the API key.
        """
        self._service = endpoint(url, api_key, tenant, provenance)
        self._limits = Limits(timeout, attempt_timeout, max_retries)
        self._timing = _timing or Timing()
        self._outage = Outage(self._timing)
        self._given_http: _HttpClient | None = http_client
        self._given_http_process: int | None = None
        # HTTP clients by process and event loop, because a connection cannot be used after a fork or in another loop.
        # Clients of a parent process remain referenced, since closing them would write to its connections.
        self._own_http: dict[tuple[int, object], _HttpClient] = {}

    def _given_http_client(self) -> _HttpClient | None:
        if self._given_http is not None:
            self._given_http_process = self._given_http_process or os.getpid()
            if self._given_http_process != os.getpid():
                raise MemoryServiceError(
                    "http_client was used before this process was forked, so its connections belong to another "
                    "process. Make an http_client in each process."
                )
        return self._given_http

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._service.origin!r})"

    def _request(self, call: Call, time_limit: float) -> tuple[str, dict[str, Any]]:
        # Created here, so that a request without a response can be found in the service's log.
        request_id = str(uuid.uuid4())
        return request_id, {
            "method": call.method or ("GET" if call.body is None else "POST"),
            "url": self._service.url_for(call),
            "content": call.body,
            "headers": {**call.headers, **trace_headers(), "X-Request-Id": request_id},
            "timeout": time_limit,
            # A redirect could send the memory's contents to an unknown address.
            "follow_redirects": False,
        }

    def _result_or_raise(self, call: Call, result: Result | Fault) -> Any:
        if isinstance(result, Fault):
            raise result.error(call, 1)
        return result

    def _delay_or_raise(self, call: Call, tries: Tries, fault: Fault) -> float:
        delay = tries.delay_after(fault)
        if delay is None:
            raise self._report(call, fault, tries.failed)
        _log.debug("Retrying in %.2f s: %s", delay, fault.message)
        return delay

    def _feed_delay_or_raise(self, feed: Feed) -> float:
        fault = feed.fault
        feed.failures += 1
        if not is_temporary(fault):
            raise self._report(feed.stream(), fault, feed.failures)
        if feed.failures == self._limits.max_retries + 1:
            self._report(feed.stream(), fault, feed.failures)
        delay = backoff(self._timing, feed.failures, fault)
        _log.debug("Retrying in %.2f s: %s", delay, fault.message)
        return delay

    def _report(self, call: Call, fault: Fault, tries: int) -> MemoryServiceError:
        error = fault.error(call, tries)
        if self._outage.record(fault, self._limits.timeout):
            _log.warning("%s %s", error, _WARNED_ONCE)
        return error


class MemoryClient(_BaseClient[httpx2.Client]):
    """A client of the memory service. Threads, and all conversations of a tenant, can share one client."""

    def _http(self) -> httpx2.Client:
        given = self._given_http_client()
        if given is not None:
            return given
        # `setdefault`, because threads share the client.
        key = (os.getpid(), None)
        return self._own_http.get(key) or self._own_http.setdefault(key, httpx2.Client())

    @overload
    def execute(self, call: ToolUse) -> BetaToolResultBlockParam: ...
    @overload
    def execute(self, call: MemoryInput, *, idempotency_key: str | None = None) -> MemoryResult: ...
    def execute(
        self, call: MemoryInput | ToolUse, *, idempotency_key: str | None = None
    ) -> MemoryResult | BetaToolResultBlockParam:
        """Executes one call of the memory tool.

        Retries network errors, timeouts, 429, and 502 to 504 with backoff, within `timeout`. All attempts have the same
        idempotency key, so a write is applied once. `timeout` is exact for a service that does not respond. A service
        that sends its response slowly is abandoned after the first part that arrives too late.

        Args:
            call: A complete `tool_use` block, or only its input.
            idempotency_key: For an input: 1 to 255 printable ASCII characters without spaces, a random UUID by default.
                A block uses its ID instead.

        Returns:
            The `tool_result` block for the next message, or for an input the `content` and `is_error`.

        Raises:
            MemoryServiceError: There is no result.
        """
        result = self._send(prepare(call, self._service, idempotency_key))
        return cast("MemoryResult | BetaToolResultBlockParam", result)

    def instructions(self, *, protocol: bool = True) -> str:
        """Returns text for the system prompt: the memory protocol, and the mounts with their purpose.

        Args:
            protocol: Whether the text begins with the memory protocol. The Claude API itself adds the protocol with the
                memory tool.

        Raises:
            MemoryServiceError: The service returns no text.
        """
        result = self._send(prepare_instructions(self._service, protocol))
        return str(cast(MemoryResult, result)["content"])

    def context(self, *, since: str | None = None, max_chars: int | None = None) -> Context:
        """Returns the memory for an agent before its first token.

        `MemoryContext` keeps it in a conversation.

        Args:
            since: A `version` from an earlier context. With it, the service returns only the changes, if known.
            max_chars: Maximum length of the snapshot, from 1000 characters; the tenant's limit by default.

        Returns:
            Guidance for the system prompt, and a snapshot for the first message.

        Raises:
            MemoryServiceError: The service returns no context.
        """
        return cast(Context, self._send(prepare_context(self._service, since, max_chars)))

    def list_changes(
        self,
        *,
        after: str | None = None,
        path: str | None = None,
        types: Sequence[ChangeType] | None = None,
        by: str | None = None,
        source: str | None = None,
        content: bool = False,
        limit: int = 100,
    ) -> ChangePage:
        """Returns a page of the changes to the memory, oldest first. Continue with the page's `cursor`.

        Args:
            after: The `cursor` of an event or a page, or `now`. Without it, the list begins with the history.
            path: A file or a directory: only changes at or below it, such as `/memories/prefs`.
            types: Only changes with these types.
            by: Only changes by this actor: the ID or label of a key, the subject of a token, or `anonymous`.
            source: Only changes with keys of this source. Not together with `by`.
            content: Whether the events have the contents.
            limit: Maximum number of events, 1 to 1000.

        Raises:
            MemoryServiceError: The service returns no page. With status 410, the position is older than the history.
        """
        query = {"after": after, "limit": limit, "path": path, "type": types, "by": by, "source": source}
        return cast(ChangePage, self._send(prepare_changes(self._service, content=content, **query)))

    def changes(
        self,
        *,
        after: str | None = None,
        path: str | None = None,
        types: Sequence[ChangeType] | None = None,
        by: str | None = None,
        source: str | None = None,
        content: bool = False,
        resync: Callable[[str], object] | None = None,
    ) -> Generator[ChangeEvent, None, None]:
        """Yields the changes to the memory, oldest first, and waits for further ones.

        Continues after network errors, 429, and 5xx for as long as they last, and logs a warning after `max_retries`
        failures in a row. No change is lost or yielded twice.

        Args:
            after: The `cursor` of an event or a page, or `now`. Without it, the changes begin with the history.
            path: As in `list_changes`, like `types`, `by`, `source`, and `content`.
            resync: Called when the position is older than the history, or another tenant has the ID. It must read all
                files once. Then the changes after its argument, a cursor, follow.

        Raises:
            MemoryServiceError: Another rejection: 401 and 403 for the key, 404 for the tenant, or 410 for a position
                that is older than the history, unless there is a `resync`.
        """
        feed = Feed(self._service, after, path=path, type=types, by=by, source=source, content=content)
        while True:
            if feed.needs_end:
                end = self._try(feed.end(), self._limits.single)
                if not isinstance(end, Fault):
                    cursor = feed.move_to(end)
                    if cursor is not None and resync is not None:
                        resync(cursor)
                    continue
                feed.fault = end
            else:
                yield from self._receive(feed)
            if feed.fault.status == 410 and resync is not None:
                feed.expire()
                continue
            self._timing.sleep(self._feed_delay_or_raise(feed))

    def _receive(self, feed: Feed) -> Generator[ChangeEvent, None, None]:
        """Yields the changes in one stream, and sets the feed's fault."""
        call = feed.stream()
        request_id, request = self._request(call, SILENCE)
        has_begun = False
        try:
            with self._http().stream(**request) as response:
                has_begun = is_stream(response)
                if not has_begun:
                    reply = read_response(call, self._service, response, response.read(), request_id, self._timing.now)
                    feed.fault = cast(Fault, reply)
                    return
                for event in httpx2.EventSource(response, max_event_size=None):
                    self._outage.end()
                    received = feed.read(event, request_id)
                    if isinstance(received, Fault):
                        feed.fault = received
                        return
                    if received is not None:
                        yield received
            feed.fault = feed.ended(request_id)
        except httpx2.RequestError as error:
            fault = transport_fault(error, self._service, request_id)
            feed.fault = feed.broken(fault) if has_begun else fault

    def files(self) -> MemoryFiles:
        """Returns the files of the memory as whole texts, for adapters of filesystems.

        They are read and written over the Memory Stores API, without the directories that show other memories. Create
        them once for each conversation.
        """

        def find_store() -> str:
            tenant = self._service.headers.get("X-Tenant-Id")
            return tenant or cast(Identity, self._send(prepare_check(self._service)))["tenant"]["id"]

        store: list[str] = []

        def send(method: str, path: str = "", **given: Any) -> StoreReply:
            if not store:
                store.append(find_store())
            return cast(StoreReply, self._send(prepare_store(self._service, store[0], method, path, **given)))

        return MemoryFiles(send, self.execute)

    def _send(self, prepared: Call) -> Result:
        tries = Tries(self._limits, self._timing, self._outage)
        while True:
            outcome = self._try(prepared, tries.next_time_limit())
            if not isinstance(outcome, Fault):
                self._outage.end()
                return outcome
            self._timing.sleep(self._delay_or_raise(prepared, tries, outcome))

    def check(self) -> Identity:
        """Checks the options with the service, and returns the identity of the caller.

        Call it when a program starts, so that a wrong `url`, `api_key`, or `tenant` is an error here, and not only in a
        result for the model. It makes one attempt, limited by the smaller of `attempt_timeout` and `timeout`.

        Raises:
            MemoryServiceError: The message names the URL and the option to change.
        """
        call = prepare_check(self._service)
        return cast(Identity, self._result_or_raise(call, self._try(call, self._limits.single)))

    def sharing(self) -> MemorySharing:
        """Returns the operations to share the memory with other tenants, and to accept their invitations."""

        def send(*args: Any, **given: Any) -> Mapping[str, Any]:
            call = prepare_sharing(self._service, *args, **given)
            return cast("Mapping[str, Any]", self._result_or_raise(call, self._try(call, self._limits.single)))

        return MemorySharing(send)

    def _try(self, call: Call, time_limit: float) -> Result | Fault:
        request_id, request = self._request(call, time_limit)
        until = self._timing.clock() + time_limit
        chunks = []
        try:
            # The timeout in the request applies to each wait separately.
            with self._http().stream(**request) as response:
                for chunk in response.iter_bytes():
                    if self._timing.clock() > until:
                        return timeout_fault(self._service, request_id)
                    chunks.append(chunk)
        except httpx2.RequestError as error:
            return transport_fault(error, self._service, request_id)
        return read_response(call, self._service, response, b"".join(chunks), request_id, self._timing.now)

    def close(self) -> None:
        """Closes the connections of this process. A later call opens new ones."""
        own = self._own_http.pop((os.getpid(), None), None)
        if own is not None:
            own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncMemoryClient(_BaseClient[httpx2.AsyncClient]):
    """A client of the memory service for asyncio. All conversations of a tenant can share one client."""

    def _http(self) -> httpx2.AsyncClient:
        given = self._given_http_client()
        if given is not None:
            return given
        key = (os.getpid(), asyncio.get_running_loop())
        http = self._own_http.get(key)
        if http is None:
            # Event loops of other threads add and remove clients at the same time.
            for other in list(self._own_http):
                if other[0] == key[0] and _is_closed(other[1]):
                    self._own_http.pop(other, None)
            http = self._own_http[key] = httpx2.AsyncClient()
        return http

    @overload
    async def execute(self, call: ToolUse) -> BetaToolResultBlockParam: ...
    @overload
    async def execute(self, call: MemoryInput, *, idempotency_key: str | None = None) -> MemoryResult: ...
    async def execute(
        self, call: MemoryInput | ToolUse, *, idempotency_key: str | None = None
    ) -> MemoryResult | BetaToolResultBlockParam:
        """Executes one call of the memory tool, like `MemoryClient.execute`, but with an exact `timeout`."""
        result = await self._send(prepare(call, self._service, idempotency_key))
        return cast("MemoryResult | BetaToolResultBlockParam", result)

    async def instructions(self, *, protocol: bool = True) -> str:
        """Returns text for the system prompt, like `MemoryClient.instructions`."""
        result = await self._send(prepare_instructions(self._service, protocol))
        return str(cast(MemoryResult, result)["content"])

    async def context(self, *, since: str | None = None, max_chars: int | None = None) -> Context:
        """Returns the memory for an agent before its first token, like `MemoryClient.context`."""
        return cast(Context, await self._send(prepare_context(self._service, since, max_chars)))

    async def list_changes(
        self,
        *,
        after: str | None = None,
        path: str | None = None,
        types: Sequence[ChangeType] | None = None,
        by: str | None = None,
        source: str | None = None,
        content: bool = False,
        limit: int = 100,
    ) -> ChangePage:
        """Returns a page of the changes to the memory, like `MemoryClient.list_changes`."""
        query = {"after": after, "limit": limit, "path": path, "type": types, "by": by, "source": source}
        return cast(ChangePage, await self._send(prepare_changes(self._service, content=content, **query)))

    async def changes(
        self,
        *,
        after: str | None = None,
        path: str | None = None,
        types: Sequence[ChangeType] | None = None,
        by: str | None = None,
        source: str | None = None,
        content: bool = False,
        resync: Callable[[str], Awaitable[object]] | None = None,
    ) -> AsyncGenerator[ChangeEvent, None]:
        """Yields the changes to the memory, like `MemoryClient.changes`."""
        feed = Feed(self._service, after, path=path, type=types, by=by, source=source, content=content)
        while True:
            if feed.needs_end:
                end = await self._try(feed.end(), self._limits.single)
                if not isinstance(end, Fault):
                    cursor = feed.move_to(end)
                    if cursor is not None and resync is not None:
                        await resync(cursor)
                    continue
                feed.fault = end
            else:
                async with aclosing(self._receive(feed)) as changes:
                    async for change in changes:
                        yield change
            if feed.fault.status == 410 and resync is not None:
                feed.expire()
                continue
            await self._timing.async_sleep(self._feed_delay_or_raise(feed))

    async def _receive(self, feed: Feed) -> AsyncGenerator[ChangeEvent, None]:
        call = feed.stream()
        request_id, request = self._request(call, SILENCE)
        has_begun = False
        try:
            async with self._http().stream(**request) as response:
                has_begun = is_stream(response)
                if not has_begun:
                    body = await response.aread()
                    reply = read_response(call, self._service, response, body, request_id, self._timing.now)
                    feed.fault = cast(Fault, reply)
                    return
                async for event in httpx2.EventSource(response, max_event_size=None):
                    self._outage.end()
                    received = feed.read(event, request_id)
                    if isinstance(received, Fault):
                        feed.fault = received
                        return
                    if received is not None:
                        yield received
            feed.fault = feed.ended(request_id)
        except httpx2.RequestError as error:
            fault = transport_fault(error, self._service, request_id)
            feed.fault = feed.broken(fault) if has_begun else fault

    async def _send(self, prepared: Call) -> Result:
        tries = Tries(self._limits, self._timing, self._outage)
        while True:
            outcome = await self._try(prepared, tries.next_time_limit())
            if not isinstance(outcome, Fault):
                self._outage.end()
                return outcome
            await self._timing.async_sleep(self._delay_or_raise(prepared, tries, outcome))

    async def check(self) -> Identity:
        """Checks the options with the service, like `MemoryClient.check`."""
        call = prepare_check(self._service)
        return cast(Identity, self._result_or_raise(call, await self._try(call, self._limits.single)))

    def sharing(self) -> AsyncMemorySharing:
        """Returns the operations to share the memory with other tenants, and to accept their invitations."""

        async def send(*args: Any, **given: Any) -> Mapping[str, Any]:
            call = prepare_sharing(self._service, *args, **given)
            result = await self._try(call, self._limits.single)
            return cast("Mapping[str, Any]", self._result_or_raise(call, result))

        return AsyncMemorySharing(send)

    async def _try(self, call: Call, time_limit: float) -> Result | Fault:
        request_id, request = self._request(call, time_limit)
        try:
            with anyio.fail_after(time_limit):
                response = await self._http().request(**request)
        except TimeoutError:
            return timeout_fault(self._service, request_id)
        except httpx2.RequestError as error:
            return transport_fault(error, self._service, request_id)
        except RuntimeError:
            # A connection of the given `http_client` belongs to a closed event loop.
            if self._given_http is None or self._given_http.is_closed:
                raise
            return closed_loop_fault(self._service, request_id)
        return read_response(call, self._service, response, response.content, request_id, self._timing.now)

    async def aclose(self) -> None:
        """Closes the connections of this event loop. A later call opens new ones."""
        own = self._own_http.pop((os.getpid(), asyncio.get_running_loop()), None)
        if own is not None:
            await own.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _is_closed(loop: object) -> bool:
    return isinstance(loop, asyncio.AbstractEventLoop) and loop.is_closed()
