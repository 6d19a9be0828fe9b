"""Adapter for Deep Agents: `from memory_service_client.deepagents import MemoryBackend`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TypeVar

from deepagents.backends import StoreBackend
from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from langgraph.store.memory import InMemoryStore

from .client import MemoryClient
from .errors import MemoryServiceError
from .files import MemoryFile, MemoryFileError

_NAMESPACE = ("memory",)
_R = TypeVar("_R")


class MemoryBackend(BackendProtocol):
    """A backend over the files of the memory, for `create_deep_agent(backend=...)` or a route of a `CompositeBackend`.

    Its path `/notes.md` is `/memories/notes.md` for the memory tool. Each method reads the files that it needs and runs
    the `StoreBackend` of Deep Agents on them, which defines the line ranges, globs, replacements, and errors.
    All files are text. A rejected call and a call without a result return an `error` with the message, and the
    conversation continues. The async methods of the protocol run these methods in a thread.
    """

    def __init__(self, client: MemoryClient) -> None:
        self._files = client.files()

    def ls(self, path: str) -> LsResult:
        def work() -> LsResult:
            directories, files = self._files.entries(_trimmed(path))
            infos = [FileInfo(path=f"{each}/", is_dir=True, size=0, modified_at="") for each in directories]
            return LsResult(entries=sorted([*infos, *map(_info, files)], key=lambda info: info["path"]))

        return _or_error(work, LsResult)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return _or_error(lambda: _over(self._at(file_path))[0].read(file_path, offset, limit), ReadResult)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Creates a file, or replaces its content."""

        def work() -> WriteResult:
            self._files.write(file_path, content)
            return WriteResult(path=file_path)

        return _or_error(work, WriteResult)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces a text. If another write changes the file at the same time, the new content is read and edited."""

        def work() -> EditResult:
            while True:
                files = self._at(file_path)
                backend, store = _over(files)
                result = backend.edit(file_path, old_string, new_string, replace_all)
                if result.error is not None:
                    return result
                item = store.get(_NAMESPACE, file_path)
                if item is None or self._files.replace(files[0], item.value["content"]):
                    return result

        return _or_error(work, EditResult)

    def delete(self, file_path: str) -> DeleteResult:
        """Deletes a file, or all files below a directory."""

        def work() -> DeleteResult:
            files = self._below(file_path)
            for file in files:
                self._files.delete(file)
            return DeleteResult(path=file_path) if files else DeleteResult(error=f"Error: File '{file_path}' not found")

        return _or_error(work, DeleteResult)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        def work() -> GrepResult:
            files = self._files.read_all(_trimmed(path or "/")) or self._at(path or "/")
            return _over(files)[0].grep(pattern, path, glob, max_count=max_count)

        return _or_error(work, GrepResult)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        def work() -> GlobResult:
            files = {file.path: file for file in self._below(path or "/")}
            empty = [dataclasses.replace(file, content="") for file in files.values()]
            found = _over(empty)[0].glob(pattern, path)
            if found.matches is not None:
                found.matches = [_info(files[match["path"]]) for match in found.matches]
            return found

        return _or_error(work, GlobResult)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=self._upload(path, content)) for path, content in files]

    def _upload(self, path: str, content: bytes) -> str | None:
        try:
            self._files.write(path, content.decode())
        except UnicodeDecodeError:
            return "a memory holds only text in UTF-8"
        except MemoryFileError as error:
            return "permission_denied" if error.code == "permission_error" else str(error)
        return None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            files = self._at(path)
        except MemoryFileError:
            return FileDownloadResponse(path=path, error="invalid_path")
        if not files:
            return FileDownloadResponse(path=path, error="file_not_found")
        return FileDownloadResponse(path=path, content=(files[0].content or "").encode())

    def _at(self, path: str) -> list[MemoryFile]:
        """Returns the file at a path as a list, which is empty if there is none."""
        file = self._files.read(path)
        return [] if file is None else [file]

    def _below(self, path: str) -> list[MemoryFile]:
        """Returns the file at a path, or all files below it."""
        top = _trimmed(path)
        below = self._files.list_all(top)
        if below or top == "/":
            return below
        file = self._files.find(top)
        return [] if file is None else [file]


def _over(files: Iterable[MemoryFile]) -> tuple[StoreBackend, InMemoryStore]:
    store = InMemoryStore()
    for file in files:
        value = {
            "content": file.content,
            "encoding": "utf-8",
            "created_at": file.created_at,
            "modified_at": file.changed_at,
        }
        store.put(_NAMESPACE, file.path, value)
    return StoreBackend(store=store, namespace=lambda _runtime: _NAMESPACE), store


def _info(file: MemoryFile) -> FileInfo:
    return FileInfo(path=file.path, is_dir=False, size=file.size, modified_at=file.changed_at)


def _trimmed(path: str) -> str:
    return path.rstrip("/") or "/"


def _or_error(work: Callable[[], _R], failed: Callable[..., _R]) -> _R:
    try:
        return work()
    except (MemoryFileError, MemoryServiceError) as error:
        return failed(error=f"Error: {error}")
