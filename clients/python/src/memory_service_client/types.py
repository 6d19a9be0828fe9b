from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from anthropic.types import ToolUseBlock, ToolUseBlockParam
from anthropic.types.beta import BetaToolUseBlock, BetaToolUseBlockParam
from typing_extensions import NotRequired, TypedDict

ToolUse: TypeAlias = BetaToolUseBlock | BetaToolUseBlockParam | ToolUseBlock | ToolUseBlockParam
"""A complete `tool_use` block, as an SDK object or a dict."""


class ViewInput(TypedDict):
    """Shows a directory two levels deep with sizes, or a file with line numbers."""

    command: Literal["view"]
    path: str
    view_range: NotRequired[Sequence[int] | None]
    """First and last line, 1-based and inclusive; -1 as the last means the end. Ignored for a directory."""


class CreateInput(TypedDict):
    """Creates a file. Its path must not exist."""

    command: Literal["create"]
    path: str
    file_text: str


class StrReplaceInput(TypedDict):
    """Replaces a text that occurs exactly once in a file. Without `new_str`, deletes the text."""

    command: Literal["str_replace"]
    path: str
    old_str: str
    new_str: NotRequired[str | None]


class InsertInput(TypedDict):
    """Inserts lines into a file after line `insert_line`; 0 inserts at the start of the file."""

    command: Literal["insert"]
    path: str
    insert_line: int
    insert_text: str


class DeleteInput(TypedDict):
    """Deletes a file, or a directory with everything in it."""

    command: Literal["delete"]
    path: str


class RenameInput(TypedDict):
    """Renames or moves a file or directory. Never overwrites a file."""

    command: Literal["rename"]
    old_path: str
    new_path: str


MemoryInput: TypeAlias = ViewInput | CreateInput | StrReplaceInput | InsertInput | DeleteInput | RenameInput
"""An input of the memory tool."""


class MemoryResult(TypedDict):
    """The result of a memory command."""

    content: str
    """The text for the model."""

    is_error: bool
    """Whether `content` reports a failure."""


class Credential(TypedDict):
    kind: Literal["tenant_key", "service_key", "token", "none"]
    """`none` means that the service has no authentication."""

    id: str | None
    """ID of the API key. None for other credentials."""

    label: str | None
    """Label of the API key. None for other credentials."""

    subject: str | None
    """Subject of the JSON Web Token. None for other credentials."""


class IdentityTenant(TypedDict):
    id: str

    exists: bool
    """False if the first write will create the tenant."""

    archived: bool
    """Whether its files can only be read and deleted."""


class PathRight(TypedDict):
    path: str
    access: str
    """`none`, `read_only`, `propose`, `read_write`, or a value of a later version of the service."""


class Rights(TypedDict):
    access: str
    """`read_write`, `propose`, `read_only`, or a value of a later version of the service."""

    creates_tenants: bool
    manages_stores: bool
    paths: NotRequired[list[PathRight]]
    """Rights by path; the longest path applies. Missing in earlier versions of the service."""
    can_share: bool


class Identity(TypedDict):
    """The caller as the service identifies it. A later version of the service may add fields."""

    credential: Credential
    tenant: IdentityTenant
    rights: Rights

    limits: dict[str, int]
    """Limits by name; 0 means no limit."""

    settings: dict[str, str]
    mounts: list[dict[str, object]]

    version: str
    """Version of the service."""


class Context(TypedDict):
    """Texts for an agent before its first token. A later version of the service may add fields."""

    guidance: str
    """Text for the system prompt. It changes only with settings, mounts, and the service's release."""

    snapshot: str | None
    """Text for the first message: pinned files, and a list of the other files. None if `changes` is a text."""

    changes: str | None
    """Text to append since the given version, empty if nothing changed. None without a version, or if not known."""

    version: str
    """Version of the memory, for `since` in the next call."""


ChangeType: TypeAlias = Literal[
    "created",
    "modified",
    "renamed",
    "deleted",
    "restored",
    "redacted",
    "tenant_created",
    "tenant_suspended",
    "tenant_resumed",
    "tenant_renamed",
    "tenant_deleted",
    "limit_near",
    "draft_opened",
    "draft_merged",
    "draft_rejected",
    "share_created",
    "share_ended",
]
"""A later version of the service may add types."""

Actor: TypeAlias = dict[str, str | None]
"""The actor that made a change, such as `{"type": "api_key", "id": …, "label": …}`."""


class Version(TypedDict):
    """A change to one file. A later version of the service may add fields."""

    id: str

    memory_id: str
    """Identifies the file across edits and renames."""

    operation: str

    path: str | None
    """Path after the change, or the last path of a deleted file. None once redacted."""

    previous_path: str | None

    previous_version: str | None
    """The version that it replaced. None if there was none or it has been pruned."""

    content_sha256: str | None
    content_size_bytes: int | None

    created_at: str
    """ISO 8601."""

    actor: Actor
    request_id: str | None
    tool_use_id: str | None

    via_tenant: str | None
    """The tenant that mounts this memory, if the change came through its mount."""

    source: str | None

    draft: str | None
    """The draft from which the version was merged."""

    approved_by: Actor | None
    redacted_at: str | None
    redacted_by: Actor | None


class DraftState(TypedDict):
    id: str

    state: str
    """`open`, `merged`, `replaced`, `rejected`, or `expired`."""


class ShareState(TypedDict):
    id: str

    access: str
    """`read_only`, `propose`, or `read_write`."""


class ChangeEvent(TypedDict):
    """A change to a file, or another event of the tenant. A later version of the service may add fields."""

    cursor: str
    """Position after the event. Save it when you have handled the event, and continue with `after`."""

    type: ChangeType
    tenant: str

    at: str
    """ISO 8601."""

    actor: Actor

    version: NotRequired[Version]
    """For a change to a file: the version that the change created, or the redacted version."""

    content: NotRequired[str | None]
    """With `content=True`: the content after the change. None for a deletion, or once redacted or pruned."""

    draft: NotRequired[DraftState]
    """For an event of a draft."""

    share: NotRequired[ShareState]
    """The invitation that the tenant accepted, or the share that ended."""

    limit: NotRequired[Literal["files", "bytes"]]
    """The limit that the tenant's usage has nearly reached."""

    used_percent: NotRequired[int]

    previous_tenant: NotRequired[str]
    """For `tenant_renamed`: the tenant's ID before the rename."""


class ChangePage(TypedDict):
    events: list[ChangeEvent]

    cursor: str
    """Position after the page."""

    has_more: bool
    """Whether there are more events already."""
