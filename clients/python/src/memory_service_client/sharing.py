"""Sharing: invitations to mount the memory, and shares with other tenants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, cast

from typing_extensions import NotRequired, TypedDict

Access = Literal["read_only", "propose", "read_write"]


class Invitation(TypedDict):
    """An invitation to mount the tenant's memory. A later version of the service may add fields."""

    id: str
    access: Access
    prefix: NotRequired[str]
    """File or directory that is shared; missing for the whole memory."""
    reusable: bool
    """Whether several tenants may accept it."""
    accepted: int
    """Number of acceptances."""
    key: str | None
    """Key that created it; None for an operator."""
    created_at: str
    expires_at: str


class NewInvitation(Invitation):
    token: str
    """Shown only once."""


class GivenShare(TypedDict):
    """A share of this tenant's memory with another tenant."""

    id: str
    tenant: str
    access: Access
    prefix: NotRequired[str]
    """File or directory that is shared; missing for the whole memory."""
    invitation: str
    created_at: str


class ReceivedShare(TypedDict):
    """A share of another tenant's memory with this tenant."""

    id: str
    tenant: str
    path: str
    """The directory: `/memories/team`."""
    access: Access
    prefix: NotRequired[str]
    """File or directory in the other memory that is shared; missing for the whole memory."""
    status: str
    """`ok`, `suspended`, `missing`, `name_taken`, or a value of a later version of the service."""
    created_at: str


class Shares(TypedDict):
    given: list[GivenShare]
    received: list[ReceivedShare]


def _invitation(
    access: Access, prefix: str | None, reusable: bool, expires_in_seconds: int | None
) -> dict[str, object]:
    optional = {"prefix": prefix, "expires_in_seconds": expires_in_seconds}
    given = {name: value for name, value in optional.items() if value is not None}
    return {"access": access, "reusable": reusable, **given}


class MemorySharing:
    """Shares the memory with other tenants, and accepts their invitations, without an operator.

    The key needs `can_share`. Each method makes one attempt, and raises `MemoryServiceError`. If an acceptance has no
    response, look at `list` before you repeat it, because an invitation may be valid only once.
    """

    def __init__(self, send: Callable[..., Mapping[str, Any]]) -> None:
        self._send = send

    def invite(
        self,
        *,
        access: Access = "read_only",
        prefix: str | None = None,
        reusable: bool = False,
        expires_in_seconds: int | None = None,
    ) -> NewInvitation:
        """Creates an invitation. Its `token` is returned only here.

        Args:
            access: Access to the memory for the tenants that accept.
            prefix: File or directory that is shared, with everything below it; by default, the whole memory.
            reusable: Whether several tenants may accept the invitation.
            expires_in_seconds: Time until it expires; 7 days by default.
        """
        body = _invitation(access, prefix, reusable, expires_in_seconds)
        return cast(NewInvitation, self._send("POST", "invitations", body))

    def list_invitations(self) -> list[Invitation]:
        """Lists the invitations that are neither used nor expired."""
        return cast("list[Invitation]", self._send("GET", "invitations")["invitations"])

    def revoke(self, id: str) -> None:
        """Revokes an invitation. Shares that were accepted before remain."""
        self._send("DELETE", "invitations", id=id)

    def accept(self, token: str, name: str, *, instructions: str = "") -> ReceivedShare:
        """Accepts an invitation: the other tenant's memory becomes a directory.

        Args:
            token: The invitation's token.
            name: Name of the directory below `/memories`.
            instructions: Purpose of the directory, in words for the model.
        """
        body = {"token": token, "name": name, "instructions": instructions}
        return cast(ReceivedShare, self._send("POST", "shares", body))

    def list(self) -> Shares:
        """Lists with whom the tenant shares its memory, and who shares with it."""
        return cast(Shares, self._send("GET", "shares"))

    def end(self, id: str) -> None:
        """Ends a share that the tenant gives or receives."""
        self._send("DELETE", "shares", id=id)


class AsyncMemorySharing:
    """`MemorySharing` for `AsyncMemoryClient`."""

    def __init__(self, send: Callable[..., Awaitable[Mapping[str, Any]]]) -> None:
        self._send = send

    async def invite(
        self,
        *,
        access: Access = "read_only",
        prefix: str | None = None,
        reusable: bool = False,
        expires_in_seconds: int | None = None,
    ) -> NewInvitation:
        """Creates an invitation, like `MemorySharing.invite`."""
        body = _invitation(access, prefix, reusable, expires_in_seconds)
        return cast(NewInvitation, await self._send("POST", "invitations", body))

    async def list_invitations(self) -> list[Invitation]:
        """Lists the invitations that are neither used nor expired."""
        return cast("list[Invitation]", (await self._send("GET", "invitations"))["invitations"])

    async def revoke(self, id: str) -> None:
        """Revokes an invitation. Shares that were accepted before remain."""
        await self._send("DELETE", "invitations", id=id)

    async def accept(self, token: str, name: str, *, instructions: str = "") -> ReceivedShare:
        """Accepts an invitation, like `MemorySharing.accept`."""
        body = {"token": token, "name": name, "instructions": instructions}
        return cast(ReceivedShare, await self._send("POST", "shares", body))

    async def list(self) -> Shares:
        """Lists with whom the tenant shares its memory, and who shares with it."""
        return cast(Shares, await self._send("GET", "shares"))

    async def end(self, id: str) -> None:
        """Ends a share that the tenant gives or receives."""
        await self._send("DELETE", "shares", id=id)
