"""Client of the memory service, the backend for Claude's memory tool, and memory tools for the `anthropic` SDK."""

from ._version import __version__
from .client import AsyncMemoryClient, MemoryClient
from .context import AsyncMemoryContext, MemoryContext
from .errors import MemoryServiceError
from .search import MEMORY_SEARCH_TOOL, AsyncMemorySearchTool, MemorySearchTool
from .sharing import AsyncMemorySharing, MemorySharing
from .tools import AsyncMemoryServiceTool, MemoryServiceTool
from .types import ChangeEvent, ChangePage, Context, Identity, MemoryInput, MemoryResult, ToolUse

__all__ = [
    "MEMORY_SEARCH_TOOL",
    "AsyncMemoryClient",
    "AsyncMemoryContext",
    "AsyncMemorySearchTool",
    "AsyncMemoryServiceTool",
    "AsyncMemorySharing",
    "ChangeEvent",
    "ChangePage",
    "Context",
    "Identity",
    "MemoryClient",
    "MemoryContext",
    "MemoryInput",
    "MemoryResult",
    "MemorySearchTool",
    "MemoryServiceError",
    "MemoryServiceTool",
    "MemorySharing",
    "ToolUse",
    "__version__",
]
