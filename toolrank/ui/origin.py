"""Whether a request comes from the page itself, and not from another site that a browser shows."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from toolrank.ui.errors import ForeignOrigin
from toolrank.ui.settings import LOOPBACK


def check_origin(request: Request, host: str, keyed: bool) -> None:
    """Lets through what the page sends, and what no browser sends.

    Where no key is asked for, a server on loopback is called by a loopback name alone: a foreign name that
    resolves to it (DNS rebinding) would make a foreign page the same site. Such a page knows no key.

    Args:
        request: any request of the page.
        host: what the server listens on.
        keyed: whether keys are asked for.

    Raises:
        ForeignOrigin: it comes from elsewhere.
    """
    called = request.headers.get("host", "")
    if not keyed and host in LOOPBACK and _name(called) not in LOOPBACK:
        raise ForeignOrigin(f"host {called[:100]!r}")
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise ForeignOrigin("a request across sites")
    origin = request.headers.get("origin")
    # A proxy may end TLS: then the schemes differ, and the names do not.
    if origin is not None and urlsplit(origin).netloc != called:
        raise ForeignOrigin(f"origin {origin[:100]!r}")


def _name(netloc: str) -> str | None:
    try:
        return urlsplit(f"//{netloc}").hostname
    except ValueError:
        return None
