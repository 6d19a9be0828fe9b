"""Runs all Memory Stores API operations in the built service with the installed `anthropic` package."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import anthropic
from anthropic import Anthropic
from real_service import make_key, running_service


def drive(client: Anthropic) -> None:
    stores = client.beta.memory_stores
    store = stores.create(name="Notes", description="Of one user", metadata={"user": "ada"})
    assert (store.type, store.name, store.metadata) == ("memory_store", "Notes", {"user": "ada"})
    assert stores.retrieve(store.id) == store
    assert stores.update(store.id, metadata={"user": None, "team": "x"}).metadata == {"team": "x"}
    assert store.id in [each.id for each in stores.list(limit=1, created_at_gte=store.created_at)]

    memory = stores.memories.create(store.id, path="/a.md", content="one")
    assert (memory.path, memory.content, memory.content_size_bytes) == ("/a.md", None, 3)
    assert stores.memories.retrieve(memory.id, memory_store_id=store.id).content == "one"
    condition = {"type": "content_sha256", "content_sha256": memory.content_sha256}
    updated = stores.memories.update(
        memory.id, memory_store_id=store.id, content="two", path="/b/c.md", view="full", precondition=condition
    )
    assert (updated.id, updated.path, updated.content) == (memory.id, "/b/c.md", "two")
    try:
        stores.memories.update(memory.id, memory_store_id=store.id, content="three", precondition=condition)
        raise AssertionError("the precondition does not hold")
    except anthropic.ConflictError as error:
        assert error.body["error"]["type"] == "memory_precondition_failed_error"  # type: ignore[index]
    assert [(each.type, each.path) for each in stores.memories.list(store.id, depth=1)] == [("memory_prefix", "/b/")]

    versions = list(stores.memory_versions.list(store.id, limit=1, view="full", created_at_gte=store.created_at))
    assert [(each.operation, each.content) for each in versions] == [("modified", "two"), ("created", "one")]
    first = versions[-1]
    assert stores.memory_versions.retrieve(first.id, memory_store_id=store.id) == first
    redacted = stores.memory_versions.redact(first.id, memory_store_id=store.id)
    assert redacted.redacted_at is not None and redacted.content is None and redacted.path is None
    assert stores.memories.delete(memory.id, memory_store_id=store.id).type == "memory_deleted"

    assert stores.archive(store.id).archived_at is not None
    assert stores.delete(store.id).type == "memory_store_deleted"
    try:
        stores.retrieve(store.id)
        raise AssertionError("the store is deleted")
    except anthropic.NotFoundError as error:
        assert error.request_id is not None


def main() -> int:
    with tempfile.TemporaryDirectory() as name, running_service(Path(name), AUTH="keys") as url:
        key = make_key(Path(name), "--service", "--manage-stores")
        drive(Anthropic(base_url=url, api_key=key, max_retries=0))
    print(f"anthropic {anthropic.__version__}: all operations on memory stores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
