"""An MCP server to stand behind the door, run as `python upstream_server.py stdio|http [PORT [TOOL …]]`.

Further tools can be named, of which `whoami` says whose credentials a call brought, and `rules` is no tool
but a resource and a prompt. What has a space in it is the server's instructions. `learn` adds a tool, and
`rename` gives all but itself other names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

TEXT = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
READ = types.ToolAnnotations(read_only_hint=True)
TOOLS = {
    "read_note": ("Read a note from the notebook by its title", READ),
    "remove_note": ("Remove a note for ever", types.ToolAnnotations(destructive_hint=True)),
    "learn": ("Learn a new tool, so that the list of tools changes", None),
    "die": ("End this server in the middle of a call", None),
    "rename": ("Give every tool another name", None),
    "whisper": ("Learn a new tool without a word to anybody", None),
    "chatter": ("Announce changes without end, and answer with how often the list was asked for", None),
    "flood": ("Answer with ten megabytes", None),
    "complain": ("Answer with an error", None),
    "secret": ("Something that nobody may call", READ),
}


class Notebook:
    def __init__(self, more: Iterable[str] = ()) -> None:
        given = list(more)
        self.instructions = next((text for text in given if " " in text), None)
        self.tools = dict(TOOLS) | {name: (f"Does {name}", READ) for name in given if " " not in name}
        self.renamed = 0
        self.asked = 0
        self.bus = InMemorySubscriptionBus()

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        self.asked += 1
        tools = [
            types.Tool(name=name, description=text, input_schema=TEXT, annotations=hints)
            for name, (text, hints) in self.tools.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        usual = f"{params.name}: {(params.arguments or {}).get('title')}"
        answer, failed = {"whoami": whose(ctx)}.get(params.name, usual), False
        if params.name == "learn":
            self.tools["paint_picture"] = ("Paint a picture in oil", READ)
            await self.bus.publish(ToolsListChanged())
        elif params.name == "rename":
            self.renamed += 1
            kept = {"rename": TOOLS["rename"]}
            self.tools = {
                f"{name}_{self.renamed}": tool for name, tool in TOOLS.items() if name not in kept
            } | kept
            await self.bus.publish(ToolsListChanged())
        elif params.name == "whisper":
            self.tools["hum_tune"] = ("Hum a tune", READ)
        elif params.name == "chatter":
            answer = await self.chatter()
        elif params.name == "die":
            os._exit(3)
        elif params.name == "flood":
            answer = "x" * 10_000_000
        elif params.name == "complain":
            answer, failed = "the notebook is full", True
        content = [types.TextContent(type="text", text=answer)]
        return types.CallToolResult(content=content, is_error=failed)

    async def chatter(self) -> str:
        """How many announcements, how often the list was asked for, and the seconds it took."""
        before, began = self.asked, anyio.current_time()
        for number in range(200):
            self.tools["chatter"] = (f"Chatter {number}", None)
            await self.bus.publish(ToolsListChanged())
            await anyio.sleep(0.02)
        return f"{self.asked - before} {anyio.current_time() - began}"

    async def list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        rules = types.Resource(uri="notes://rules", name="rules", description="House rules for writing notes")
        return types.ListResourcesResult(resources=[rules])

    async def read_resource(self, ctx: Any, params: Any) -> types.ReadResourceResult:
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, text=f"{params.uri}: be brief")]
        )

    async def list_prompts(self, ctx: Any, params: Any) -> types.ListPromptsResult:
        text = types.PromptArgument(name="text", required=True)
        shorten = types.Prompt(name="shorten", description="Shorten a long text", arguments=[text])
        return types.ListPromptsResult(prompts=[shorten])

    async def get_prompt(self, ctx: Any, params: Any) -> types.GetPromptResult:
        said = types.TextContent(type="text", text=f"Shorten: {params.arguments['text']}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])

    def server(self) -> Server[Any]:
        more: dict[str, Any] = {}
        if self.tools.pop("rules", None):
            more |= {"on_list_resources": self.list_resources, "on_read_resource": self.read_resource}
            more |= {"on_list_prompts": self.list_prompts, "on_get_prompt": self.get_prompt}
        return Server(
            "notes",
            version="1",
            instructions=self.instructions,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=ListenHandler(self.bus),
            **more,
        )


def whose(ctx: Any) -> str:
    """Credentials of a call over HTTP."""
    return "nobody" if ctx.request is None else str(ctx.request.headers.get("authorization", "nobody"))


async def serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main(transport: str, port: str = "0", *more: str) -> None:
    if transport == "stdio":
        anyio.run(serve_stdio, Notebook(more).server())
        return
    import uvicorn

    uvicorn.run(
        Notebook(more).server().streamable_http_app(), host="127.0.0.1", port=int(port), log_level="error"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
