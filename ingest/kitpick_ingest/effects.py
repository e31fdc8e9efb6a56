"""Classifies the effect of calling an API, by what its publisher says about it."""

from __future__ import annotations

from kitpick_engines.document import Effect
from kitpick_engines.text import split_identifier

_BY_METHOD = {
    "GET": Effect.READ,
    "HEAD": Effect.READ,
    "OPTIONS": Effect.READ,
    "TRACE": Effect.READ,
    "QUERY": Effect.READ,
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

    Of a tool that only says that it is not read-only, the MCP schema assumes the worst. But those who write
    servers say so of whatever stores something, so it counts as writing. A tool without either hint says
    nothing.
    """
    if read_only:
        return Effect.READ
    if destructive:
        return Effect.DESTRUCTIVE
    if destructive is False or read_only is False:
        return Effect.WRITE
    return Effect.UNKNOWN


def _verbs(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READS = _verbs("get list find fetch search show view read check count describe is has can should")
_TAKES_BACK = _verbs("cancel revoke void delete remove destroy terminate purge erase wipe")
_AND = _verbs("and then or")
_GIVES_BACK = _verbs("refund reimburse repay")


def effect_of_function_name(name: str) -> Effect:
    """Effect of a function by a verb of its name that takes something back: nothing else says what it does.

    `cancelOrder` and `subscription_cancel` are destructive, `refund_charge` and `create_refund` write,
    `get_refund` and all others say nothing. Of `find_and_delete`, what comes second counts.
    """
    words = split_identifier(name.rpartition(".")[2]).lower().split()
    seconds = [place + 1 for place, word in enumerate(words) if word in _AND]
    if words and words[0] in _READS:
        words = words[seconds[0] :] if seconds else []
    if not words or words[0] in _READS:
        return Effect.UNKNOWN
    if not _TAKES_BACK.isdisjoint(words):
        return Effect.DESTRUCTIVE
    return Effect.UNKNOWN if _GIVES_BACK.isdisjoint(words) else Effect.WRITE
