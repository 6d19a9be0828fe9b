"""Schemathesis hooks for rules in the memory API that OpenAPI cannot express."""

from __future__ import annotations

import os
import re
from http import HTTPStatus
from typing import Any

import schemathesis
from schemathesis import Case, GenerationMode, HookContext, Response
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import RejectedPositiveData

_MAX_KEY = 255
_MAX_ID = 255
# Statuses for an overlong URL or overlong headers.
_TOO_LONG = {414, 431}
# Shares that have not ended.
_shares: set[str] = set()
_VALID_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Makes idempotency keys unique, and uses existing shares in each request, and an invitation in half of them.

    Two writes under one key would be one write, or a 422.
    """
    key = case.headers.get("idempotency-key")
    # An invalid key must remain invalid, because the service might accept a shortened key.
    if isinstance(key, str) and _VALID_KEY.fullmatch(key):
        case.headers["idempotency-key"] = key[: _MAX_KEY - len(case.id)] + case.id
    share = case.path_parameters.get("share")
    # An invalid ID must remain invalid.
    if isinstance(share, str) and 0 < len(share) <= _MAX_ID and _shares:
        case.path_parameters["share"] = _shares.pop()
    # A repeated acceptance under the same name succeeds, and a tenant has at most 16 mounts.
    is_valid = case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE
    if is_valid and case.operation.path == "/v1/shares" and isinstance(case.body, dict) and hash(case.id) % 2:
        case.body |= {"token": os.environ["API_INVITATION"], "name": "team"}
    for block in case.body if isinstance(case.body, list) else [case.body]:
        if isinstance(block, dict):
            tool_use_id = block.get("id")
            if isinstance(tool_use_id, str) and tool_use_id:
                block["id"] = tool_use_id + case.id


@schemathesis.hook
def after_call(context: HookContext, case: Case[Any], response: Response) -> None:
    """Remembers the shares that were accepted."""
    if response.status_code == HTTPStatus.CREATED and case.operation.path == "/v1/shares":
        _shares.add(response.json()["id"])


@schemathesis.hook
def filter_failure(context: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """Accepts responses that the contract requires. All others are failures."""
    if response.status_code in _TOO_LONG:
        # The service rejects the request before it checks the parameters.
        return False
    if isinstance(failure, AcceptedNegativeData):
        # Invalid input from a model is rejected with a result that the model can read.
        return not _reports_error(response)
    if isinstance(failure, RejectedPositiveData):
        if response.status_code != HTTPStatus.BAD_REQUEST:
            return True
        code = response.json()["code"]
        # Cursors, paths, mount names, and parameters that exclude each other have rules that a schema cannot express.
        paths = ("/v1/changes", "/v1/invitations", "/v1/shares")
        has_other_rules = case.operation.path in paths and code == "invalid_parameter"
        # Whether the header is required depends on the key.
        return code != "tenant_required" and not has_other_rules
    return True


def _reports_error(response: Response) -> bool:
    if response.status_code != 200:
        return False
    # Present with `Accept: text/plain`.
    flag = response.headers.get("x-memory-is-error")
    if flag is not None:
        return flag == ["true"]
    answer = response.json()
    return any(result.get("is_error") is True for result in (answer if isinstance(answer, list) else [answer]))
