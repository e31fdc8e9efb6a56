"""An MCP server for tests, run as `python mcp_server.py TRANSPORT BEHAVIOUR [PORT]`.

Written with the SDK, which takes most of a second of processor to start: `handshake_server.py` does without.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

PAGE = 2
NAMES = ["read_note", "write_note", "remove_note", "search", "share"]
HINTS = {
    "read_note": types.ToolAnnotations(read_only_hint=True),
    "write_note": types.ToolAnnotations(read_only_hint=False, destructive_hint=False),
    "remove_note": types.ToolAnnotations(destructive_hint=True),
}
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string", "description": "of the note"}, "deep": {"type": "boolean"}},
    "required": ["title"],
    "x-vendor": {"z": 1, "a": 2},
}


INSTRUCTIONS = "Keeps the minutes of the village choir."


def tool(name: str) -> types.Tool:
    return types.Tool(
        name=name, description=f"Does {name}.", input_schema=SCHEMA, annotations=HINTS.get(name)
    )


class Notes:
    """Answers `tools/list` page by page, or as badly as `behaviour` says."""

    def __init__(self, behaviour: str) -> None:
        self.behaviour = behaviour
        self.names = list(NAMES)
        self.bus = InMemorySubscriptionBus()

    async def list_tools(
        self, ctx: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        start = int(params.cursor) if params and params.cursor else 0
        if start > 0:
            await self.misbehave()
        end = start + PAGE
        cursor = str(end) if end < len(self.names) else None
        if self.behaviour == "changing" and cursor is None and len(self.names) == len(NAMES):
            asyncio.get_running_loop().call_later(0.2, lambda: asyncio.ensure_future(self.change()))
        tools = [tool(name) for name in self.names[start:end]]
        return types.ListToolsResult(tools=tools, next_cursor=cursor)

    async def misbehave(self) -> None:
        if self.behaviour == "dying":
            print("out of memory, says the server", file=sys.stderr, flush=True)
            os._exit(3)
        if self.behaviour == "hanging":
            await anyio.sleep_forever()

    async def change(self) -> None:
        self.names.append("brand_new")
        await self.bus.publish(ToolsListChanged())

    def server(self) -> Server[Any]:
        listen = {} if self.behaviour == "silent" else {"on_subscriptions_listen": ListenHandler(self.bus)}
        about = INSTRUCTIONS if self.behaviour == "speaking" else None
        return Server("notes", version="1.2", instructions=about, on_list_tools=self.list_tools, **listen)


async def serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(server: Server[Any], port: int) -> None:
    import uvicorn

    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="error")


def main(transport: str, behaviour: str, port: str = "0") -> None:
    if transport == "http":
        serve_http(Notes(behaviour).server(), int(port))
    else:
        anyio.run(serve_stdio, Notes(behaviour).server())


if __name__ == "__main__":
    main(*sys.argv[1:])
