"""A stream of messages of the SDK: the base of streams that change incoming messages."""

from __future__ import annotations

from types import TracebackType
from typing import Any, cast

import anyio
from mcp.shared.message import SessionMessage

Message = SessionMessage | Exception


class MessageStream:
    """The messages of another stream."""

    def __init__(self, messages: Any) -> None:  # noqa: ANN401 - a stream of the SDK
        self._messages = messages

    @property
    def last_context(self) -> Any:  # noqa: ANN401 - as the SDK's stream
        """Context of the newest message, where the transport keeps it."""
        return getattr(self._messages, "last_context", None)

    async def receive(self) -> Message:
        """The next message."""
        return cast(Message, await self._messages.receive())

    async def aclose(self) -> None:
        """Ends it."""
        await self._messages.aclose()

    def __aiter__(self) -> MessageStream:
        return self

    async def __anext__(self) -> Message:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> MessageStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
