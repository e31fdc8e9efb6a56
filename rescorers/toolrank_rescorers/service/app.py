"""The ASGI application: every endpoint on its path, every failure in the words of its dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrank_rescorers.service import health
from toolrank_rescorers.service.core import Service
from toolrank_rescorers.service.dialect import Dialect, Endpoint
from toolrank_rescorers.service.dialects import cohere, native, openai, tei
from toolrank_rescorers.service.errors import MethodNotAllowed, NotFound, ServiceError
from toolrank_rescorers.service.http import failed, handler, open_ticket
from toolrank_rescorers.service.lingering import Lingering
from toolrank_rescorers.service.openapi import description, page

ENDPOINTS: tuple[Endpoint, ...] = (
    *native.ENDPOINTS,
    *cohere.ENDPOINTS,
    *tei.ENDPOINTS,
    *openai.ENDPOINTS,
    *health.ENDPOINTS,
)

Addition = Callable[[Service, anyio.CapacityLimiter], Sequence[Route]]
"""Routes that stand beside the service, made from it and from the threads that its answers run in."""

_SPARE_THREADS = 8
"""Beyond those of admitted requests: health must be told when everything else is busy."""


def application(service: Service, addition: Addition | None = None) -> Starlette:
    """The application over a service. Cross-origin requests are not answered: no other site calls this."""
    threads = anyio.CapacityLimiter(service.settings.max_requests + _SPARE_THREADS)
    routes = [
        Route(endpoint.path, handler(service, endpoint, threads), methods=[endpoint.method])
        for endpoint in ENDPOINTS
    ]
    routes += _documents(service)
    if addition is not None:
        routes += addition(service, threads)
    return Starlette(
        routes=routes, middleware=[Middleware(Lingering)], exception_handlers={HTTPException: _outside}
    )


def _documents(service: Service) -> list[Route]:
    """What is not JSON of a dialect: metrics, and the description of everything else."""
    document = description(ENDPOINTS, keyed=bool(service.settings.keys))
    encoded, readable = msgspec.json.encode(document), page(document)

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    async def machine(request: Request) -> Response:
        return Response(encoded, media_type="application/json")

    async def human(request: Request) -> Response:
        return Response(readable, media_type="text/html")

    return [Route("/metrics", metrics), Route("/openapi.json", machine), Route("/docs", human)]


async def _outside(request: Request, error: Exception) -> Response:
    """Unknown paths and methods, which no endpoint saw."""
    assert isinstance(error, HTTPException)
    ticket = open_ticket(request, 1.0)
    return failed(_dialect_at(request.url.path), _reason(request, error), ticket)


def _reason(request: Request, error: HTTPException) -> ServiceError:
    if error.status_code == 405:
        return MethodNotAllowed((error.headers or {}).get("Allow", "another method"))
    return NotFound(f"no such path: {request.url.path[:200]}")


def _dialect_at(path: str) -> Dialect:
    found = next((endpoint.dialect for endpoint in ENDPOINTS if endpoint.path == path), None)
    return found or native.NATIVE
