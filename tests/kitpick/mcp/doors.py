"""`kitpick mcp` as a real process, with the SDK's own client at its door."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import anyio

COMMAND = [sys.executable, "-c", "from kitpick.cli import main; main()", "mcp"]
UPSTREAM = Path(__file__).with_name("upstream_server.py")
PATIENCE = 240.0
"""Seconds for what takes a moment: a machine may have a lot else to do."""
TARGET = "stdio:" + shlex.join([sys.executable, str(UPSTREAM), "stdio"])
NOTES = f"""
[[upstreams]]
name = "notes"
target = {json.dumps(TARGET)}
allow = ["*"]
deny = ["secret"]
timeout_seconds = 60.0
max_result_bytes = 100_000
"""


class Door:
    """What a client does at the door."""

    def __init__(self, client: Any, log: Path | None = None) -> None:
        self.client = client
        self._log = log

    def log(self) -> str:
        """What it wrote to its standard error so far."""
        assert self._log is not None
        return self._log.read_text("utf-8")

    async def line(self, text: str) -> None:
        """Waits until it says something in its log."""

        async def said() -> bool:
            return text in self.log()

        await until(said)

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def search(self, query: str, **more: Any) -> dict[str, Any]:
        return self.content(await self.client.call_tool("search_tools", {"query": query, **more}))

    async def settled(self) -> None:
        """Waits until every server was taken in."""

        async def complete() -> bool:
            return "missing_servers" not in await self.search("anything")

        await until(complete)

    async def describe(self, tool_id: str) -> dict[str, Any]:
        return self.content(await self.client.call_tool("describe_tool", {"id": tool_id}))

    async def call(self, tool_id: str, **arguments: Any) -> Any:
        return await self.client.call_tool("call_tool", {"id": tool_id, "arguments": arguments})

    async def problem(self, name: str, **arguments: Any) -> str:
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, result
        return str(result.content[0].text)

    @staticmethod
    def content(result: Any) -> dict[str, Any]:
        assert not result.is_error, result.content
        assert json.loads(result.content[0].text) == result.structured_content
        return dict(result.structured_content)


@asynccontextmanager
async def at_stdio(*arguments: str, **options: Any) -> AsyncIterator[Door]:
    """`options` are those of the SDK's client."""
    from mcp import Client, StdioServerParameters, stdio_client

    command, *rest = [*COMMAND, *arguments]
    parameters = StdioServerParameters(command=command, args=rest, env=dict(os.environ))
    with NamedTemporaryFile("w", suffix=".log") as log:
        transport = stdio_client(parameters, errlog=log)
        async with Client(transport, read_timeout_seconds=PATIENCE, **options) as client:
            yield Door(client, Path(log.name))


@asynccontextmanager
async def at_url(
    url: str, token: str = "", headers: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[Door]:
    """`headers` come with every request; `options` are those of the SDK's client."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    own = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=own | (headers or {}), timeout=PATIENCE) as http,
        Client(
            streamable_http_client(url, http_client=http), read_timeout_seconds=PATIENCE, **options
        ) as client,
    ):
        yield Door(client)


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """A process that serves HTTP on a port of its choice, as a URL."""
    with serving_process(*arguments) as (url, _):
        yield url


@contextmanager
def serving_process(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The same, with the process."""
    command = [*COMMAND, "--http", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if " serves " in line:
                    yield line.rpartition(" ")[2].strip(), process
                    return
            raise AssertionError(f"ended with {process.wait()}")
        finally:
            process.kill()


def at_the_door(ask: Callable[[Door], Awaitable[None]], *arguments: str) -> None:
    """Runs a conversation with a door on standard streams."""

    async def main() -> None:
        async with at_stdio(*arguments) as door:
            await ask(door)

    anyio.run(main)


def over_http(url: str, ask: Callable[[Door], Awaitable[None]], token: str = "") -> None:
    async def main() -> None:
        async with at_url(url, token) as door:
            await ask(door)

    anyio.run(main)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(PATIENCE):
        while not await condition():
            await anyio.sleep(0.1)
