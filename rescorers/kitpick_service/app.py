"""The ASGI application: maps paths to endpoints, and errors to the format of their dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kitpick_service import health
from kitpick_service.core import Service
from kitpick_service.dialect import Dialect, Endpoint
from kitpick_service.dialects import cohere, native, openai, search, tei
from kitpick_service.errors import (
    Forbidden,
    Malformed,
    MethodNotAllowed,
    NotFound,
    ServiceError,
    Unready,
)
from kitpick_service.gate import Gate
from kitpick_service.http import authorization, failed, handler, open_ticket
from kitpick_service.openapi import description, page
from kitpick_service.origin import LOOPBACK, foreign_reason

ENDPOINTS: tuple[Endpoint, ...] = (
    *native.ENDPOINTS,
    *search.ENDPOINTS,
    *cohere.ENDPOINTS,
    *tei.ENDPOINTS,
    *openai.ENDPOINTS,
    *health.ENDPOINTS,
)

_ASKED = frozenset(endpoint.path for endpoint in ENDPOINTS if endpoint.request is not None)
_LINGER_SECONDS = 2.0
"""How long the rest of a body is waited for, once its answer has been sent."""
_FAMILIES = {"/v2/": cohere.DIALECT, "/v1/models/": openai.DIALECT, "/v1/embeddings/": openai.DIALECT}
"""Beginnings of paths that belong to one dialect alone."""

Addition = Callable[[Service, anyio.CapacityLimiter], Sequence[Route]]
"""Routes that stand beside the service, made from it and from the threads that its answers run in."""

_SPARE_THREADS = 8
"""Beyond those of admitted requests: health checks are answered also when everything else is busy."""


def application(service: Service, addition: Addition | None = None) -> Starlette:
    """The ASGI application of a service. It answers no cross-origin requests."""
    threads = anyio.CapacityLimiter(service.settings.max_requests + _SPARE_THREADS)
    routes = [
        Route(endpoint.path, handler(service, endpoint, threads), methods=[endpoint.method])
        for endpoint in ENDPOINTS
    ]
    routes += _documents(service)
    if addition is not None:
        routes += addition(service, threads)
    return Starlette(
        routes=routes,
        middleware=[Middleware(Lingering, gate=service.gate), Middleware(Doorway, service=service)],
        exception_handlers={HTTPException: _outside},
    )


class Doorway:
    """Refuses requests before they reach an endpoint, in the error format of the dialect of their path."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        reason = self._reason(scope) if scope["type"] == "http" else None
        if reason is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        response = failed(_dialect_at(request.url.path), reason, open_ticket(request, 1.0))
        response.headers["connection"] = "close"
        await response(scope, receive, send)

    def _reason(self, scope: Scope) -> ServiceError | None:
        if self._service.connections.too_many:
            return Unready(f"{self._service.connections.most:,} connections are open already")
        names = {name for name, _ in scope["headers"]}
        if {b"content-length", b"transfer-encoding"} <= names:
            # Whoever stands between may believe the other one, and take the rest for a second request.
            return Malformed("both Content-Length and Transfer-Encoding")
        asked = scope["method"] == "POST" and scope["path"] in _ASKED
        return self._foreign(Headers(scope=scope)) if asked else None

    def _foreign(self, headers: Headers) -> ServiceError | None:
        """Refuses requests that a browser sends for another site, if the service has no keys.

        A body of plain text needs no permission of the browser: another site could keep a service on
        loopback busy and, by a name that it lets resolve to it, read the answers.
        """
        settings = self._service.settings
        if settings.keys or ("origin" not in headers and "sec-fetch-site" not in headers):
            return None
        if foreign_reason(headers, settings.host in LOOPBACK):
            return Forbidden("a browser asks on behalf of another site: without keys that is refused")
        return None


class Lingering:
    """An application that reads the rest of a request body before it closes, so that early answers arrive.

    A connection that is closed while its caller still sends is reset, and takes the answer with it: who was
    told to come back later would read of a broken connection instead. So the answer goes out at once, all of
    it, and counts as ended once the body has come, or has not for two seconds (0.3 where the process
    stops). What comes is thrown away.
    """

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        body = _RequestBody(receive)

        async def lingering(message: Message) -> None:
            if _ends(message) and not body.ended:
                await send({**message, "more_body": True})
                with self._gate.waiting(_LINGER_SECONDS):
                    await body.read_off()
                message = {"type": "http.response.body"}
            await send(message)

        await self._app(scope, body.receive, lingering)


def _ends(message: Message) -> bool:
    return message["type"] == "http.response.body" and not message.get("more_body", False)


class _RequestBody:
    """The body of a request, and whether its end was reached, which is also so after a disconnect."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def receive(self) -> Message:
        message = await self._receive()
        self.ended = not message.get("more_body", False)
        return message

    async def read_off(self) -> None:
        while not self.ended:
            await self.receive()


def _documents(service: Service) -> list[Route]:
    """Routes outside of the dialects: metrics and the description of the API."""
    document = description(ENDPOINTS, keyed=bool(service.settings.keys))
    encoded, readable = msgspec.json.encode(document), page(document)

    async def metrics(request: Request) -> Response:
        if not service.settings.open_metrics:
            said = authorization(request)
            await service.keys.prepare(said)
            try:
                with service.keys.admit(said):
                    pass
            except ServiceError as error:
                return failed(native.NATIVE, error, open_ticket(request, 1.0))
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    async def machine(request: Request) -> Response:
        return Response(encoded, media_type="application/json")

    async def human(request: Request) -> Response:
        return Response(readable, media_type="text/html")

    return [Route("/metrics", metrics), Route("/openapi.json", machine), Route("/docs", human)]


async def _outside(request: Request, error: Exception) -> Response:
    """Answers requests for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    ticket = open_ticket(request, 1.0)
    return failed(_dialect_at(request.url.path), _reason(request, error), ticket)


def _reason(request: Request, error: HTTPException) -> ServiceError:
    if error.status_code == 405:
        return MethodNotAllowed((error.headers or {}).get("Allow", "another method"))
    return NotFound(f"no such path: {request.url.path[:200]}")


def _dialect_at(path: str) -> Dialect:
    """The dialect of the endpoint at this path, else of endpoints whose paths begin like it."""
    for endpoint in ENDPOINTS:
        if compile_path(endpoint.path)[0].match(path):
            return endpoint.dialect
    families = (dialect for name, dialect in _FAMILIES.items() if path.startswith(name))
    return next(families, native.NATIVE)
