"""Type checks for the documents' snippets and for wrong calls."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from test_documents import DOCUMENTS, snippets

CHECKERS = [["mypy", "--strict", "--config-file="], ["pyright", "--pythonpath", sys.executable]]
WRONG_CALLS = """from memory_service_client import MemoryClient

memory = MemoryClient("http://localhost:8080")
memory.execute({"command": "veiw", "path": "/memories"})
memory.execute({"command": "view"})
memory.execute({"command": "create", "path": "/memories/a", "file_txt": "x"})
memory.execute({"command": "insert", "path": "/memories/a", "insert_line": "1", "insert_text": "x"})
memory.execute({"command": "view", "path": "/memories", "view_range": [1, -1]})
"""


def check(checker: list[str], directory: Path, files: dict[str, str]) -> tuple[int, str]:
    for name, code in files.items():
        (directory / name).write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *checker, *files],
        cwd=directory,
        # Otherwise pyright prints a warning about a newer version.
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("checker", CHECKERS, ids=["mypy", "pyright"])
def test_the_snippets_of_the_documents_type_check(checker: list[str], tmp_path: Path) -> None:
    files = {
        f"snippet_{document.replace('/', '_').removesuffix('.md')}_{number}.py": code
        for document in DOCUMENTS
        for number, code in enumerate(snippets(document), 1)
    }
    assert len(files) == 11
    assert check(checker, tmp_path, files)[0] == 0


@pytest.mark.parametrize("checker", CHECKERS, ids=["mypy", "pyright"])
def test_wrong_inputs_fail_the_type_check(checker: list[str], tmp_path: Path) -> None:
    code, output = check(checker, tmp_path, {"wrong.py": WRONG_CALLS})
    assert code == 1
    errors = re.findall(r"wrong\.py:(\d+).* error: ", output)
    assert sorted(set(errors)) == ["4", "5", "6", "7"]
