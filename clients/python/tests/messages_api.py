"""A stand-in for the Messages API that plays a scripted conversation: one turn for each request."""

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

    def tool_results(self) -> list[list[Block]]:
        """Returns the results that were sent, as one list per turn."""
        # The runner sends either the new message or all messages; in both cases the last one is new.
        sent = [request["messages"][-1]["content"] for request in self.requests]
        return [content for content in sent if isinstance(content, list) and content[0]["type"] == "tool_result"]


@contextmanager
def messages_api() -> Iterator[MessagesApi]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            api.raw.append(raw)
            api.requests.append(json.loads(raw))
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
            body = json.dumps(message).encode()
            self.send_response(200)
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
