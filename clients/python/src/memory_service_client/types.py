from __future__ import annotations

from typing import TypeAlias

from anthropic.types import ToolUseBlock, ToolUseBlockParam
from anthropic.types.beta import BetaToolUseBlock, BetaToolUseBlockParam
from typing_extensions import TypedDict

ToolUse: TypeAlias = BetaToolUseBlock | BetaToolUseBlockParam | ToolUseBlock | ToolUseBlockParam
"""A whole `tool_use` block, as the SDK gives it or as a dict."""


class MemoryResult(TypedDict):
    """What a memory command answered."""

    content: str
    """What the model should read."""

    is_error: bool
    """Whether `content` reports a failure."""
