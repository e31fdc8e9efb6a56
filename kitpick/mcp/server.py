"""The MCP server, on standard streams or over streamable HTTP.

The bearer token of an HTTP request tells who calls; on standard streams it is whoever started the server.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Any

import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server import InitializationOptions, NotificationOptions, Server, ServerRequestContext
from starlette.types import ASGIApp

from kitpick.catalog import Catalog
from kitpick.mcp.arriving import ArrivingRequests
from kitpick.mcp.callers import Callers
from kitpick.mcp.config import Caller, McpConfig
from kitpick.mcp.credentials import bringing
from kitpick.mcp.errors import InvalidMcpConfig
from kitpick.mcp.listeners import Listeners
from kitpick.mcp.proxy import Proxy
from kitpick.mcp.sessions import BoundedRequests, BoundedSessions
from kitpick.mcp.standard_streams import standard_streams
from kitpick.mcp.tools import CatalogTools
from kitpick.places import places_of
from kitpick_foundation.places import NOWHERE
from kitpick_service.connections import ConnectionCount, patient_for
from kitpick_service.logs import where_raised
from kitpick_service.origin import LOOPBACK
from kitpick_service.waits import Waits


class _Announcing(Server[Any]):
    """A server that says to clients of older protocols whether its list of tools changes."""

    tools_changed = False

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """As the base class, over HTTP as well, where nobody hands in the options."""
        announced = notification_options or NotificationOptions(tools_changed=self.tools_changed)
        return super().create_initialization_options(announced, experimental_capabilities, extensions)


_log = logging.getLogger("kitpick.mcp")
PATH = "/mcp"
_SESSION = "mcp-session-id"
_DRAIN_SECONDS = 5
"""Seconds for requests under way after the process was asked to stop; half-sent ones do not count."""
_PATIENCE = 10.0
"""Seconds for the head of a request, and for a caller who does not take an answer."""
_INSTRUCTIONS = "Search with search_tools before assuming that no tool exists for a task."


class CatalogServer:
    """A catalog behind the Model Context Protocol."""

    def __init__(
        self, catalog: Catalog, config: McpConfig, local: Caller, profile: str | None = None
    ) -> None:
        """`local` is the caller on standard streams, and over HTTP where no callers are configured."""
        self._listeners = Listeners()
        self._proxy = Proxy(catalog, config, self._listeners.announce)
        self._callers = Callers(config, local)
        self._guarded = config.guarded
        somebody_may = any(caller.may_call for caller in (*config.callers, local)) or any(
            issuer.call_claim for issuer in config.issuers
        )
        calls = somebody_may and any(upstream.allow for upstream in config.upstreams)
        # Whoever starts the server alone is told where it looked; those who only know its address are not.
        hidden = places_of(catalog) if config.guarded else NOWHERE
        self._tools = CatalogTools(catalog, self._proxy, profile, calls=calls, places=hidden)
        self._connections = ConnectionCount(config.max_connections)
        self._changes = any(upstream.listed for upstream in config.upstreams)
        self._server = _Announcing(
            "kitpick",
            version=version("kitpick"),
            instructions=_INSTRUCTIONS,
            lifespan=self._lifespan,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=self._listeners.handler if self._changes else None,
        )
        self._server.tools_changed = self._changes

    async def serve_stdio(self) -> None:
        """Answers the process at the other end of the standard streams until it ends."""
        async with standard_streams() as (read, write):
            await self._server.run(read, write, self._server.create_initialization_options())

    def app(self, host: str) -> ASGIApp:
        """The ASGI application. Its upstreams run as long as its lifespan.

        Raises:
            InvalidMcpConfig: reachable from other machines, and no callers are configured.
        """
        if host not in LOOPBACK and not self._guarded:
            raise InvalidMcpConfig(
                f"--host {host}", "others could reach it, and no [[callers]] are configured"
            )
        app = self._server.streamable_http_app(streamable_http_path=PATH, host=host)
        most = self._connections.most
        of_one = (most + 1) // 2 if self._guarded else most
        return self._callers.guarded(BoundedRequests(BoundedSessions(app), of_one))

    def serve_http(self, host: str, port: int, started: Callable[[str], None]) -> None:
        """Answers over HTTP until interrupted; `started` gets the URL.

        Raises:
            InvalidMcpConfig: as `app`.
        """
        waits = Waits()
        configuration = uvicorn.Config(
            ArrivingRequests(self.app(host), waits, self._connections),
            host,
            port,
            http=patient_for(_PATIENCE, self._connections),
            ws="none",  # a connection that becomes a web socket is counted as open for ever
            proxy_headers=False,
            server_header=False,
            log_level="warning",
            log_config=None,
            timeout_graceful_shutdown=_DRAIN_SECONDS,
        )
        _Uvicorn(configuration, started, waits).run()

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with self._proxy.running():
            yield {}

    async def _list(
        self, context: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        headers = _headers(context.request)
        if context.request is None or _SESSION in headers:
            self._listeners.remember(context.session, headers.get(_SESSION, ""))
        caller = self._callers.of(context.request)
        given = context.params or {}
        with bringing(headers), _nothing_told_of_defects():
            if "query" in given:  # SEP-1821: the SDK does not know it, and leaves it in the raw parameters
                return await self._tools.queried(given["query"], params.cursor if params else None, caller)
            return await self._tools.listed(caller)

    async def _call(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        caller = self._callers.of(context.request)
        with bringing(_headers(context.request)), _nothing_told_of_defects():
            return await self._tools.answer(params.name, params.arguments, caller)


@contextmanager
def _nothing_told_of_defects() -> Iterator[None]:
    """A context whose unforeseen errors go to the log without their texts; callers hear that one was.

    A text may hold a path of this machine, or what somebody asked.
    """
    try:
        yield
    except MCPError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
        _log.error("a defect: %s", where_raised(error))
        raise MCPError(types.INTERNAL_ERROR, "a defect of this server; its log has the details") from None


def _headers(request: Any) -> Mapping[str, str]:  # noqa: ANN401 - as in `Callers.of`
    """Headers of an HTTP request that come once, under lower-case names; none on standard streams.

    Of two with one name nobody knows which of them its caller wrote.
    """
    if request is None:
        return {}
    given = ((name, request.headers.getlist(name)) for name in set(request.headers))
    return {name: values[0] for name, values in given if len(values) == 1}


class _Uvicorn(uvicorn.Server):
    """Says where it listens once it does: the port may have been chosen by the system."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None], waits: Waits) -> None:
        super().__init__(config)
        self._tell = started
        self._waits = waits

    async def startup(self, sockets: Any = None) -> None:  # noqa: ANN401 - as in the base class
        await super().startup(sockets)
        for server in self.servers:
            host, port = server.sockets[0].getsockname()[:2]
            self._tell(f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}")

    async def shutdown(self, sockets: Any = None) -> None:  # noqa: ANN401 - as in the base class
        self._waits.drain()
        await super().shutdown(sockets)
