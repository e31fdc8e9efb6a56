"""Bounds how long the server waits for the body of an HTTP request, and shortens that when it stops."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kitpick_ingest.json_files import without_lone_surrogates
from kitpick_service.connections import ConnectionCount
from kitpick_service.waits import Waits

BODY_SECONDS = 60.0
"""How long the server waits for the whole body of a request."""
_BEGUN_ESCAPE = re.compile(rb"(?<!\\)(\\+)(?:u[0-9a-fA-F]{0,4}(?:\\(?:u[0-9a-fA-F]{0,4})?)?)?$")
"""What the next part of a body may make a pair of surrogates of."""


class ArrivingRequests:
    """An application whose requests are cancelled when their body does not come whole in time.

    While too many connections are open, requests are told to come back later.
    """

    def __init__(self, app: ASGIApp, waits: Waits, connections: ConnectionCount) -> None:
        self._app = app
        self._waits = waits
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, with 503 or 408 where its body did not come."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._connections.too_many:
            await self._turned_away()(scope, receive, send)
            return
        answered = False

        async def sent(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        with anyio.CancelScope() as request:
            await self._app(scope, _Arriving(receive, self._waits, request).receive, sent)
        if request.cancelled_caught and not answered:
            await self._refusal()(scope, receive, send)

    def _turned_away(self) -> PlainTextResponse:
        said = f"{self._connections.most:,} connections are open already: come back later\n"
        return PlainTextResponse(said, 503, {"connection": "close", "retry-after": "1"})

    def _refusal(self) -> PlainTextResponse:
        if self._waits.draining:
            return PlainTextResponse("this server stops, and the body was not whole\n", 503)
        return PlainTextResponse(f"the body did not arrive within {BODY_SECONDS:g} s\n", 408)


class _Arriving:
    """The messages of one request. Lone surrogates are replaced: the SDK refuses the whole body for one."""

    def __init__(self, receive: Receive, waits: Waits, request: anyio.CancelScope) -> None:
        self._receive = receive
        self._waits = waits
        self._request = request
        self._until = anyio.current_time() + BODY_SECONDS
        self._whole = False
        self._held = b""

    async def receive(self) -> Message:
        """The next message: once the body is whole it may be waited for as long as the caller stays."""
        if self._whole:
            return await self._receive()
        with self._waits.waiting(self._until - anyio.current_time()) as wait:
            message = await self._receive()
        if wait.cancelled_caught:
            self._request.cancel()
            await checkpoint()  # the request ends here
            return {"type": "http.disconnect"}
        self._whole = not message.get("more_body", False)
        return self._repaired(message) if message["type"] == "http.request" else message

    def _repaired(self, message: Message) -> MutableMapping[str, Any]:
        data, self._held = self._held + message.get("body", b""), b""
        if not self._whole and (begun := _BEGUN_ESCAPE.search(data)) is not None:
            # Pairs of backslashes are text, and go on: what is held stays short, however many come.
            held_from = begun.start() + (len(begun[1]) - 1) // 2 * 2
            data, self._held = data[:held_from], data[held_from:]
        return {**message, "body": without_lone_surrogates(data)}
