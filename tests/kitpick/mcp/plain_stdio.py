"""A server of MCP over standard streams without the SDK, so that it starts at once: `plain_stdio.py`.

A call of `hang` is never answered, `learn` adds a tool without a word, `announce` adds one and says so,
though that was not declared, and `stall` is refused: from then on no list of tools is answered.
"""

from __future__ import annotations

import json
import sys
from typing import Any

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "notes", "version": "1"},
}
NAMES = ["read_note", "hang", "stall", "learn", "announce"]
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def answer(method: str, called: str) -> dict[str, Any] | None:
    """The rest of an answer; None where there is none."""
    if method == "initialize":
        return {"result": HELLO}
    if method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
        return {"result": {"tools": tools}} if "stalled" not in NAMES else None
    if called in ("stall", "learn", "announce"):
        NAMES.append("stalled" if called == "stall" else "paint_picture")
    if called in ("read_note", "learn", "announce"):
        return {"result": {"content": [{"type": "text", "text": "fine"}]}}
    return None if called == "hang" else {"error": {"code": -32601, "message": "no"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        called = (message.get("params") or {}).get("name", "")
        said = answer(message["method"], called)
        if said is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
        if called == "announce":
            print(json.dumps(CHANGED), flush=True)
