from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from typing_extensions import override

from .client import AsyncMemoryClient, MemoryClient
from .errors import MemoryServiceError
from .types import MemoryInput, MemoryResult


class MemoryServiceTool(BetaAbstractMemoryTool):
    """Claude's memory tool on the memory service, for `client.beta.messages.tool_runner`.

    `call` sends the model's input unchanged, so that the service validates it instead of the SDK's models. It raises
    `ToolError` with the text for the model. This text is the service's message for a failure that the model can
    correct, or the reason why there is no result. In the second case, the cause is the `MemoryServiceError`.
    """

    def __init__(self, client: MemoryClient, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self.client = client

    @override
    def call(self, input: object) -> str:
        try:
            return _text(self.client.execute(_as_input(input)))
        except MemoryServiceError as error:
            raise _tool_error(error) from error

    @override
    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        return self.call(_fields(command))

    @override
    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self.execute(command)

    @override
    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self.execute(command)

    @override
    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self.execute(command)

    @override
    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self.execute(command)

    @override
    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self.execute(command)

    @override
    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self.execute(command)


class AsyncMemoryServiceTool(BetaAsyncAbstractMemoryTool):
    """`MemoryServiceTool` for `AsyncAnthropic`."""

    def __init__(
        self, client: AsyncMemoryClient, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.client = client

    @override
    async def call(self, input: object) -> str:
        try:
            return _text(await self.client.execute(_as_input(input)))
        except MemoryServiceError as error:
            raise _tool_error(error) from error

    @override
    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        return await self.call(_fields(command))

    @override
    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self.execute(command)

    @override
    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self.execute(command)

    @override
    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self.execute(command)

    @override
    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self.execute(command)

    @override
    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self.execute(command)

    @override
    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self.execute(command)


def _as_input(value: object) -> MemoryInput:
    if isinstance(value, Mapping):
        # Any input of the model is sent, because the service explains its errors.
        return cast(MemoryInput, value)
    raise TypeError(f"a memory tool input is a dict, not {type(value).__name__}")


def _fields(command: BetaMemoryTool20250818Command) -> dict[str, object]:
    return command.to_dict(mode="python", warnings=False)


def _text(result: MemoryResult) -> str:
    if result["is_error"]:
        raise ToolError(result["content"])
    return result["content"]


def _tool_error(error: MemoryServiceError) -> ToolError:
    # For any other exception, the runner shows its `repr` to the model, and logs a traceback for each call of an
    # outage.
    return ToolError(f"Error: {error}")
