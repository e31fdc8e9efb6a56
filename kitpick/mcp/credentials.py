"""Credentials of a caller for an upstream server: used for one request, stored nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from kitpick.mcp.config import UpstreamConfig

_HEADERS: ContextVar[Mapping[str, str]] = ContextVar("_HEADERS", default={})  # noqa: B039 - never written to


@contextmanager
def bringing(headers: Mapping[str, str]) -> Iterator[None]:
    """A context in which these headers of a request (lower-case names) can be passed on."""
    token = _HEADERS.set(headers)
    try:
        yield
    finally:
        _HEADERS.reset(token)


def brought(config: UpstreamConfig) -> dict[str, str]:
    """Headers for this server, from those of the request that is being answered."""
    given = _HEADERS.get()
    return {theirs: given[ours.lower()] for ours, theirs in config.forward.items() if ours.lower() in given}


def lacking(config: UpstreamConfig) -> str:
    """Why this request cannot be passed on to this server; empty where it can."""
    given = _HEADERS.get()
    missing = [ours for ours in config.forward if ours.lower() not in given]
    return f"send your own credentials with it, in the header {', '.join(missing)}" if missing else ""
