"""Tests the service's HTTP APIs against their OpenAPI documents with schemathesis, for each way to authenticate."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from time import time

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from real_service import make_key, run_command, running_service

HERE = Path(__file__).parent
TENANT = "acme"
# A credential for one tenant is rejected for others before any other check. Other targets vary the header.
ONE_TENANT = {"X-Tenant-Id": TENANT}
# Another tenant, which shares its memory.
TEAM = "team"
STORES_TAG = "memory stores"
SHARING_TAG = "sharing"
PROTECTED_RESOURCE = "oauth-protected-resource"
# Disables the limits on requests and on failed attempts.
NO_RATE_LIMITS = {"RATE_LIMIT_PER_MINUTE": "0", "AUTH_FAILURES_PER_MINUTE": "0"}
# A run is much faster, so only a hanging run reaches this limit.
TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Target:
    """An API to test: its document, a credential, headers for each request, and the schemathesis configuration."""

    name: str
    document_url: str
    credential: str
    headers: Mapping[str, str]
    config: Path
    options: tuple[str, ...] = ()
    invitation: str = ""


def memory_api(
    name: str,
    url: str,
    credential: str = "",
    headers: Mapping[str, str] | None = None,
    *,
    has_issuer: bool = False,
    invitation: str = "",
) -> Target:
    options: tuple[str, ...] = ("--exclude-tag", STORES_TAG)
    if invitation == "":
        # Always 403, which the run reports as a failed authentication.
        options = (*options, "--exclude-tag", SHARING_TAG)
    if not has_issuer:
        # Always 404, which the run reports as missing test data.
        options = (*options, "--exclude-path-regex", PROTECTED_RESOURCE)
    return Target(name, f"{url}/openapi.json", credential, headers or {}, HERE / "memory.toml", options, invitation)


def stores_api(name: str, url: str, credential: str = "") -> Target:
    options = ("--include-tag", STORES_TAG)
    return Target(f"stores-{name}", f"{url}/openapi.json", credential, {}, HERE / "stores.toml", options)


@contextmanager
def auth_none(data_dir: Path) -> Iterator[list[Target]]:
    with running_service(data_dir, AUTH="none", SHARING="on", **NO_RATE_LIMITS) as url:
        for tenant in (TENANT, TEAM):
            run_command(data_dir, "tenants", "create", tenant)
        invitation = invite(data_dir)
        yield [
            memory_api("none", url, invitation=invitation),
            memory_api("none-text", url, headers={"Accept": "text/plain"}, invitation=invitation),
            stores_api("none", url),
        ]


@contextmanager
def auth_keys(data_dir: Path) -> Iterator[list[Target]]:
    port = free_port()
    with running_service(data_dir, AUTH="keys", SHARING="on", ADMIN_PORT=str(port), **NO_RATE_LIMITS) as url:
        for tenant in (TENANT, TEAM, "doomed"):
            run_command(data_dir, "tenants", "create", tenant)
        tenant_key = make_key(data_dir, "--tenant", TENANT, "--share")
        service_key = make_key(data_dir, "--service")
        admin_key = make_key(data_dir, "--admin")
        yield [
            memory_api("keys-tenant", url, tenant_key, ONE_TENANT, invitation=invite(data_dir)),
            memory_api("keys-service", url, service_key),
            stores_api("keys-tenant", url, tenant_key),
            stores_api("keys-service", url, service_key),
            stores_api("keys-manager", url, make_key(data_dir, "--service", "--manage-stores")),
            Target("admin", f"http://127.0.0.1:{port}/openapi.json", admin_key, {}, HERE / "admin.toml"),
        ]


def invite(data_dir: Path) -> str:
    """Returns a token with which any number of tenants can mount another tenant's memory."""
    return run_command(data_dir, "invitations", "create", TEAM, "--reusable", "--expires", "1d").strip()


def free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def auth_jwt(data_dir: Path) -> Iterator[list[Target]]:
    key = Ed25519PrivateKey.generate()
    issuer, audience = "https://issuer.example", "memory"
    claims = {"iss": issuer, "aud": audience, "tenant": TENANT, "exp": int(time()) + 3600}
    public_key = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    with running_service(
        data_dir,
        AUTH="jwt",
        JWT_PUBLIC_KEY=public_key,
        JWT_ISSUER=issuer,
        JWT_AUDIENCE=audience,
        AUTO_CREATE_TENANTS="true",
        **NO_RATE_LIMITS,
    ) as url:
        run_command(data_dir, "tenants", "create", TENANT)
        token = jwt.encode(claims, key, algorithm="EdDSA")
        yield [memory_api("jwt", url, token, ONE_TENANT, has_issuer=True), stores_api("jwt", url, token)]


MODES = {"none": auth_none, "keys": auth_keys, "jwt": auth_jwt}


def check(target: Target, json_report: Path, junit_report: Path, options: list[str]) -> bool:
    """Runs schemathesis. Returns whether all checks passed."""
    headers = [option for name, value in target.headers.items() for option in ("--header", f"{name}: {value}")]
    reports = ["--report-json-path", str(json_report), "--report-junit-path", str(junit_report)]
    schemathesis = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(target.config)]
    done = subprocess.run(
        [*schemathesis, "run", target.document_url, *headers, *reports, *target.options, *options],
        cwd=HERE,
        env={
            **os.environ,
            "NO_PROXY": "127.0.0.1",
            "API_CREDENTIAL": target.credential,
            "API_INVITATION": target.invitation,
        },
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    return done.returncode == 0


def summarize(target: Target, json_report: Path, passed: bool) -> str:
    outcome = "passed" if passed else "FAILED"
    if not json_report.exists():
        return f"{target.name}: {outcome}, no report"
    report = json.loads(json_report.read_text())
    operations, cases = report["operations"], report["test_cases"]
    return (
        f"{target.name}: {outcome}, {operations['tested']} of {operations['total']} operations, "
        f"{cases['generated']} cases, {cases['unique_failures']} failures, {len(report['errors'])} errors, "
        f"{report['running_time']:.0f} s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, epilog="Other options go to schemathesis, such as --seed.")
    parser.add_argument("--auth", action="append", choices=MODES, help="only this mode; may be repeated")
    parser.add_argument("--junit-dir", type=Path, help="where to leave a JUnit report for each run")
    arguments, options = parser.parse_known_args()
    summaries: list[str] = []
    failed = False
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        junit_dir: Path = arguments.junit_dir or directory
        for mode in arguments.auth or MODES:
            with MODES[mode](directory / mode) as targets:
                for target in targets:
                    print(f"== {target.name}", flush=True)
                    json_report = directory / f"{target.name}.json"
                    passed = check(target, json_report, junit_dir / f"api-{target.name}.xml", options)
                    summaries.append(summarize(target, json_report, passed))
                    failed |= not passed
    print("== summary", *summaries, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
