"""What schemathesis has to know of the admin API that an OpenAPI document cannot say."""

from __future__ import annotations

from typing import Any

import schemathesis
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import EnsureResourceAvailability, RejectedPositiveData

# What the state of the service or a rule across fields refuses, whatever the schema says.
_BY_STATE = {
    "refused",
    "over_quota",
    "history_incomplete",
    "precondition_failed",
    "precondition_required",
    "not_found",
    "tenant_exists",
    "idempotency_key_reused",
}
_DOOMED = "doomed"
# A URL or its headers.
_TOO_LONG = {414, 431}


@schemathesis.serializer("application/x-tar")
def archive(context: Any, value: Any) -> bytes:
    """Sends what is generated as it is: nearly always no archive, which the service has to refuse."""
    if isinstance(value, bytes):
        return value
    return str(value).encode("utf-8", "surrogatepass")


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Keeps the tenant that all other operations are tested on: only another one is erased or suspended."""
    operation = case.operation.definition.raw.get("operationId")
    if operation in {"deleteTenant", "suspendTenant"} and case.path_parameters.get("tenant") == "acme":
        case.path_parameters["tenant"] = _DOOMED


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """Accepts that valid data is refused for the state, and for rules that a schema does not show."""
    if response.status_code in _TOO_LONG:
        # It is refused before anybody looks at its method and parameters.
        return False
    if isinstance(failure, EnsureResourceAvailability) and _misses_path_of_body(case, response):
        # The tenant that was just created is there; the file is not.
        return False
    if not isinstance(failure, RejectedPositiveData):
        return True
    code = response.json().get("code")
    # A time, a path, a cursor and what has to go together are texts with rules of their own.
    return code not in _BY_STATE and code not in {"invalid_parameter", "unsupported_media_type"}


def _misses_path_of_body(case: Case[Any], response: Response) -> bool:
    if not isinstance(case.body, dict):
        return False
    paths = [value for value in case.body.values() if isinstance(value, str) and value.startswith("/memories")]
    detail = response.json()["detail"]
    return any(path in detail for path in paths)
