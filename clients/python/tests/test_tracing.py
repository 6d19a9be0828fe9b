from __future__ import annotations

import subprocess
import sys

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from conftest import Execute
from fake_service import Answer, FakeService

VIEW = {"command": "view", "path": "/memories"}
SPAN = NonRecordingSpan(
    SpanContext(
        trace_id=0x0AF7651916CD43DD8448EB211C80319C,
        span_id=0xB7AD6B7169203331,
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
)


def test_a_call_sends_the_active_span(execute: Execute, fake: FakeService) -> None:
    fake.script = [Answer(), Answer()]
    with trace.use_span(SPAN):
        execute(fake.url, VIEW)
    execute(fake.url, VIEW)
    inside, outside = (request.headers for request in fake.received)
    assert inside["traceparent"] == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert "traceparent" not in outside


def test_a_call_without_opentelemetry_sends_no_span(fake: FakeService) -> None:
    fake.script = [Answer()]
    program = f"""
import sys
import anthropic
for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
    del sys.modules[name]
sys.modules["opentelemetry"] = None
from memory_service_client import MemoryClient
with MemoryClient({fake.url!r}) as client:
    print(client.execute({VIEW!r})["content"])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("done\n", "")
    assert "traceparent" not in fake.received[0].headers
