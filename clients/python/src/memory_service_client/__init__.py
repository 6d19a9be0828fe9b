"""Client of the memory service, the backend for Claude's memory tool, and memory tools for the `anthropic` SDK."""

from ._version import __version__
from .client import AsyncMemoryClient, MemoryClient
from .errors import MemoryServiceError
from .tools import AsyncMemoryServiceTool, MemoryServiceTool
from .types import MemoryInput, MemoryResult, ToolUse

__all__ = [
    "AsyncMemoryClient",
    "AsyncMemoryServiceTool",
    "MemoryClient",
    "MemoryInput",
    "MemoryResult",
    "MemoryServiceError",
    "MemoryServiceTool",
    "ToolUse",
    "__version__",
]
