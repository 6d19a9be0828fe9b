"""The server for the suite `memory_sync` in the `anthropic` package: a store in the running service.

The suite has a fake server in its module `_fake_anthropic`. This module replaces it, with the same names and arguments:
each `MemoryServer` is a memory store in the service at SERVICE_URL, and the SDK sends the requests.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, MutableMapping
from types import SimpleNamespace
from typing import Any

import anyio
import httpx2
from anthropic import Anthropic, APIStatusError, AsyncAnthropic, NotFoundError

OPTIONS: dict[str, Any] = {"base_url": os.environ["SERVICE_URL"], "api_key": "any", "max_retries": 0}
# The service runs with this MAX_FILE_BYTES.
MAX_CONTENT_BYTES = int(os.environ["SERVICE_MAX_FILE_BYTES"])
_stores = Anthropic(**OPTIONS).beta.memory_stores


def _sha(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _status_error(code: int) -> APIStatusError:
    request = httpx2.Request("POST", "https://api.example/v1/memory")
    return APIStatusError(f"status {code}", response=httpx2.Response(code, request=request), body=None)


def created(path: str, content: str) -> tuple[Any, ...]:
    return ("create", path, content)


def updated(path: str, content: str, *, was: str) -> tuple[Any, ...]:
    return ("update", path, content, _sha(was))


def deleted(path: str, *, was: str) -> tuple[Any, ...]:
    return ("delete", path, _sha(was))


def _at_once() -> anyio.CancelScope:
    """Completes a request that is cancelled, because the suite expects a write without a delay."""
    return anyio.CancelScope(shield=True)


class Files(MutableMapping[str, "str | None"]):
    """A store's memories, by their paths without a slash at the start."""

    def __init__(self, store: str) -> None:
        self._store = store
        # The suite names a memory by its path, even after its deletion.
        self._ids: dict[str, str] = {}
        # A memory without a content cannot be stored, only shown.
        self.without_content: set[str] = set()

    def id_of(self, path: str) -> str:
        for memory in _stores.memories.list(self._store):
            if memory.type == "memory":
                self._ids[memory.path[1:]] = memory.id
        return self._ids[path]

    def __getitem__(self, path: str) -> str:
        try:
            found = _stores.memories.retrieve(self.id_of(path), memory_store_id=self._store)
        except NotFoundError as error:
            raise KeyError(path) from error
        assert found.content is not None
        return found.content

    def __setitem__(self, path: str, content: str | None) -> None:
        text = content or ""
        if path in list(self):
            _stores.memories.update(self.id_of(path), memory_store_id=self._store, content=text)
        else:
            _stores.memories.create(self._store, path=f"/{path}", content=text)
        (self.without_content.discard if content is not None else self.without_content.add)(path)

    def __delitem__(self, path: str) -> None:
        try:
            _stores.memories.delete(self.id_of(path), memory_store_id=self._store)
        except NotFoundError as error:
            raise KeyError(path) from error

    def __iter__(self) -> Iterator[str]:
        return iter([each.path[1:] for each in _stores.memories.list(self._store) if each.type == "memory"])

    def __len__(self) -> int:
        return len(list(iter(self)))


class MemoryServer:
    def __init__(self, initial: Mapping[str, str | None]) -> None:
        self.store = _stores.create(name="notes").id
        self.files = Files(self.store)
        self.files.update(initial)
        self.received: list[tuple[Any, ...]] = []
        self.retrieves: list[str] = []
        self.content_fetches: list[str] = []
        self.fetch_hook: Callable[[str], None] | None = None
        self.upload_hook: Callable[[str], Awaitable[None]] | None = None

    @property
    def max_content_bytes(self) -> int:
        return MAX_CONTENT_BYTES

    @max_content_bytes.setter
    def max_content_bytes(self, limit: int) -> None:
        assert limit == MAX_CONTENT_BYTES

    def write(self, path: str, content: str) -> None:
        self.files[path] = content

    def delete(self, path: str) -> None:
        del self.files[path]


