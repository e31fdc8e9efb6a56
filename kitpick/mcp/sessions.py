"""Bounds what a caller keeps open over HTTP, streams and sessions: no caller takes those of others."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_SESSIONS = 4_000
"""Open at the same time, about 40 KB each; the SDK would refuse all callers beyond 10,000 of anybody."""
_SESSION = b"mcp-session-id"
_REFUSED, _GONE = 400, 404


class BoundedRequests:
    """An application that has so many requests of one caller open at a time, endless streams included."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        """Stands behind the check of tokens, which says who the caller is."""
        self._app = app
        self._most = most
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; 429 where its caller has too many."""
        caller = _caller_of(scope)
        if scope["type"] == "http" and self._open[caller] >= self._most:
            said = f"{self._most:,} requests of this caller are open already: come back later\n"
            await PlainTextResponse(said, 429, {"retry-after": "1"})(scope, receive, send)
            return
        self._open[caller] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]


class BoundedSessions:
    """An application in which a session ends where there are too many: the one used longest ago.

    It is one of the caller who has most. Its client is told that there is none of that id, and opens
    another.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stands behind the check of tokens, which says who the caller is."""
        self._app = app
        self._open: dict[str, OrderedDict[bytes, Any]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        user, caller = scope.get("user"), _caller_of(scope)
        asked = _session_of(scope["headers"])
        mine = self._open.get(caller)
        if mine and asked in mine:
            mine.move_to_end(asked)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(caller, user, asked or _session_of(message["headers"]), message["status"])
            await send(message)

        await self._app(scope, receive, sent)
        if scope["method"] == "DELETE":
            self._forget(caller, asked)
        while sum(map(len, self._open.values())) > MOST_SESSIONS:
            most = max(self._open, key=lambda each: len(self._open[each]))
            session, its_user = next(iter(self._open[most].items()))
            self._forget(most, session)
            await self._end(scope, session, its_user)

    def _note(self, caller: str, user: Any, session: bytes, status: int) -> None:  # noqa: ANN401 - of Starlette
        if status == _GONE:
            self._forget(caller, session)
        elif session and status < _REFUSED:
            self._open.setdefault(caller, OrderedDict()).setdefault(session, user)

    def _forget(self, caller: str, session: bytes) -> None:
        mine = self._open.get(caller)
        if mine and session in mine:
            del mine[session]
            if not mine:
                del self._open[caller]

    async def _end(self, scope: Scope, session: bytes, user: Any) -> None:  # noqa: ANN401 - as above
        """Ends a session as its own client does."""
        headers = [(name, value) for name, value in scope["headers"] if name in (b"host", b"origin")]
        asked = {**scope, "method": "DELETE", "headers": [*headers, (_SESSION, session)], "user": user}
        await self._app(asked, _no_body, _unsent)


def _caller_of(scope: Scope) -> str:
    return str(getattr(scope.get("user"), "display_name", ""))


def _session_of(headers: Any) -> bytes:  # noqa: ANN401 - pairs of bytes, as ASGI has them
    return next((bytes(value) for name, value in headers if name == _SESSION), b"")


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unsent(message: Message) -> None:
    return
