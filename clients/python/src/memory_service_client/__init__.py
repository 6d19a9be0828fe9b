"""Client of the memory service, the backend for Claude's memory tool, and memory tools for the `anthropic` SDK."""

from ._version import __version__
from .client import AsyncMemoryClient, MemoryClient
from .errors import MemoryServiceError
from .search import MEMORY_SEARCH_TOOL, AsyncMemorySearchTool, MemorySearchTool
from .tools import AsyncMemoryServiceTool, MemoryServiceTool
from .types import Identity, MemoryInput, MemoryResult, ToolUse

__all__ = [
    "MEMORY_SEARCH_TOOL",
    "AsyncMemoryClient",
    "AsyncMemorySearchTool",
    "AsyncMemoryServiceTool",
    "Identity",
    "MemoryClient",
    "MemoryInput",
    "MemoryResult",
    "MemorySearchTool",
    "MemoryServiceError",
    "MemoryServiceTool",
    "ToolUse",
    "__version__",
]
