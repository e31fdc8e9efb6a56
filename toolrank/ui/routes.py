"""The paths of the explain page, beside those of the service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolrank.ui.desk import Desk
from toolrank.ui.files import file_routes
from toolrank.ui.origin import check_origin
from toolrank.ui.protocol import About, ExplainAnswer, ExplainCall, MarkAnswer, MarkCall
from toolrank_rescorers.service.core import Service
from toolrank_rescorers.service.dialect import Endpoint
from toolrank_rescorers.service.dialects.native import NATIVE
from toolrank_rescorers.service.errors import ServiceError
from toolrank_rescorers.service.http import failed, handler, open_ticket

PREFIX = "/ui"
Handler = Callable[[Request], Awaitable[Response]]
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def page_routes(desk: Desk, service: Service, threads: anyio.CapacityLimiter) -> Sequence[Route]:
    """The page's files, and what it asks: keys, limits and deadlines hold for it as for every endpoint."""
    asked = [
        Route(item.path, _guarded(service, item, threads), methods=[item.method]) for item in _endpoints(desk)
    ]
    return [*file_routes(PREFIX), *asked]


def _endpoints(desk: Desk) -> tuple[Endpoint, ...]:
    def endpoint(name: str, summary: str, types: tuple[Any, Any], answer: Callable[..., Any]) -> Endpoint:
        return Endpoint(
            path=f"{PREFIX}/api/{name}",
            summary=summary,
            dialect=NATIVE,
            request=types[0],
            reply=types[1],
            answer=lambda service, call, ticket: answer(call, ticket),
        )

    return (
        endpoint("about", "What the page can ask", (None, About), desk.about),
        endpoint("explain", "Searches, and tells what happened", (ExplainCall, ExplainAnswer), desk.explain),
        endpoint("mark", "Takes a judgement", (MarkCall, MarkAnswer), desk.mark),
    )


def _guarded(service: Service, endpoint: Endpoint, threads: anyio.CapacityLimiter) -> Handler:
    answer = cast("Handler", handler(service, endpoint, threads))

    async def guarded(request: Request) -> Response:
        try:
            check_origin(request, service.settings.host, bool(service.settings.keys))
        except ServiceError as error:
            return failed(NATIVE, error, open_ticket(request, 1.0))
        response = await answer(request)
        response.headers.update(_HEADERS)
        return response

    return guarded
