"""Generates clients from openapi.yaml, checks their callers' types, and runs the callers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_service import REPOSITORY, running_service

HERE = Path(__file__).parent
CALLERS = HERE / "callers"
DOCUMENT = str(REPOSITORY / "openapi.yaml")
BIN = Path(sys.executable).parent
NODE_BIN = HERE / "node_modules" / ".bin"
CREATED = "File created successfully at: /memories/{name}.txt"


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_service(tmp_path_factory.mktemp("data") / "db", AUTH="none") as url:
        yield url


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def check_types(directory: Path, *targets: str) -> None:
    # Imported modules are the generator's own code. Only the targets are checked against its types.
    run(BIN / "mypy", "--strict", "--follow-imports=silent", *targets, cwd=directory, MYPYPATH=str(directory))


def call_with_python(caller: str, directory: Path, url: str) -> None:
    script = CALLERS / f"{caller}.py"
    check_types(directory, str(script))
    output = run(BIN / "python", script, url, cwd=directory, PYTHONPATH=str(directory))
    assert output.strip() == CREATED.format(name=caller)


def call_with_typescript(caller: str, directory: Path, url: str) -> None:
    # Beside the generated code and below the packages that it needs.
    (directory / f"{caller}.ts").write_text((CALLERS / f"{caller}.ts").read_text())
    options = "--noEmit --strict --target es2022 --module es2022 --moduleResolution bundler --types node"
    run(NODE_BIN / "tsc", *options.split(), f"{caller}.ts", cwd=directory)
    tsx = REPOSITORY / "node_modules" / ".bin" / "tsx"
    assert run(tsx, f"{caller}.ts", url, cwd=directory).strip() == CREATED.format(name=caller)


@pytest.fixture
def node_directory() -> Iterator[Path]:
    """A directory in which Node.js finds the packages in package.json."""
    with tempfile.TemporaryDirectory(dir=HERE, prefix="generated-") as name:
        yield Path(name)


def openapi_generator(generator: str, directory: Path) -> None:
    run(BIN / "openapi-generator-cli", "generate", "-i", DOCUMENT, "-g", generator, "-o", directory, cwd=directory)


def test_openapi_generator_accepts_the_document(tmp_path: Path) -> None:
    output = run(BIN / "openapi-generator-cli", "validate", "-i", DOCUMENT, "--recommend", cwd=tmp_path)
    assert "No validation issues detected." in output


def test_openapi_python_client(tmp_path: Path, service: str) -> None:
    output = run(BIN / "openapi-python-client", "generate", "--path", DOCUMENT, "--output-path", "out", cwd=tmp_path)
    assert "Warning" not in output
    check_types(tmp_path / "out", "memory_service_client")
    call_with_python("openapi_python_client", tmp_path / "out", service)


def test_datamodel_codegen(tmp_path: Path, service: str) -> None:
    options = "--input-file-type openapi --output-model-type pydantic_v2.BaseModel --use-annotated --formatters builtin"
    run(BIN / "datamodel-codegen", "--input", DOCUMENT, *options.split(), "--output", "models.py", cwd=tmp_path)
    check_types(tmp_path, "models.py")
    call_with_python("datamodel_codegen", tmp_path, service)


def test_openapi_generator_python(tmp_path: Path, service: str) -> None:
    openapi_generator("python", tmp_path)
    call_with_python("openapi_generator_python", tmp_path, service)


def test_openapi_generator_typescript(node_directory: Path, service: str) -> None:
    openapi_generator("typescript-fetch", node_directory)
    call_with_typescript("openapi_generator_typescript", node_directory, service)


def test_openapi_typescript(node_directory: Path, service: str) -> None:
    run(NODE_BIN / "openapi-typescript", DOCUMENT, "-o", "schema.d.ts", cwd=node_directory)
    call_with_typescript("openapi_typescript", node_directory, service)


def test_hey_api(node_directory: Path, service: str) -> None:
    run(NODE_BIN / "openapi-ts", "-i", DOCUMENT, "-o", "client", "--no-log-file", cwd=node_directory)
    call_with_typescript("hey_api", node_directory, service)
