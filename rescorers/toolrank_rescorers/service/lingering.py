"""Answers that come before their request has been read to its end: what is left of it is read off."""

from __future__ import annotations

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SECONDS = 2.0
"""How long the rest of a body is waited for."""


class Lingering:
    """An application whose answers arrive, however early they were given.

    A connection that is closed while its caller still sends is reset, and takes the answer with it: who was
    told to come back later would read of a broken connection instead. So the answer goes out at once, all of
    it, and counts as ended once the body has come, or has not for two seconds. What comes is thrown away.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        body = _Body(receive)

        async def lingering(message: Message) -> None:
            if _ends(message) and not body.ended:
                await send({**message, "more_body": True})
                await body.read_off()
                message = {"type": "http.response.body"}
            await send(message)

        await self._app(scope, body.receive, lingering)


def _ends(message: Message) -> bool:
    return message["type"] == "http.response.body" and not message.get("more_body", False)


class _Body:
    """What a caller sends, and whether that was all: it was, too, when the caller has left."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def receive(self) -> Message:
        message = await self._receive()
        self.ended = not message.get("more_body", False)
        return message

    async def read_off(self) -> None:
        with anyio.move_on_after(_SECONDS):
            while not self.ended:
                await self.receive()
