"""The paths of the explain page, and the checks of who may call them."""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib import resources
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from kitpick.served import endpoint, guarded_routes
from kitpick.ui.desk import Desk
from kitpick.ui.protocol import (
    About,
    AdaptCall,
    AdaptState,
    AdaptStop,
    BrowseCall,
    CheckAnswer,
    CheckCall,
    ExplainAnswer,
    ExplainCall,
    MarkAnswer,
    MarkCall,
    Overview,
    Shelf,
    ShowCall,
    ShownApi,
)
from kitpick_service.core import Service
from kitpick_service.dialect import Endpoint
from kitpick_service.ticket import Ticket

PREFIX = "/ui"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""Nothing is loaded from elsewhere, nothing inline runs, no text ever becomes markup."""
FILE_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}


def page_routes(desk: Desk, service: Service, threads: anyio.CapacityLimiter) -> Sequence[Route]:
    """Routes of the page: its files and its requests, with keys, limits and deadlines as everywhere."""
    return [*file_routes(PREFIX), *guarded_routes(service, page_endpoints(desk), threads)]


def page_endpoints(desk: Desk) -> tuple[Endpoint, ...]:
    """What the page asks with, and who answers."""
    adapting = desk.adaptations
    asked: dict[str, tuple[str, tuple[Any, Any], Callable[[Any, Ticket], object]]] = {
        "about": ("What the page can ask", (None, About), desk.about),
        "overview": ("What stands in the catalog", (None, Overview), desk.overview),
        "browse": ("A category, or a tool of it", (BrowseCall, Shelf), desk.browse),
        "show": ("An API, whole", (ShowCall, ShownApi), desk.show),
        "check": ("Looks for APIs that are hard to find", (CheckCall, CheckAnswer), desk.check),
        "adapting": ("How far a profile is adapted", (None, AdaptState), adapting.adapting),
        "adapt": ("Adapts the profile to the catalog", (AdaptCall, AdaptState), adapting.adapt),
        "stop-adapting": ("Ends that", (AdaptStop, AdaptState), adapting.stop),
        "explain": ("Searches, and tells what happened", (ExplainCall, ExplainAnswer), desk.explain),
        "mark": ("Takes a judgement", (MarkCall, MarkAnswer), desk.mark),
    }
    return tuple(endpoint(f"{PREFIX}/api/{name}", *what) for name, what in asked.items())


def file_routes(prefix: str) -> Iterator[Route]:
    """A route for every file, and for the page itself. They hold nothing of the catalog, so need no key."""
    for entry in sorted((resources.files(__package__) / "page").iterdir(), key=lambda item: item.name):
        kind = mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
        path = f"{prefix}/" if entry.name == "index.html" else f"{prefix}/{entry.name}"
        yield _file(path, entry.read_bytes(), kind)
    page = f"{prefix.rpartition('/')[2]}/"
    yield Route(prefix, _redirect(page, 308))
    # For now: what else is served under / another day must not be hidden by a browser that remembers.
    yield Route("/", _redirect(page, 307))


def _file(path: str, content: bytes, kind: str) -> Route:
    async def answer(request: Request) -> Response:
        return Response(content, media_type=kind, headers=FILE_HEADERS)

    return Route(path, answer)


def _redirect(target: str, status: int) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        # Relative: a proxy may have put the service below a path of its own.
        return RedirectResponse(target, status_code=status)

    return answer
