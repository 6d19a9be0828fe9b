"""The real service, started from the repository's build."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
CLI = Path(os.environ.get("MEMORY_SERVICE_CLI", REPOSITORY / "dist" / "main.js"))
_START_TIMEOUT = 120.0


def _environment(data_dir: Path, **settings: str) -> dict[str, str]:
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**base, "HOST": "127.0.0.1", "PORT": "0", "DATA_DIR": str(data_dir), **settings}


@contextmanager
def running_service(data_dir: Path, **settings: str) -> Iterator[str]:
    """Runs the service on the embedded database in `data_dir`, and yields its URL."""
    process = subprocess.Popen(
        ["node", CLI, "serve"],
        env=_environment(data_dir, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    log: list[str] = []
    url: list[str] = []
    known = threading.Event()

    def follow(lines: Iterator[str]) -> None:
        for line in lines:
            log.append(line)
            found = re.search(r"Server listening at (http://127\.0\.0\.1:\d+)", line)
            if found:
                url.append(found[1])
                known.set()
        known.set()

    reader = threading.Thread(target=follow, args=[process.stdout])
    reader.start()
    try:
        known.wait(_START_TIMEOUT)
        assert url, f"The service did not start:\n{''.join(log)}"
        yield url[0]
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        process.stdout.close()


def run_command(data_dir: Path, *arguments: str) -> str:
    """Runs a CLI command while the service runs on `data_dir`, and returns its output."""
    done = subprocess.run(
        ["node", CLI, *arguments],
        env=_environment(data_dir),
        capture_output=True,
        text=True,
        check=False,
        timeout=_START_TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_key(data_dir: Path, *scope: str) -> str:
    """Creates an API key for `--service` or for `--tenant` and an ID, while the service runs on `data_dir`."""
    key: str = json.loads(run_command(data_dir, "keys", "create", *scope, "--json"))["key"]
    return key
