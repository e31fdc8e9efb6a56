"""The parts `answers` and `live` of `agents.py`: `kitpick mcp` as a process, over a server that learns tools.

- `mcp_answer_bytes`: what `search_tools` answers where it gives five tools, as it goes over the wire; the
  mean, and the largest.
- `list_changed_ms`: from the server's notice that its list changed to the end of the first search that finds
  the new tool; the median, and the slowest.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters, stdio_client
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from rich.console import Console
from rich.table import Table
from shared_data import DATASETS

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_ingest.source import Source
from kitpick_training.data.written import read_written

CHANGES = 20
ANSWERS = 200
PATIENCE_SECONDS = 60.0
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
Figures = dict[str, float]
WORDS = ["lathe", "kiln", "anvil", "loom", "quill", "sextant", "abacus", "bellows", "trowel", "chisel"]


def measure_answers(source: Source, settings: Settings, limit: int | None) -> Figures:
    """Bytes of answers, in a catalog that holds a source and lies in a folder of its own."""

    async def sizes(client: Client) -> Sequence[float]:
        return [size async for size in _answer_sizes(client, limit or ANSWERS)]

    return _measured("mcp_answer_bytes", "answer with five tools, bytes", fmean, sizes, source, settings)


def measure_changes(source: Source, settings: Settings, limit: int | None) -> Figures:
    """Milliseconds from a notice to the search that knows, in such a catalog."""

    async def times(client: Client) -> Sequence[float]:
        return [await _seen_after(client, number) for number in range(limit or CHANGES)]

    return _measured("list_changed_ms", "notice until a search knows, ms", median, times, source, settings)


def _measured(
    key: str,
    title: str,
    middle: Callable[[Sequence[float]], float],
    measure: Callable[[Client], Awaitable[Sequence[float]]],
    source: Source,
    settings: Settings,
) -> Figures:
    """The middle and the largest of what is measured at the door of a catalog."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:{Path(folder) / 'live.db'}"
        with Catalog.open(url, settings=settings) as catalog:
            catalog.ingest(source)
        config = Path(folder) / "mcp.toml"
        config.write_text(
            f'[[upstreams]]\nname = "learner"\ntarget = {json.dumps(_learner())}\nallow = ["*"]\n'
            f"timeout_seconds = {PATIENCE_SECONDS}\n"
        )
        command = ["-c", "from kitpick.cli import main; main()", "mcp", "--catalog", url]
        arguments = [*command, "--config", str(config), "--profile", settings.profile]

        async def at_the_door() -> Sequence[float]:
            async with _door(arguments) as client:
                return await measure(client)

        values = anyio.run(at_the_door)
    table = Table("", "smallest", "middle", "largest")
    table.add_row(f"{title} ({len(values)})", *(f"{of(values):.0f}" for of in (min, middle, max)))
    Console().print(table)
    return {key: middle(values), f"{key}_smallest": min(values), f"{key}_largest": max(values)}


@asynccontextmanager
async def _door(arguments: list[str]) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with Client(stdio_client(parameters), read_timeout_seconds=PATIENCE_SECONDS) as client:
        await client.call_tool("search_tools", {"query": "anything"})
        yield client


async def _answer_sizes(client: Client, count: int) -> AsyncIterator[int]:
    for request in list(read_written(DATASETS / "written"))[:count]:
        answer = await client.call_tool("search_tools", {"query": request.text, "k": 5})
        if len((answer.structured_content or {}).get("tools", ())) == 5:
            yield len(answer.model_dump_json(exclude_none=True, by_alias=True).encode())


async def _seen_after(client: Client, number: int) -> float:
    """Milliseconds from the notice of the server to the end of the first search that finds its new tool."""
    name = f"{WORDS[number % len(WORDS)]}_{number}"
    noticed = await _learned(client, name)
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            found = await client.call_tool("search_tools", {"query": _description(name), "k": 5})
            if any(tool["id"].endswith(f"/{name}") for tool in (found.structured_content or {})["tools"]):
                return 1_000 * (time.time() - noticed)


async def _learned(client: Client, name: str) -> float:
    """When the server gave notice of a new tool; it may still be starting."""
    call = {"id": "learner/learner/learn", "arguments": {"name": name}}
    with anyio.fail_after(PATIENCE_SECONDS):
        while (report := await client.call_tool("call_tool", call)).is_error:
            await anyio.sleep(0.2)
    return float(report.content[0].text)


def _description(name: str) -> str:
    return f"Work with the {name.replace('_', ' number ')} of the workshop"


def _learner() -> str:
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import live_tools as it; it.serve()"
    )
    return f"stdio:{shlex.join([sys.executable, '-c', program])}"


def serve() -> None:
    """An MCP server on standard streams: `learn` adds a tool, and answers when it gave notice of it."""
    names: list[str] = []
    bus = InMemorySubscriptionBus()

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:  # noqa: ANN401 - as the SDK calls it
        described: Mapping[str, str] = {"learn": "Learn a tool"} | {
            name: _description(name) for name in names
        }
        tools = [
            types.Tool(name=name, description=text, input_schema=SCHEMA) for name, text in described.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def learn(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:  # noqa: ANN401
        names.append((params.arguments or {})["name"])
        noticed = time.time()
        await bus.publish(ToolsListChanged())
        return types.CallToolResult(content=[types.TextContent(type="text", text=str(noticed))])

    async def main() -> None:
        server: Server[Any] = Server(
            "learner",
            version="1",
            on_list_tools=list_tools,
            on_call_tool=learn,
            on_subscriptions_listen=ListenHandler(bus),
        )
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(main)
