"""An agent's memory in one conversation."""

from __future__ import annotations

from .client import AsyncMemoryClient, MemoryClient
from .types import Context


class _BaseContext:
    guidance: str
    """Text for the system prompt, empty until the first call of `start` or `update`."""

    version: str | None
    """Version of the memory that the conversation shows. Save it to continue the conversation in another process."""

    def _keep(self, context: Context) -> str | None:
        self.guidance, self.version = context["guidance"], context["version"]
        return context["snapshot"] or context["changes"] or None


class MemoryContext(_BaseContext):
    """Keeps an agent's memory in one conversation: a snapshot at the start, and later only the changes."""

    def __init__(self, client: MemoryClient, version: str | None = None) -> None:
        """A context in a new conversation, or in one that continues with its saved `version`."""
        self._client = client
        self.guidance, self.version = "", version

    def start(self) -> str:
        """Returns the snapshot for the first message.

        Raises:
            MemoryServiceError: The service returns no context.
        """
        self.version = None
        return self.update() or ""

    def update(self) -> str | None:
        """Returns the text to append before the next message, or None if nothing changed.

        Raises:
            MemoryServiceError: The service returns no context.
        """
        return self._keep(self._client.context(since=self.version))


class AsyncMemoryContext(_BaseContext):
    """Keeps an agent's memory in one conversation, like `MemoryContext`, for asyncio."""

    def __init__(self, client: AsyncMemoryClient, version: str | None = None) -> None:
        """A context in a new conversation, or in one that continues with its saved `version`."""
        self._client = client
        self.guidance, self.version = "", version

    async def start(self) -> str:
        """Returns the snapshot for the first message, like `MemoryContext.start`."""
        self.version = None
        return await self.update() or ""

    async def update(self) -> str | None:
        """Returns the text to append before the next message, like `MemoryContext.update`."""
        return self._keep(await self._client.context(since=self.version))
