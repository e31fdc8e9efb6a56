"""A server of MCP over HTTP without the SDK, in a thread: it answers each method as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOL = {"name": "read_note", "description": "Read a note", "inputSchema": {"type": "object"}}
INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "notes", "version": "1"},
}
USUAL = {
    "initialize": {"result": INITIALIZED},
    "tools/list": {"result": {"tools": [TOOL]}},
    "tools/call": {"result": {"content": [{"type": "text", "text": "fine"}]}},
    "ping": {"result": {}},
}
UNKNOWN = {"error": {"code": -32601, "message": "Method not found"}}
Answer = Any
"""Of a method: the rest of a JSON-RPC answer, a number of HTTP, bytes, or a function of the message."""


class PlainServer:
    """What it answers can be changed at any time."""

    def __init__(self, **capabilities: Any) -> None:
        self.answers: dict[str, Answer] = dict(USUAL)
        if capabilities:
            initialized = INITIALIZED | {"capabilities": {"tools": {}} | capabilities}
            self.answers["initialize"] = {"result": initialized}
        self.headers: dict[str, str] = {}
        """Of every answer."""
        self.asked: list[tuple[str, list[tuple[str, str]]]] = []
        """Methods and headers of the messages that came."""
        self.url = ""

    def times(self, method: str) -> int:
        return sum(asked == method for asked, _ in self.asked)

    @contextmanager
    def running(self) -> Iterator[PlainServer]:
        class Handler(_Handler):
            plain = self

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads, server.block_on_close = True, False
            thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}/mcp"
            yield self
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    plain: PlainServer

    def do_GET(self) -> None:
        self._send(405, b"")

    do_DELETE = do_GET  # noqa: N815 - the name that the base class calls

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = message.get("method", "")
        self.plain.asked.append((method, list(self.headers.items())))
        answer = self.plain.answers.get(method, UNKNOWN)
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            answer = answer(message)
        if "id" not in message:
            self._send(202, b"")
        elif answer == "close":
            self.close_connection = True
            self.connection.close()
        elif isinstance(answer, int):
            self._send(answer, b"")
        elif isinstance(answer, bytes):
            self._send(200, answer)
        else:
            self._send(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | self.plain.headers).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def slowly(answer: Answer, seconds: float) -> Callable[[dict[str, Any]], Answer]:
    """The same after a while."""

    def wait(_: dict[str, Any]) -> Answer:
        time.sleep(seconds)
        return answer

    return wait
