"""Schemathesis hooks for rules in the Memory Stores API that OpenAPI cannot express."""

from __future__ import annotations

from collections import deque
from typing import Any

import schemathesis
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import EnsureResourceAvailability, RejectedPositiveData

# Statuses for an overlong URL or overlong headers.
_TOO_LONG = {414, 431}
_OK = 200
# Statuses for missing permissions, missing items, and rejections because of the store's state.
_REJECTED = {403, 404, 409}
# Operations that run on another store, so that the store that all other operations use is unchanged.
_ENDING = {"deleteMemoryStore", "archiveMemoryStore"}
_DOOMED = "doomed"

_memories: deque[str] = deque(maxlen=8)
_versions: deque[str] = deque(maxlen=8)


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Uses existing memories and versions in most requests."""
    operation = case.operation.definition.raw.get("operationId")
    parameters = case.path_parameters
    if operation in _ENDING and parameters.get("memory_store_id") == "acme":
        parameters["memory_store_id"] = _DOOMED
    turn = hash(case.id) % 4
    if "memory_id" in parameters and _memories and turn:
        parameters["memory_id"] = _memories[turn % len(_memories)]
    if "memory_version_id" in parameters and _versions and turn:
        parameters["memory_version_id"] = _versions[turn % len(_versions)]


@schemathesis.hook
def after_call(context: HookContext, case: Case[Any], response: Response) -> None:
    """Remembers the memories and versions that were created in the store."""
    operation = case.operation.definition.raw.get("operationId")
    if response.status_code == _OK and operation in {"createMemory", "updateMemory"}:
        memory = response.json()
        _memories.append(memory["id"])
        _versions.append(memory["memory_version_id"])


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """Accepts rejections of valid data because of the state or of rules that a schema cannot express."""
    if response.status_code in _TOO_LONG:
        # The service rejects the request before it checks the method and parameters.
        return False
    if isinstance(failure, EnsureResourceAvailability):
        # The request was sent to the other store, which was deleted before.
        return case.path_parameters.get("memory_store_id") != _DOOMED
    if not isinstance(failure, RejectedPositiveData):
        return True
    # Paths, times, and cursors have rules that a schema cannot express.
    return response.status_code not in _REJECTED and response.json()["error"]["type"] != "invalid_request_error"
