"""The door as a running server, on standard streams or over streamable HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from starlette.types import ASGIApp

from toolrank.catalog import Catalog
from toolrank.mcp.callers import Callers
from toolrank.mcp.config import Caller, McpConfig
from toolrank.mcp.errors import InvalidMcpConfig
from toolrank.mcp.proxy import Proxy
from toolrank.mcp.tools import DoorTools

PATH = "/mcp"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_INSTRUCTIONS = "Search with search_tools before assuming that no tool exists for a task."


class Door:
    """A catalog behind the Model Context Protocol."""

    def __init__(
        self, catalog: Catalog, config: McpConfig, local: Caller, profile: str | None = None
    ) -> None:
        """`local` is the caller on standard streams, and over HTTP where no callers are configured."""
        self._proxy = Proxy(catalog, config)
        self._callers = Callers(config.callers, local)
        self._guarded = bool(config.callers)
        callers = (*config.callers, local)
        calls = any(upstream.allow for upstream in config.upstreams) and any(c.may_call for c in callers)
        self._tools = DoorTools(catalog, self._proxy, profile, calls=calls)
        self._server: Server[Any] = Server(
            "toolrank",
            version=version("toolrank"),
            instructions=_INSTRUCTIONS,
            lifespan=self._lifespan,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def serve_stdio(self) -> None:
        """Answers the process at the other end of the standard streams until it ends."""
        async with stdio_server() as (read, write):
            await self._server.run(read, write, self._server.create_initialization_options())

    def app(self, host: str) -> ASGIApp:
        """The ASGI application. Its upstreams run as long as its lifespan.

        Raises:
            InvalidMcpConfig: reachable from other machines, and no callers are configured.
        """
        if host not in _LOOPBACK and not self._guarded:
            raise InvalidMcpConfig(
                f"--host {host}", "others could reach it, and no [[callers]] are configured"
            )
        return self._callers.guarded(self._server.streamable_http_app(streamable_http_path=PATH, host=host))

    def serve_http(self, host: str, port: int, started: Callable[[str], None]) -> None:
        """Answers over HTTP until interrupted; `started` is told the URL.

        Raises:
            InvalidMcpConfig: as `app`.
        """
        _Uvicorn(uvicorn.Config(self.app(host), host, port, log_level="warning"), started).run()

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with self._proxy.running():
            yield {}

    async def _list(
        self, context: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools.listed())

    async def _call(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await self._tools.answer(params.name, params.arguments, self._callers.of(context.request))


class _Uvicorn(uvicorn.Server):
    """Says where it listens once it does: the port may have been chosen by the system."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None]) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: Any = None) -> None:  # noqa: ANN401 - as in the base class
        await super().startup(sockets)
        for server in self.servers:
            host, port = server.sockets[0].getsockname()[:2]
            self._tell(f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}")
