"""The clients that are notified when the list of tools changes."""

from __future__ import annotations

from collections import OrderedDict

import anyio
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

MAX_OLDER = 1_000
"""Clients of older protocols that are notified: those that listed tools latest."""
_PATIENCE_SECONDS = 5.0
"""How long a client may take to read a notification."""


class Listeners:
    """Notifies clients that the list changed.

    Since protocol 2026-07-28 clients subscribe. Older ones are notified once they have listed tools: on
    standard streams, and over HTTP on the stream of events that they keep open.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.handler = ListenHandler(self._bus)
        """Answers subscriptions."""
        self._older: OrderedDict[str, ServerSession] = OrderedDict()

    def remember(self, session: ServerSession, name: str = "") -> None:
        """The session of a client that listed tools; `name` is its id over HTTP, else empty."""
        if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        self._older[name] = session
        self._older.move_to_end(name)
        while len(self._older) > MAX_OLDER:
            self._older.popitem(last=False)

    async def announce(self) -> None:
        """Notifies all of them, side by side. A client that cannot be reached any more is forgotten."""
        await self._bus.publish(ToolsListChanged())
        async with anyio.create_task_group() as group:
            for name, session in list(self._older.items()):
                group.start_soon(self._notify, name, session)

    async def _notify(self, name: str, session: ServerSession) -> None:
        with anyio.move_on_after(_PATIENCE_SECONDS) as scope:
            try:
                await session.send_tool_list_changed()
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                scope.cancel()
        if scope.cancel_called and self._older.get(name) is session:
            del self._older[name]
