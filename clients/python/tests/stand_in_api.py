"""The tutorial's stand-in for the Messages API, as a process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from real_service import REPOSITORY


@contextmanager
def stand_in_api() -> Iterator[str]:
    """Runs examples/stand-in-api.ts on a free port and yields its URL."""
    process = subprocess.Popen(
        ["node", "--import", "tsx", "examples/stand-in-api.ts"],
        cwd=REPOSITORY,
        env={**os.environ, "STAND_IN_PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        _, listens, url = process.stdout.readline().partition(" listens on ")
        assert listens, "The stand-in did not start."
        yield url.strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
