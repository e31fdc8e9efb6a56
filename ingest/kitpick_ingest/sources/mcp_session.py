"""A connection to a live MCP server: opens it, lists all pages of its tools, receives changes.

Imports the optional package `mcp`; `mcp_live` imports this module only when it is needed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TextIO

import anyio
import httpx2
import mcp_types
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field, ValidationError

from kitpick_ingest.errors import SourceError
from kitpick_ingest.sources.mcp_endpoint import Listing, LiveSettings, McpEndpoint
from kitpick_ingest.sources.mcp_offers import prompt_tool, resource_tool, template_tool

_MAX_EVENT_BYTES = 16 * 1024 * 1024
_REST_SECONDS = 0.2
"""Between two listings, so that a server that announces changes without end is not listed without end."""


class _Page(BaseModel):
    """A page of a list."""

    listed: list[dict[str, Any]]
    next_cursor: str | None = Field(default=None, alias="nextCursor")


class _Tools(_Page):
    listed: list[dict[str, Any]] = Field(alias="tools")


class _Resources(_Page):
    listed: list[dict[str, Any]] = Field(alias="resources")


class _Templates(_Page):
    listed: list[dict[str, Any]] = Field(alias="resourceTemplates")


class _Prompts(_Page):
    listed: list[dict[str, Any]] = Field(alias="prompts")


_PAGES: dict[str, type[_Page]] = {
    "tools": _Tools,
    "resources": _Resources,
    "resourceTemplates": _Templates,
    "prompts": _Prompts,
}


class AnnouncesNothing(SourceError):
    """A server that announces no changes."""

    def __init__(self) -> None:
        super().__init__("tools/list", "the server does not announce changes", "read it from time to time")


_CHANGES = (
    mcp_types.ToolListChangedNotification,
    mcp_types.ResourceListChangedNotification,
    mcp_types.PromptListChangedNotification,
)


class Changes:
    """Records announced changes."""

    def __init__(self) -> None:
        self._announced = anyio.Event()

    async def __call__(self, message: object) -> None:
        """Takes every notification of a session."""
        if isinstance(message, _CHANGES):
            self._announced.set()

    async def wait(self, seconds: float) -> bool:
        """Whether a change was announced since the last call, at the latest after these seconds."""
        with anyio.move_on_after(seconds):
            await self._announced.wait()
        announced = self._announced.is_set()
        if announced:
            self._announced = anyio.Event()
        return announced


@asynccontextmanager
async def connected(
    endpoint: McpEndpoint,
    settings: LiveSettings,
    errors: TextIO,
    on_message: MessageHandlerFnT | None = None,
    *,
    idle_seconds: float | None = None,
    sockets: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[Client]:
    """An initialised session. A server started for it is stopped with it, gently first.

    Args:
        endpoint: where the server is, or how it is started.
        settings: limits, headers and environment.
        errors: receives what a started server writes to its standard error.
        on_message: called with every notification.
        idle_seconds: how long a stream of events may be silent; None for any time.
        sockets: carries requests to a URL, in place of sockets of its own.
    """
    async with AsyncExitStack() as stack:
        if endpoint.url:
            timeout = httpx2.Timeout(settings.request_seconds, read=idle_seconds)
            http = await stack.enter_async_context(
                httpx2.AsyncClient(headers=dict(settings.headers), timeout=timeout, transport=sockets)
            )
            transport = streamable_http_client(
                endpoint.url, http_client=http, max_sse_event_size=_MAX_EVENT_BYTES
            )
        else:
            command, *arguments = endpoint.command
            parameters = StdioServerParameters(
                command=command, args=arguments, env=dict(settings.environment)
            )
            transport = stdio_client(parameters, errlog=errors)
        client = Client(
            transport, read_timeout_seconds=settings.request_seconds, message_handler=on_message, cache=None
        )
        yield await stack.enter_async_context(client)


async def list_tools(client: Client, settings: LiveSettings) -> Listing:
    """Every page of `tools/list`; and of resources and prompts, written as tools, where the server has any.

    Raises:
        SourceError: pages that repeat, or more pages or tools than the settings allow.
    """
    tools = await _pages(client, settings, mcp_types.ListToolsRequest, "tools")
    offers = client.server_capabilities
    if offers.resources is not None:
        tools += map(
            resource_tool, await _offered(client, settings, mcp_types.ListResourcesRequest, "resources")
        )
        templates = mcp_types.ListResourceTemplatesRequest
        tools += map(template_tool, await _offered(client, settings, templates, "resourceTemplates"))
    if offers.prompts is not None:
        tools += map(prompt_tool, await _offered(client, settings, mcp_types.ListPromptsRequest, "prompts"))
    if len(tools) > settings.max_tools:
        raise SourceError("tools/list", f"more than {settings.max_tools:,} tools", "raise max_tools")
    return _listing(client, tools)


async def _offered(
    client: Client, settings: LiveSettings, request: Callable[..., Any], field: str
) -> list[dict[str, Any]]:
    """Like `_pages`; none where the server does not know the request after all."""
    try:
        return await _pages(client, settings, request, field)
    except MCPError as error:
        if error.code != mcp_types.METHOD_NOT_FOUND:
            raise
        return []


async def _pages(
    client: Client, settings: LiveSettings, request: Callable[..., Any], field: str
) -> list[dict[str, Any]]:
    """What a list has on all its pages, as it came: the SDK's models drop what they do not know.

    Args:
        client: an open session.
        settings: its limits.
        request: class of the request.
        field: name of the list in an answer.

    Raises:
        SourceError: pages that repeat, or more pages or entries than the settings allow.
    """
    where = f"{field}/list"
    listed: list[dict[str, Any]] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(settings.max_pages):
        params = mcp_types.PaginatedRequestParams(cursor=cursor)
        page = await client.session.send_request(request(params=params), _PAGES[field])
        listed += page.listed
        if len(listed) > settings.max_tools:
            raise SourceError(where, f"more than {settings.max_tools:,} {field}", "raise max_tools")
        cursor = page.next_cursor
        if not cursor:
            return listed
        if cursor in seen:
            raise SourceError(where, "the server gives the same cursor again: its pages go round")
        seen.add(cursor)
    raise SourceError(where, f"more than {settings.max_pages:,} pages", "raise max_pages")


def _listing(client: Client, tools: list[dict[str, Any]]) -> Listing:
    server = client.server_info
    name, version = (server.name, server.version) if server else ("", "")
    return Listing(name, version, tuple(tools), client.instructions or "")


async def fetch(
    endpoint: McpEndpoint,
    settings: LiveSettings,
    errors: TextIO,
    sockets: httpx2.AsyncBaseTransport | None = None,
) -> Listing:
    """Connects, lists and disconnects, all within `total_seconds`.

    Raises:
        TimeoutError: it took longer.
    """
    with anyio.fail_after(settings.total_seconds):
        idle = settings.request_seconds
        async with connected(endpoint, settings, errors, idle_seconds=idle, sockets=sockets) as client:
            return await list_tools(client, settings)


async def follow(
    endpoint: McpEndpoint, settings: LiveSettings, errors: TextIO, report: Callable[[Listing], None]
) -> None:
    """Reports the tools once listening has begun, then after every announced change, until the server ends.

    Raises:
        AnnouncesNothing: the server does not announce changes.
    """
    changes = Changes()
    async with connected(endpoint, settings, errors, changes) as client:
        await watch_changes(client, settings, report, changes)


async def watch_changes(
    client: Client, settings: LiveSettings, report: Callable[[Listing], None], changes: Changes
) -> None:
    """Like `follow`, on an open session. `changes` receives its notifications.

    Raises:
        AnnouncesNothing: the server does not announce changes.
    """
    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        await _follow_subscription(client, settings, report)
    else:
        await _follow_notifications(client, settings, report, changes)


async def _follow_notifications(
    client: Client, settings: LiveSettings, report: Callable[[Listing], None], changes: Changes
) -> None:
    """Protocols before 2026-07-28: changes arrive unasked, and only a ping shows that the server lives."""
    tools = client.server_capabilities.tools
    if tools is None or not tools.list_changed:
        raise AnnouncesNothing()
    report(await list_tools(client, settings))
    while True:
        if await changes.wait(settings.heartbeat_seconds):
            report(await list_tools(client, settings))
            await anyio.sleep(_REST_SECONDS)
        else:
            await _heartbeat(client)


async def _heartbeat(client: Client) -> None:
    """Pings the server. Any answer shows that it lives, also a refusal: not every server knows pings."""
    try:
        await client.session.send_ping()
    except MCPError as error:
        if error.code != mcp_types.METHOD_NOT_FOUND:
            raise


async def _follow_subscription(
    client: Client, settings: LiveSettings, report: Callable[[Listing], None]
) -> None:
    """Protocol 2026-07-28 and later: changes arrive on a subscribed stream."""
    async with AsyncExitStack() as stack:
        try:
            offers = client.server_capabilities
            wanted = client.listen(
                tools_list_changed=True,
                prompts_list_changed=offers.prompts is not None,
                resources_list_changed=offers.resources is not None,
            )
            subscription = await stack.enter_async_context(wanted)
        except MCPError as error:
            if error.code == mcp_types.METHOD_NOT_FOUND:
                raise AnnouncesNothing() from error
            raise
        if not subscription.honored.tools_list_changed:
            raise AnnouncesNothing()
        report(await list_tools(client, settings))
        async for _ in subscription:
            report(await list_tools(client, settings))
            await anyio.sleep(_REST_SECONDS)


def failure_reason(error: BaseException, settings: LiveSettings) -> str:
    """The first error of the groups that the SDK wraps errors in, in one line."""
    while nested := getattr(error, "exceptions", None):
        error = nested[0]
    if isinstance(error, SourceError):
        return error.what
    if isinstance(error, TimeoutError):
        return f"not everything was listed within {settings.total_seconds:g} s"
    if isinstance(error, httpx2.TimeoutException):
        return f"no answer within {settings.request_seconds:g} s"
    if isinstance(error, MCPError):
        return f"the session failed: {error.message}"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"the answer is no valid tools/list result: {place}: {first['msg']}"
    return f"{type(error).__name__}: {error}"
