"""The files of a memory as whole texts, for adapters of filesystems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ._protocol import StoreReply
from .types import CreateInput, MemoryResult

_MAX_KNOWN = 10_000
"""Number of paths whose IDs are remembered."""

_ATTEMPTS = 5
"""Number of attempts of a write to a path that others delete and create at the same time."""

_CHANGED = ("not_found_error", "memory_precondition_failed_error")
"""Errors of a write to a file that was changed or deleted since it was read."""


@dataclass(frozen=True)
class MemoryFile:
    """A file of the memory. Its path has no `/memories`: `/notes.md` is `/memories/notes.md` for the memory tool."""

    id: str
    path: str
    size: int
    """Size of the content in UTF-8."""

    sha256: str
    """SHA-256 of the content in hexadecimal."""

    created_at: str
    """ISO 8601."""

    changed_at: str
    """ISO 8601."""

    version_id: str
    """ID of the current version."""

    content: str | None = None
    """The text; None in a list without contents."""


@dataclass(frozen=True)
class FileVersion:
    """The record of one change to one file. A redacted version has no path."""

    id: str
    path: str | None
    sha256: str | None
    """SHA-256 of the content in hexadecimal; None for a deletion."""


class MemoryFileError(Exception):
    """A rejected read or write, such as a write with a read-only key, above a limit, or to an invalid path."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        """Type of the error in the Memory Stores API, such as `permission_error`."""


class _Send(Protocol):
    def __call__(
        self,
        method: str,
        path: str = "",
        *,
        resource: str = "memories",
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
    ) -> StoreReply: ...


class _Execute(Protocol):
    def __call__(self, call: CreateInput, /) -> MemoryResult: ...


class MemoryFiles:
    """The files of a memory as whole texts.

    All writes have the same effect if they are sent again, so lost responses are retried without an idempotency key.
    Each method raises a `MemoryFileError` for a rejected call, and a `MemoryServiceError` for a call without a result.
    """

    def __init__(self, send: _Send, execute: _Execute) -> None:
        self._send = send
        self._execute = execute
        # IDs of files by path. A file that was moved or deleted since then is looked up again.
        self._ids: dict[str, str] = {}

    def entries(self, directory: str) -> tuple[list[str], list[MemoryFile]]:
        """Lists the direct directories and files of a directory, `/` or a path. A missing directory is empty."""
        items = list(self._items(directory, {"depth": "1", "limit": "100"}))
        directories = [item["path"].rstrip("/") for item in items if item["type"] != "memory"]
        return directories, [_file(item) for item in items if item["type"] == "memory"]

    def list_all(self, directory: str) -> list[MemoryFile]:
        """Lists all files below a directory, by path."""
        return list(self.walk(directory))

    def read_all(self, directory: str) -> list[MemoryFile]:
        """Reads all files below a directory, by path."""
        return [_file(item) for item in self._items(directory, {"view": "full"})]

    def walk(self, directory: str) -> Iterator[MemoryFile]:
        """Lists all files below a directory, by path, and requests each page when it is needed."""
        return map(_file, self._items(directory, {"limit": "100"}))

    def read_direct(self, directory: str) -> Iterator[MemoryFile]:
        """Reads the direct files of a directory, by path, and requests each page when it is needed."""
        items = self._items(directory, {"depth": "1", "view": "full"})
        return (_file(item) for item in items if item["type"] == "memory")

    def find(self, path: str) -> MemoryFile | None:
        """Finds a file, without its content."""
        _, files = self.entries(path.rpartition("/")[0] or "/")
        return next((file for file in files if file.path == path), None)

    def read(self, path: str) -> MemoryFile | None:
        known = self._ids.get(path)
        file = self._retrieve(known) if known is not None else None
        if file is None or file.path != path:
            found = self.find(path)
            file = self._retrieve(found.id) if found is not None else None
        return file if file is not None and file.path == path else None

    def write(self, path: str, content: str) -> None:
        """Creates a file, or replaces its content. The first file creates a tenant, if the key allows that."""
        for _ in range(_ATTEMPTS):
            if self.create(path, content) is not None:
                return
            known = self._ids.get(path)
            if known is not None and self._update(known, {"content": content}) is not None:
                return
        raise MemoryFileError("conflict_error", "Other writes change the path at the same time. Try again.")

    def create(self, path: str, content: str) -> MemoryFile | None:
        """Creates a file. Returns None if the path has a file. The first file creates a tenant, as with `write`."""
        reply = self._send("POST", body={"path": path, "content": content})
        if reply.error is None:
            return _file(reply.body)
        if reply.error.get("conflicting_path") == path:
            self._know(path, reply.error["conflicting_memory_id"])
            return None
        if reply.error["type"] == "not_found_error":
            # The store does not exist yet.
            return self.read(path) if self._create_tenant(path, content) else None
        raise _rejection(reply.error)

    def replace(self, file: MemoryFile, content: str) -> MemoryFile | None:
        """Replaces the content of a file. Returns None if the content was changed or deleted since it was read."""
        precondition = {"type": "content_sha256", "content_sha256": file.sha256}
        return self._update(file.id, {"content": content, "precondition": precondition})

    def delete(self, file: MemoryFile) -> None:
        """Deletes a file. A file that was deleted since it was read is no error."""
        self._delete(file, {})

    def delete_unchanged(self, file: MemoryFile) -> bool:
        """Deletes a file. Returns False if the content was changed or deleted since it was read."""
        return self._delete(file, {"expected_content_sha256": file.sha256})

    def versions(self) -> Iterator[FileVersion]:
        """Lists the versions of all files, the newest first, and requests each page when it is needed."""
        for item in self._pages({"limit": "100"}, "memory_versions"):
            yield FileVersion(item["id"], item["path"], item["content_sha256"])

    def _items(self, directory: str, given: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        for item in self._pages({"path_prefix": directory if directory == "/" else f"{directory}/", **given}):
            if item["type"] == "memory":
                self._know(item["path"], item["id"])
            yield item

    def _pages(self, given: Mapping[str, str], resource: str = "memories") -> Iterator[Mapping[str, Any]]:
        query = dict(given)
        while True:
            reply = self._send("GET", resource=resource, query=query)
            if reply.error is not None:
                # A store that does not exist yet is empty.
                if reply.error["type"] == "not_found_error":
                    return
                raise _rejection(reply.error)
            yield from reply.body["data"]
            if not reply.body.get("next_page"):
                return
            query["page"] = reply.body["next_page"]

    def _retrieve(self, memory_id: str) -> MemoryFile | None:
        reply = self._send("GET", f"/{memory_id}")
        if reply.error is None:
            return _file(reply.body)
        if reply.error["type"] == "not_found_error":
            return None
        raise _rejection(reply.error)

    def _update(self, memory_id: str, body: Mapping[str, object]) -> MemoryFile | None:
        reply = self._send("POST", f"/{memory_id}", body=body)
        if reply.error is None:
            return _file(reply.body)
        if reply.error["type"] in _CHANGED:
            return None
        raise _rejection(reply.error)

    def _delete(self, file: MemoryFile, query: Mapping[str, str]) -> bool:
        error = self._send("DELETE", f"/{file.id}", query=query).error
        if error is not None and error["type"] not in _CHANGED:
            raise _rejection(error)
        return error is None

    def _create_tenant(self, path: str, content: str) -> bool:
        """Creates the first file over the memory tool.

        The Memory Stores API creates no tenants for keys that do not manage stores.
        """
        result = self._execute({"command": "create", "path": f"/memories{path}", "file_text": content})
        if result["is_error"] and not result["content"].endswith(" already exists"):
            raise MemoryFileError("invalid_request_error", result["content"].removeprefix("Error: "))
        return not result["is_error"]

    def _know(self, path: str, memory_id: str) -> None:
        if len(self._ids) >= _MAX_KNOWN:
            self._ids.clear()
        self._ids[path] = memory_id


def _rejection(error: Mapping[str, Any]) -> MemoryFileError:
    return MemoryFileError(error["type"], error["message"])


def _file(item: Mapping[str, Any]) -> MemoryFile:
    return MemoryFile(
        id=item["id"],
        path=item["path"],
        size=item["content_size_bytes"],
        sha256=item["content_sha256"],
        created_at=item["created_at"],
        changed_at=item["updated_at"],
        version_id=item["memory_version_id"],
        content=item.get("content"),
    )
