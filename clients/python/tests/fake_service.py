"""A service with scripted responses: one script step for each request."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b'{"content":"done","is_error":false}'
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


class Drop:
    """Reads the request, then resets the connection, so that the response is lost."""


@dataclass(frozen=True)
class Drip:
    """Sends a response byte by byte."""

    every: float


class Hang:
    """Never responds."""


@dataclass(frozen=True)
class Stream:
    """Sends server-sent events, and then closes the connection, resets it, or sends nothing more."""

    text: str
    end: str = "closed"


@dataclass(frozen=True)
class ForwardAndDrop:
    """Forwards the request to the real service, and loses the response."""

    forward: Callable[[Received], None]


Step: TypeAlias = Answer | Drop | Drip | Hang | Stream | ForwardAndDrop


def problem(status: int, code: str, detail: str = "Not now.", **headers: str) -> Answer:
    body = {
        "type": "about:blank",
        "title": "Title",
        "status": status,
        "code": code,
        "detail": detail,
        "request_id": "req-of-the-service",
    }
    return Answer(
        status,
        json.dumps(body).encode(),
        {
            "Content-Type": "application/problem+json",
            "X-Request-Id": "req-of-the-service",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
    )


@dataclass
class FakeService:
    url: str
    script: list[Step] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)


@contextmanager
def fake_service() -> Iterator[FakeService]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Otherwise a response with several writes waits for the client's acknowledgements.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            request = Received(self.path, dict(self.headers.items()), body)
            fake.received.append(request)
            self.perform(fake.script.pop(0), request)

        do_GET = do_POST
        do_DELETE = do_POST

        def perform(self, step: Step, request: Received) -> None:
            match step:
                case Answer(status, body, headers):
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                case Drip(every):
                    self.send_response(200)
                    self.send_header("Content-Length", "1000")
                    self.end_headers()
                    while not fake.ended.wait(every):
                        self.wfile.write(b" ")
                case Stream(text, end):
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    data = text.encode()
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                    if end == "closed":
                        self.wfile.write(b"0\r\n\r\n")
                    elif end == "reset":
                        self.close_connection = True
                    else:
                        fake.ended.wait()
                case Hang():
                    fake.ended.wait()
                    self.close_connection = True
                case ForwardAndDrop(forward):
                    forward(request)
                    self.reset()
                case Drop():
                    self.reset()

        def reset(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True

        def handle(self) -> None:
            # A client has disconnected, or `reset` has closed the connection.
            try:
                super().handle()
            except (OSError, ValueError):
                self.close_connection = True

        def finish(self) -> None:
            with suppress(OSError, ValueError):
                super().finish()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake = FakeService(f"http://127.0.0.1:{server.server_port}")
    try:
        yield fake
    finally:
        fake.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class FakeTime:
    """A clock that advances only by sleeping."""

    seconds: float = 1000.0
    chance: float = 0.5
    sleeps: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.seconds

    def now(self) -> float:
        return 1_700_000_000.0 + self.seconds - 1000.0

    def random(self) -> float:
        return self.chance

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.seconds += seconds

    async def async_sleep(self, seconds: float) -> None:
        self.sleep(seconds)


def timestamp(seconds: float) -> str:
    """Formats a time as an HTTP date."""
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(seconds))
