"""A stand-in for the Messages API that plays a scripted conversation: one turn for each request that it accepts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Block: TypeAlias = dict[str, Any]


def tool_use(tool_use_id: str, **tool_input: object) -> Block:
    return {"type": "tool_use", "id": tool_use_id, "name": "memory", "input": tool_input}


def text(words: str) -> Block:
    return {"type": "text", "text": words}


@dataclass
class MessagesApi:
    url: str
    script: list[Sequence[Block]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    has_threads: bool = True

    def tool_results(self) -> list[list[Block]]:
        """Returns the results that were sent, as one list per turn."""
        # The runner sends either the new message or all messages; in both cases the last one is new.
        sent = [request["messages"][-1]["content"] for request in self.requests]
        return [content for content in sent if isinstance(content, list) and content[0]["type"] == "tool_result"]


def find_thread_error(api: MessagesApi, request: dict[str, Any]) -> str | None:
    """Returns the code of the error that the real API has for the thread of a request."""
    thread = request.get("thread")
    if thread is not None and not api.has_threads:
        return "thread_unsupported_request"
    if thread not in (None, {"type": "create"}) and thread["previous_message_id"] != f"msg_{len(api.requests)}":
        return "thread_not_found"
    return None


@contextmanager
def messages_api() -> Iterator[MessagesApi]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            request = json.loads(raw)
            error_code = find_thread_error(api, request)
            if error_code is not None:
                error = {"type": "invalid_request_error", "message": "", "details": {"error_code": error_code}}
                self.respond(400, {"type": "error", "error": error})
                return
            api.raw.append(raw)
            api.requests.append(request)
            content = api.script.pop(0)
            calls = any(block["type"] == "tool_use" for block in content)
            message = {
                "id": f"msg_{len(api.requests)}",
                "type": "message",
                "role": "assistant",
                "model": api.requests[-1]["model"],
                "content": content,
                "stop_reason": "tool_use" if calls else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
            self.respond(200, message)

        def respond(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    api = MessagesApi(f"http://127.0.0.1:{server.server_port}")
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
