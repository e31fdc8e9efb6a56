"""The clients that want to know when the server lists other tools than before."""

from __future__ import annotations

import anyio
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

_PATIENCE_SECONDS = 5.0
"""For a client that does not read what it is sent."""


class Listeners:
    """Tells clients that the list changed.

    Since protocol 2026-07-28 clients subscribe. Before, they are told unasked: the one on standard streams
    is; over HTTP, clients of older protocols list again when they want to know.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.handler = ListenHandler(self._bus)
        """Answers subscriptions."""
        self._older: ServerSession | None = None

    def remember(self, session: ServerSession) -> None:
        """The session of the client on standard streams."""
        if session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._older = session

    async def announce(self) -> None:
        """Tells them all."""
        await self._bus.publish(ToolsListChanged())
        if self._older is not None:
            with anyio.move_on_after(_PATIENCE_SECONDS):
                await self._older.send_tool_list_changed()
