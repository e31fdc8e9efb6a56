"""The lists of a live MCP server: its tools, and its resources and prompts written as tools, page by page."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import anyio
import httpx2
import mcp_types
from mcp import MCPError
from pydantic import BaseModel, Field, ValidationError

from kitpick_ingest.errors import SourceError
from kitpick_ingest.sources.mcp_endpoint import Failed, Listing, LiveSettings, McpEndpoint
from kitpick_ingest.sources.mcp_offers import prompt_tool, resource_tool, template_tool
from kitpick_ingest.sources.mcp_output import ServerOutput
from kitpick_ingest.sources.mcp_session import Connection, connected, invalid_place, said_in

_OFFER_SHARE = 3
"""Part of the time for one request that a list beside tools may take: tools do not wait longer for it."""
_SHORTEST_TTL = 1.0


class _Page(BaseModel):
    """A page of a list, with its entries as sent."""

    listed: list[Any] = Field(alias="kitpick/as-sent")
    next_cursor: str | None = Field(default=None, alias="nextCursor")
    ttl_ms: int = Field(default=0, alias="ttlMs")


class _PagedList(NamedTuple):
    """What a list has on all its pages, as it came: the SDK's models drop what they do not know."""

    method: str
    request: Callable[..., Any]
    change: Callable[[dict[str, Any]], Any]

    async def read(self, connection: Connection, settings: LiveSettings) -> tuple[list[bytes], float]:
        """Entries in the server's order, and the seconds for which it says that they hold, 0 for none.

        Raises:
            SourceError: the server refuses, its pages repeat, or they have more than the settings allow.
        """
        try:
            return await self._pages(connection, settings)
        except MCPError as error:
            raise self._failed(said_in(error)) from error
        except ValidationError as error:
            raise self._failed(
                f"the answer is no valid {self.method} result: {invalid_place(error)}"
            ) from error

    async def _pages(self, connection: Connection, settings: LiveSettings) -> tuple[list[bytes], float]:
        listed: list[bytes] = []
        seen: set[str] = set()
        cursor, size, seconds = None, 0, float("inf")
        for _ in range(settings.max_pages):
            params = mcp_types.PaginatedRequestParams(cursor=cursor)
            page = await connection.client.session.send_request(self.request(params=params), _Page)
            entries = [_compact(self.change(e) if isinstance(e, dict) else e) for e in page.listed]
            listed += entries
            cursor = page.next_cursor
            size += sum(map(len, entries)) + len(cursor or "")
            seconds = min(seconds, page.ttl_ms / 1000)
            if len(listed) > settings.max_tools:
                raise self._failed(f"more than {settings.max_tools:,} tools", "raise max_tools")
            if size > settings.max_listing_bytes:
                raise self._failed(
                    f"more than {settings.max_listing_bytes:,} bytes", "raise max_listing_bytes"
                )
            if not cursor:
                return listed, seconds
            if cursor in seen:
                raise self._failed("the server gives the same cursor again: its pages go round")
            seen.add(cursor)
        raise self._failed(f"more than {settings.max_pages:,} pages", "raise max_pages")

    def _failed(self, reason: str, cure: str = "") -> SourceError:
        return SourceError(self.method, f"{self.method} failed: {reason}" + (f" ({cure})" if cure else ""))


_TOOLS = _PagedList("tools/list", mcp_types.ListToolsRequest, lambda entry: entry)
_RESOURCES = _PagedList("resources/list", mcp_types.ListResourcesRequest, resource_tool)
_TEMPLATES = _PagedList("resources/templates/list", mcp_types.ListResourceTemplatesRequest, template_tool)
_PROMPTS = _PagedList("prompts/list", mcp_types.ListPromptsRequest, prompt_tool)


async def list_tools(connection: Connection, settings: LiveSettings) -> Listing:
    """Every page of `tools/list`; and of resources and prompts, written as tools, where the server has any.

    A list beside tools that fails costs only itself.

    Raises:
        SourceError: the tools cannot be listed, or there is more than the settings allow.
    """
    connection.output.repeated.clear()
    tools, seconds = await _TOOLS.read(connection, settings)
    offers = connection.client.server_capabilities
    others = [
        *((_RESOURCES, _TEMPLATES) if offers.resources is not None else ()),
        *((_PROMPTS,) if offers.prompts is not None else ()),
    ]
    read: dict[str, list[bytes]] = {}
    failed: dict[str, str] = {}
    async with anyio.create_task_group() as group:
        for each in others:
            group.start_soon(partial(_offered, each, connection, settings, read, failed))
    for each in others:
        tools += read.get(each.method, [])
    if len(tools) > settings.max_tools:
        raise SourceError("tools/list", f"more than {settings.max_tools:,} tools", "raise max_tools")
    told = [*failed.items(), *connection.output.repeated.items()]
    return _listing(connection, tools, seconds, tuple(Failed(*item) for item in told))


async def _offered(
    offers: _PagedList,
    connection: Connection,
    settings: LiveSettings,
    read: dict[str, list[bytes]],
    failed: dict[str, str],
) -> None:
    """Reads one list, or says why not; a server that does not know the request after all has none."""
    seconds = settings.request_seconds / _OFFER_SHARE
    try:
        with anyio.fail_after(seconds):
            read[offers.method], _ = await offers.read(connection, settings)
    except TimeoutError:
        failed[offers.method] = f"no answer within {seconds:g} s"
    except SourceError as error:
        cause = error.__cause__
        if not (isinstance(cause, MCPError) and cause.code == mcp_types.METHOD_NOT_FOUND):
            failed[offers.method] = error.what


def _compact(entry: object) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _listing(
    connection: Connection, tools: list[bytes], seconds: float, failed: tuple[Failed, ...]
) -> Listing:
    server, client = connection.client.server_info, connection.client
    name, version = (server.name, server.version) if server else ("", "")
    fresh = max(seconds, _SHORTEST_TTL) if seconds > 0 else None
    return Listing(name, version, tuple(tools), client.instructions or "", failed, fresh)


async def fetch(
    endpoint: McpEndpoint,
    settings: LiveSettings,
    output: ServerOutput,
    sockets: httpx2.AsyncBaseTransport | None = None,
) -> Listing:
    """Connects, lists and disconnects, all within `total_seconds`.

    Raises:
        TimeoutError: it took longer.
    """
    with anyio.fail_after(settings.total_seconds):
        idle = settings.request_seconds
        async with connected(endpoint, settings, output, idle_seconds=idle, sockets=sockets) as connection:
            return await list_tools(connection, settings)
