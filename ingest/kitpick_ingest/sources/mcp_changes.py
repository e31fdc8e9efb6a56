"""The changes that a live MCP server announces."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

import anyio
import mcp_types
from mcp import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from kitpick_ingest.errors import SourceError
from kitpick_ingest.sources.mcp_endpoint import Listing, LiveSettings, McpEndpoint
from kitpick_ingest.sources.mcp_listing import list_tools
from kitpick_ingest.sources.mcp_output import ServerOutput
from kitpick_ingest.sources.mcp_session import Connection, SessionEnded, connected

_REST_SECONDS = 0.2
"""Seconds between two listings, for servers that announce changes without end."""
_CHANGES = (
    mcp_types.ToolListChangedNotification,
    mcp_types.ResourceListChangedNotification,
    mcp_types.PromptListChangedNotification,
)
Report = Callable[[Listing], None]


class AnnouncesNothing(SourceError):
    """A server that does not say that it announces changes."""

    def __init__(self) -> None:
        super().__init__("tools/list", "the server does not announce changes", "read it from time to time")


class Changes:
    """Records announced changes."""

    def __init__(self) -> None:
        self._announced = anyio.Event()

    async def __call__(self, message: object) -> None:
        """Takes every notification of a session."""
        if isinstance(message, _CHANGES):
            self._announced.set()

    async def wait(self, seconds: float, ended: anyio.Event) -> bool:
        """Whether a change was announced since the last call, at the latest after these seconds.

        Raises:
            SessionEnded: the session ended, and nothing was announced before.
        """
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as group:
                for event in (self._announced, ended):
                    group.start_soon(_cancel_after, event, group.cancel_scope)
        announced = self._announced.is_set()
        if announced:
            self._announced = anyio.Event()
        elif ended.is_set():
            raise SessionEnded()
        return announced


async def _cancel_after(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


async def follow(endpoint: McpEndpoint, settings: LiveSettings, output: ServerOutput, report: Report) -> None:
    """Reports the tools once listening has begun, then after every announced change, until the server ends.

    Raises:
        AnnouncesNothing: the server does not announce changes.
    """
    changes = Changes()
    async with connected(endpoint, settings, output, changes) as connection:
        await watch_changes(connection, settings, report, changes)


async def watch_changes(
    connection: Connection, settings: LiveSettings, report: Report, changes: Changes
) -> None:
    """Like `follow`, on an open session. `changes` receives its notifications."""
    if connection.client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        await _follow_subscription(connection, settings, report)
    else:
        await _follow_notifications(connection, settings, report, changes)


async def watch_unsaid(
    connection: Connection, settings: LiveSettings, report: Report, changes: Changes
) -> None:
    """Reports the tools, and again after each change that a server announces without having said so."""
    report(await list_tools(connection, settings))
    while True:
        if await changes.wait(settings.total_seconds, connection.ended):
            report(await list_tools(connection, settings))
            await anyio.sleep(_REST_SECONDS)


async def _follow_notifications(
    connection: Connection, settings: LiveSettings, report: Report, changes: Changes
) -> None:
    """Protocols before 2026-07-28: changes arrive unasked, and a ping shows that a silent server lives."""
    tools = connection.client.server_capabilities.tools
    if tools is None or not tools.list_changed:
        raise AnnouncesNothing()
    report(await list_tools(connection, settings))
    while True:
        if await changes.wait(settings.heartbeat_seconds, connection.ended):
            report(await list_tools(connection, settings))
            await anyio.sleep(_REST_SECONDS)
        else:
            await _heartbeat(connection)


async def _heartbeat(connection: Connection) -> None:
    """Pings the server. Any answer shows that it lives, also a refusal: not every server knows pings."""
    try:
        await connection.client.session.send_ping()
    except MCPError as error:
        if connection.ended.is_set() or error.code == mcp_types.REQUEST_TIMEOUT:
            raise


async def _follow_subscription(connection: Connection, settings: LiveSettings, report: Report) -> None:
    """Protocol 2026-07-28 and later: changes arrive on a subscribed stream."""
    async with AsyncExitStack() as stack:
        try:
            offers = connection.client.server_capabilities
            wanted = connection.client.listen(
                tools_list_changed=True,
                prompts_list_changed=offers.prompts is not None,
                resources_list_changed=offers.resources is not None,
            )
            subscription = await stack.enter_async_context(wanted)
        except MCPError as error:
            if connection.ended.is_set():
                raise
            raise AnnouncesNothing() from error
        if not subscription.honored.tools_list_changed:
            raise AnnouncesNothing()
        report(await list_tools(connection, settings))
        async for _ in subscription:
            report(await list_tools(connection, settings))
            await anyio.sleep(_REST_SECONDS)
