"""Store for pydantic-ai-harness: `from memory_service_client.pydantic_ai_harness import MemoryServiceStore`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import islice, takewhile
from typing import TypeVar

from anyio import to_thread
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai_harness.memory import (
    InMemoryStore,
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchResult,
)

from . import files
from .client import MemoryClient

_RECEIPTS = ".memory-operations"
_BUCKETS = 64
_RECEIPTS_IN_BUCKET = 16
_MAX_KNOWN = 10_000
"""Number of versions whose operations are remembered."""

_SEGMENT = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_R = TypeVar("_R")


class MemoryServiceStore:
    """A store over the files of the memory, for `Memory(store)`.

    Its path `main/MEMORY.md` is `/memories/main/MEMORY.md` for the memory tool.

    Versions are version IDs in the history. A write requires that the file still has the content of the expected
    version, so it never replaces another change. A write to a file that is renamed at the same time follows the file.

    The service stores no results for writes with a precondition, so the receipts are files in
    `/memories/.memory-operations`, about 1,000 of them. A receipt is created before its write and completed after it.
    If a process ends between the two, the history shows whether the write was applied. Without a history
    (`HISTORY_DAYS=0`), only the current version shows it.

    The service stores no metadata for a write, so `Memory(write_metadata=...)` rejects this store. `read` returns the
    `operation_id` only for writes by the same object.

    A rejected call, such as a write with a read-only key, raises `ToolFailed` for the model. A call without a result
    raises `MemoryServiceError`, which ends the run.
    """

    def __init__(self, client: MemoryClient) -> None:
        self._files = client.files()
        self._receipts = _Receipts(self._files)
        self._operations: dict[str, str] = {}

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        _validate(path)
        _validate_bound("max_chars", max_chars)
        file = await _run(lambda: self._files.read(f"/{path}"))
        if file is None:
            return None
        content = file.content or ""
        return MemoryFile(
            content=content[:max_chars],
            version=file.version_id,
            operation_id=self._operations.get(file.version_id),
            truncated=len(content) > max_chars,
        )

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        return await _run(lambda: self._receipts.replay(operation))

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Creates or replaces a file if its version is the expected one. None expects no file."""
        mutation = await self._mutate(path, content, expected_version, operation)
        if operation is not None and mutation.version is not None:
            if len(self._operations) >= _MAX_KNOWN:
                self._operations.clear()
            self._operations[mutation.version] = operation.id
        return mutation

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Deletes a file if its version is the expected one. None expects no file."""
        return await self._mutate(path, None, expected_version, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        _validate_prefix(prefix)
        _validate_bound("limit", limit)

        def work() -> list[str]:
            below = self._files.walk(_directory(prefix))
            return list(islice((file.path[1:] for file in below if _is_listed(file, prefix)), limit))

        return await _run(work)

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """Reads the files directly below the prefix and runs the search of `InMemoryStore` on them."""
        _validate_prefix(prefix)
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult(matches=[], scanned=0, truncated=False)

        def work() -> dict[str, str]:
            direct = (file for file in self._files.read_direct(_directory(prefix)) if _is_listed(file, prefix))
            return {file.path[1:]: file.content or "" for file in islice(direct, max_files + 1)}

        found = InMemoryStore(await _run(work))
        return await found.search(
            prefix, query, limit=limit, max_files=max_files, max_chars=max_chars, max_file_chars=max_file_chars
        )

    async def _mutate(
        self, path: str, content: str | None, expected: str | None, operation: MemoryOperation | None
    ) -> MemoryMutation:
        _validate(path)

        def work() -> MemoryMutation | None:
            if operation is None:
                return self._apply(path, content, expected)
            claim = self._receipts.claim(operation, path, content, existed=expected is not None)
            if isinstance(claim, MemoryMutation):
                return claim
            mutation = self._apply(path, content, expected)
            if mutation is None:
                # The change may be this write, if its response was lost and it was sent again.
                return self._receipts.replay(operation)
            self._receipts.complete(claim, mutation)
            return mutation

        mutation = await _run(work)
        if mutation is None:
            raise MemoryConflictError(f"memory path {path!r} changed before the write")
        return mutation

    def _apply(self, path: str, content: str | None, expected: str | None) -> MemoryMutation | None:
        """Writes the file or, without a content, deletes it. Returns None if its version is not the expected one."""
        file = self._files.read(f"/{path}")
        if (None if file is None else file.version_id) != expected:
            return None
        version = None
        if content is not None:
            written = self._files.create(f"/{path}", content) if file is None else self._files.replace(file, content)
            if written is None:
                return None
            version = written.version_id
        elif file is not None and not self._files.delete_unchanged(file):
            return None
        return MemoryMutation(version=version, replayed=False, existed=file is not None)


@dataclass(frozen=True)
class _Receipt:
    """The record of an operation, as the JSON content of a file."""

    fingerprint: str
    path: str
    existed: bool
    results: list[str | None]
    """SHA-256 of the content that each attempt writes; None for a deletion."""

    after: str = ""
    """ID of the receipt's version at the first attempt. Empty until a second attempt replaces that version."""

    is_complete: bool = False
    version: str | None = None

    def encode(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class _Claim:
    """A receipt before its write, and its file."""

    file: files.MemoryFile
    receipt: _Receipt


class _Receipts:
    """The receipts of operations, as files in buckets. A full bucket loses its oldest receipts."""

    def __init__(self, memory: files.MemoryFiles) -> None:
        self._files = memory

    def replay(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Returns the result of an operation that was applied.

        Raises:
            MemoryOperationConflictError: The operation has another fingerprint.
        """
        _, file = self._find(operation)
        return None if file is None else self._result(file, _decode(file, operation))

    def claim(
        self, operation: MemoryOperation, path: str, content: str | None, *, existed: bool
    ) -> MemoryMutation | _Claim:
        """Records that an operation is about to write. Returns its result if it was applied."""
        result = None if content is None else hashlib.sha256(content.encode()).hexdigest()
        while True:
            others, file = self._find(operation)
            if file is None:
                receipt = _Receipt(operation.fingerprint, path, existed, [result])
                written = self._files.create(_receipt_path(operation), receipt.encode())
            else:
                known = _decode(file, operation)
                mutation = self._result(file, known)
                if mutation is not None:
                    return mutation
                after = known.after or file.version_id
                receipt = replace(known, existed=existed, results=[*known.results, result], after=after)
                written = self._files.replace(file, receipt.encode())
            # Otherwise another process has changed the receipt.
            if written is not None:
                self._prune(others)
                return _Claim(written, receipt)

    def complete(self, claim: _Claim, mutation: MemoryMutation) -> None:
        receipt = replace(claim.receipt, is_complete=True, version=mutation.version)
        self._files.replace(claim.file, receipt.encode())

    def _prune(self, others: list[files.MemoryFile]) -> None:
        """Makes room in a bucket for one receipt."""
        newest_first = sorted(others, key=lambda file: file.created_at, reverse=True)
        for file in newest_first[_RECEIPTS_IN_BUCKET - 1 :]:
            self._files.delete(file)

    def _find(self, operation: MemoryOperation) -> tuple[list[files.MemoryFile], files.MemoryFile | None]:
        """Returns the other receipts in the bucket of an operation, and its receipt."""
        path = _receipt_path(operation)
        bucket = self._files.read_all(path.rpartition("/")[0])
        found = next((file for file in bucket if file.path == path), None)
        return [file for file in bucket if file is not found], found

    def _result(self, file: files.MemoryFile, receipt: _Receipt) -> MemoryMutation | None:
        if receipt.is_complete:
            return MemoryMutation(version=receipt.version, replayed=True, existed=receipt.existed)
        after = receipt.after or file.version_id
        # IDs of versions follow the order of the changes.
        for version in takewhile(lambda version: version.id > after, self._files.versions()):
            if version.path == f"/{receipt.path}" and version.sha256 in receipt.results:
                applied = None if version.sha256 is None else version.id
                return MemoryMutation(version=applied, replayed=True, existed=receipt.existed)
        return None


def _receipt_path(operation: MemoryOperation) -> str:
    name = hashlib.sha256(operation.id.encode()).hexdigest()
    return f"/{_RECEIPTS}/{int(name[:8], 16) % _BUCKETS}/{name}"


def _decode(file: files.MemoryFile, operation: MemoryOperation) -> _Receipt:
    receipt = _Receipt(**json.loads(file.content or ""))
    if receipt.fingerprint != operation.fingerprint:
        raise MemoryOperationConflictError(f"operation id {operation.id!r} was reused with different arguments")
    return receipt


def _directory(prefix: str) -> str:
    return f"/{prefix.rpartition('/')[0]}"


def _is_listed(file: files.MemoryFile, prefix: str) -> bool:
    path = file.path[1:]
    return path.startswith(prefix) and _is_valid(path)


def _is_valid(path: str) -> bool:
    segments = path.split("/")
    are_valid = all(_SEGMENT.fullmatch(each) and ".." not in each and each != "." for each in segments)
    return are_valid and segments[0] != _RECEIPTS


def _validate(path: str) -> None:
    if not _is_valid(path):
        raise ValueError(f"invalid memory path: {path!r}")


def _validate_prefix(prefix: str) -> None:
    if prefix:
        _validate(prefix.removesuffix("/"))


def _validate_bound(name: str, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{name} must be positive")


async def _run(work: Callable[[], _R]) -> _R:
    """Runs requests in a thread, because the client waits for their responses."""
    try:
        return await to_thread.run_sync(work)
    except files.MemoryFileError as error:
        raise ToolFailed(str(error)) from error
