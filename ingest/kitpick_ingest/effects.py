"""Classifies the effect of calling an API, by what its publisher says about it."""

from __future__ import annotations

from kitpick_engines.document import Effect

_BY_METHOD = {
    "GET": Effect.READ,
    "HEAD": Effect.READ,
    "OPTIONS": Effect.READ,
    "TRACE": Effect.READ,
    "POST": Effect.WRITE,
    "PUT": Effect.WRITE,
    "PATCH": Effect.WRITE,
    "DELETE": Effect.DESTRUCTIVE,
}


def effect_of_method(method: str | None) -> Effect:
    """Effect of an HTTP method by its defined semantics (RFC 9110 §9.2.1: safe methods only read)."""
    return _BY_METHOD.get((method or "").strip().upper(), Effect.UNKNOWN)


def effect_of_hints(read_only: bool | None, destructive: bool | None) -> Effect:
    """Effect of an MCP tool by its annotations `readOnlyHint` and `destructiveHint`.

    The MCP schema says of a tool that is not read-only that it may be destructive unless it denies it. A tool
    without either hint says nothing.
    """
    if read_only:
        return Effect.READ
    if destructive or (destructive is None and read_only is False):
        return Effect.DESTRUCTIVE
    if destructive is False:
        return Effect.WRITE
    return Effect.UNKNOWN
