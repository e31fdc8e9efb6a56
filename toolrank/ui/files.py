"""The page's own files, served as they lie beside this module."""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable, Iterator
from importlib import resources

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
"""Nothing is loaded from elsewhere, nothing inline runs, no text ever becomes markup."""
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}


def file_routes(prefix: str) -> Iterator[Route]:
    """A route for every file, and for the page itself. They hold nothing of the catalog, so need no key."""
    for entry in sorted((resources.files(__package__) / "page").iterdir(), key=lambda item: item.name):
        kind = mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
        path = f"{prefix}/" if entry.name == "index.html" else f"{prefix}/{entry.name}"
        yield _file(path, entry.read_bytes(), kind)
    yield Route(prefix, _to_page(prefix))


def _file(path: str, content: bytes, kind: str) -> Route:
    async def answer(request: Request) -> Response:
        return Response(content, media_type=kind, headers=HEADERS)

    return Route(path, answer)


def _to_page(prefix: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        # Relative: a proxy may have put the service below a path of its own.
        return RedirectResponse(f"{prefix.rpartition('/')[2]}/", status_code=308)

    return answer
