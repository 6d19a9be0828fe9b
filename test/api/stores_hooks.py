"""What schemathesis has to know of the Memory Stores API that an OpenAPI document cannot say."""

from __future__ import annotations

from collections import deque
from typing import Any

import schemathesis
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import EnsureResourceAvailability, RejectedPositiveData

# A URL or its headers.
_TOO_LONG = {414, 431}
_OK = 200
# What the caller may not do, what is not there, and what the state of the store refuses.
_REFUSED = {403, 404, 409}
# Tested on another store, so that the one of all other operations stays as it is.
_ENDING = {"deleteMemoryStore", "archiveMemoryStore"}
_DOOMED = "doomed"

_memories: deque[str] = deque(maxlen=8)
_versions: deque[str] = deque(maxlen=8)


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Names memories and versions that there are, in most requests."""
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
    """Remembers what was made in the store."""
    operation = case.operation.definition.raw.get("operationId")
    if response.status_code == _OK and operation in {"createMemory", "updateMemory"}:
        memory = response.json()
        _memories.append(memory["id"])
        _versions.append(memory["memory_version_id"])


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """Accepts that valid data is refused for the state, and for rules that a schema does not show."""
    if response.status_code in _TOO_LONG:
        # It is refused before anybody looks at its method and parameters.
        return False
    if isinstance(failure, EnsureResourceAvailability):
        # Sent to the other store, which was deleted before.
        return case.path_parameters.get("memory_store_id") != _DOOMED
    if not isinstance(failure, RejectedPositiveData):
        return True
    # A path, a time and a cursor are texts with rules of their own.
    return response.status_code not in _REFUSED and response.json()["error"]["type"] != "invalid_request_error"