class _Resource:
    """`client.beta.memory_stores.memories` in the SDK, with the suite's hooks and records."""

    def __init__(self, server: MemoryServer, *, noise: bool = False) -> None:
        self._server = server
        self._noise = noise
        self._memories = AsyncAnthropic(**OPTIONS).beta.memory_stores.memories

    def _item(self, memory: Any) -> Any:
        path = memory.path[1:]
        memory.id = f"mem:{path}"
        if path in self._server.files.without_content:
            memory.content = None
        return memory

    def list(self, memory_store_id: str, **params: Any) -> AsyncIterator[Any]:
        async def items() -> AsyncIterator[Any]:
            if self._noise:
                yield SimpleNamespace(type="memory_prefix", path="/projects/")
            if memory_store_id == "memstore_broken":
                sha = _sha("partial")
                yield SimpleNamespace(
                    type="memory", id="mem:half", path="/half.md", content="partial", content_sha256=sha
                )
                raise RuntimeError("list exploded")
            # The suite changes the store while it reads a list.
            listed = [each async for each in self._memories.list(self._server.store, **params)]
            for each in listed:
                yield self._item(each)

        return items()

    async def retrieve(self, memory_id: str, *, memory_store_id: str, **params: Any) -> Any:
        path = memory_id.removeprefix("mem:")
        self._server.content_fetches.append(path)
        if self._server.fetch_hook is not None:
            self._server.fetch_hook(path)
        found = await self._memories.retrieve(self._real(path), memory_store_id=self._server.store, **params)
        return self._item(found)

    async def create(self, memory_store_id: str, *, path: str, content: str, **params: Any) -> Any:
        bare = path.lstrip("/")
        if self._server.upload_hook is not None:
            await self._server.upload_hook(bare)
        self._server.received.append(created(bare, content))
        with _at_once():
            made = await self._memories.create(self._server.store, path=path, content=content, **params)
        return self._item(made)

    async def update(self, memory_id: str, *, memory_store_id: str, content: str, precondition: Any) -> Any:
        path = memory_id.removeprefix("mem:")
        if self._server.upload_hook is not None:
            await self._server.upload_hook(path)
        self._server.received.append(("update", path, content, precondition["content_sha256"]))
        change = {"memory_store_id": self._server.store, "content": content, "precondition": precondition}
        with _at_once():
            changed = await self._memories.update(self._real(path), **change)
        return self._item(changed)

    async def delete(self, memory_id: str, *, memory_store_id: str, **params: Any) -> Any:
        path = memory_id.removeprefix("mem:")
        self._server.received.append(("delete", path, params.get("expected_content_sha256")))
        return await self._memories.delete(self._real(path), memory_store_id=self._server.store, **params)

    def _real(self, path: str) -> str:
        return self._server.files.id_of(path)


def fake_anthropic(
    initial: Mapping[str, str | None],
    *,
    access: str | None = None,
    broken_store: bool = False,
    broken_store_last: bool = False,
    no_stores: bool = False,
    mount_path: str | None = None,
    noise: bool = False,
) -> tuple[Any, MemoryServer]:
    """Returns a client for `SessionMemoryStores`, and the store that its session has as `notes`."""
    server = MemoryServer(initial)

    def attached(name: str, **fields: Any) -> Any:
        shown = {"type": "memory_store", "memory_store_id": f"memstore_{name}", "name": name}
        return SimpleNamespace(**shown, **{"mount_path": None, "access": None, **fields})

    resources: list[Any] = [] if no_stores else [attached("notes", mount_path=mount_path, access=access)]
    if noise:
        resources.insert(0, SimpleNamespace(type="file", file_id="file_1"))
    if broken_store_last:
        resources.append(attached("broken"))
    elif broken_store:
        resources.insert(0, attached("broken"))

    async def retrieve(session_id: str) -> Any:
        server.retrieves.append(session_id)
        return SimpleNamespace(status="running", agent=SimpleNamespace(skills=[]), resources=resources)

    stores = SimpleNamespace(memories=_Resource(server, noise=noise))
    client = SimpleNamespace(beta=SimpleNamespace(sessions=SimpleNamespace(retrieve=retrieve), memory_stores=stores))
    return client, server
