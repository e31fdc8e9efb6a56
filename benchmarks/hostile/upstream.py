"""An MCP server that answers one method as it is told to: `python -m hostile.upstream STATE`.

The file STATE holds `{"method": …, "fault": …}` and is read with every request. The port is printed first.
"""

from __future__ import annotations

import gzip
import json
import sys
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CODES = (-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32042, 0, 1)
STATUSES = (301, 400, 401, 403, 404, 410, 429, 500, 502, 503)
FAULTS = (
    *(f"error {code}" for code in CODES),
    *(f"status {status}" for status in STATUSES),
    "close",
    "half",
    "no JSON",
    "no object",
    "other id",
    "no result",
    "bomb",
    "endless",
    "large",
    "deep",
    "marked",
    "several",
    "surrogate",
    "nested",
    "digits",
    "odd cursor",
    "odd content",
)
METHODS = ("initialize", "tools/list", "tools/call")
_TOOL = {"name": "read_note", "description": "Reads a note", "inputSchema": {"type": "object"}}


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP with JSON answers."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        """No stream is offered."""
        self._send(405, b"")

    def do_DELETE(self) -> None:
        """There are no sessions to end."""
        self._send(405, b"")

    def do_POST(self) -> None:
        """Answers as a server does, or as the file says."""
        call = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        method, number = call.get("method"), call.get("id")
        if number is None:
            return self._send(202, b"")
        told = json.loads(Path(sys.argv[1]).read_text())
        result = _result(method, call.get("params") or {})
        if told.get("method") != method:
            return self._json(number, result)
        return self._fault(str(told["fault"]), number, result, call.get("params") or {})

    def _fault(self, fault: str, number: object, result: dict[str, Any], params: dict[str, Any]) -> None:
        kind, _, which = fault.partition(" ")
        if kind == "error":
            return self._send(200, _packed(number, error={"code": int(which), "message": "\x1b[2Jno"}))
        if kind == "status":
            return self._send(int(which), b"no")
        if fault == "close":
            self.close_connection = True
            return None
        if fault == "endless":
            place = int(params.get("cursor") or 0)
            page = {"tools": [{**_TOOL, "name": f"t{place}"}], "nextCursor": str(place + 1)}
            return self._json(number, page)
        if fault == "bomb":
            return self._send(200, _bomb(), {"content-encoding": "gzip"})
        return self._send(200, _odd(fault, number, result))

    def _json(self, number: object, result: dict[str, Any]) -> None:
        self._send(200, _packed(number, result=result))

    def _send(self, status: int, content: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        fields = {"content-type": "application/json", "content-length": str(len(content)), **(more or {})}
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _odd(fault: str, number: object, result: dict[str, Any]) -> bytes:
    good = _packed(number, result=result)
    odd = _packed(number, result={**result, "odd": "ODD"})
    return {
        "marked": b"\xef\xbb\xbf" + good,
        "several": b"[" + good + b", " + good + b"]",
        "surrogate": odd.replace(b"ODD", b"\\ud83d"),
        "nested": odd.replace(b'"ODD"', b"[" * 300 + b"]" * 300),
        "digits": odd.replace(b'"ODD"', b"9" * 5_000),
        "odd cursor": _packed(number, result={**result, "nextCursor": [1]}),
        "odd content": _packed(number, result={**result, "content": [{"type": "widget"}, 3, None]}),
        "half": good[: len(good) // 2],
        "no JSON": b"<html>",
        "no object": b"[1]",
        "other id": _packed("other", result=result),
        "no result": _packed(number, result=None),
        "large": _packed(number, result={**result, "x": "y" * 8_000_000}) if fault == "large" else b"",
        "deep": b'{"jsonrpc":"2.0","id":' + json.dumps(number).encode() + b',"result":' + b"[" * 50_000,
    }[fault]


def _result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        version = params.get("protocolVersion", "2025-06-18")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [_TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "a note"}]}
    return {}


def _packed(number: object, **fields: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, **fields}).encode()


@lru_cache(maxsize=1)
def _bomb() -> bytes:
    return gzip.compress(
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"' + b"a" * 400_000_000, 1
    )


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
