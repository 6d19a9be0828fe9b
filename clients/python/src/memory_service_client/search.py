from __future__ import annotations

import uuid
from typing import cast

from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaToolParam,
    BetaToolResultBlockParam,
    BetaToolUseBlockParam,
)
from typing_extensions import override

from ._definitions import SEARCH_DEFINITION
from .client import AsyncMemoryClient, MemoryClient
from .errors import MemoryServiceError

MEMORY_SEARCH_TOOL = SEARCH_DEFINITION
"""The tool `memory_search`, for the `tools` of a request to the Messages API."""


class MemorySearchTool(BetaBuiltinFunctionTool):
    """Search in a memory: `tools=[MemoryServiceTool(memory), MemorySearchTool(memory)]`.

    `call` raises `ToolError` with the text for the model, like `MemoryServiceTool`.
    """

    def __init__(self, client: MemoryClient, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        self.client = client
        self._cache_control = cache_control

    @override
    def to_dict(self) -> BetaToolParam:
        return _definition(self._cache_control)

    @override
    def call(self, input: object) -> str:
        try:
            return _text(self.client.execute(_block(input)))
        except MemoryServiceError as error:
            raise ToolError(f"Error: {error}") from error


class AsyncMemorySearchTool(BetaAsyncBuiltinFunctionTool):
    """`MemorySearchTool` for `AsyncAnthropic`."""

    def __init__(
        self, client: AsyncMemoryClient, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        self.client = client
        self._cache_control = cache_control

    @override
    def to_dict(self) -> BetaToolParam:
        return _definition(self._cache_control)

    @override
    async def call(self, input: object) -> str:
        try:
            return _text(await self.client.execute(_block(input)))
        except MemoryServiceError as error:
            raise ToolError(f"Error: {error}") from error


def _definition(cache_control: BetaCacheControlEphemeralParam | None) -> BetaToolParam:
    return MEMORY_SEARCH_TOOL if cache_control is None else {**MEMORY_SEARCH_TOOL, "cache_control": cache_control}


def _block(value: object) -> BetaToolUseBlockParam:
    # Any input of the model is sent, because the service explains its errors. A search is read-only, so any ID is
    # valid.
    return {
        "type": "tool_use",
        "id": str(uuid.uuid4()),
        "name": "memory_search",
        "input": cast("dict[str, object]", value),
    }


def _text(result: BetaToolResultBlockParam) -> str:
    content = cast(str, result.get("content"))
    if result.get("is_error"):
        raise ToolError(content)
    return content
