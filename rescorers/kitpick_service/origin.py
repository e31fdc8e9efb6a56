"""Detects requests that a browser sends for another site."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def foreign_reason(headers: Mapping[str, str], on_loopback: bool) -> str:
    """Why a request is taken for one of another site; empty if it is not.

    A server on loopback is called by a loopback name alone: a foreign name that resolves to it (DNS
    rebinding) would make a foreign page the same site.
    """
    called = headers.get("host", "")
    if on_loopback and _name(called) not in LOOPBACK:
        return f"host {called[:100]!r}"
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return "a request across sites"
    origin = headers.get("origin")
    # A proxy may end TLS: then the schemes differ, and the names do not.
    if origin is not None and origin.partition("://")[2] != called:
        return f"origin {origin[:100]!r}"
    return ""


def _name(netloc: str) -> str | None:
    try:
        return urlsplit(f"//{netloc}").hostname
    except ValueError:
        return None
