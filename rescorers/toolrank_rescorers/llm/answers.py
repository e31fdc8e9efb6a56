"""Reading an order out of what a language model wrote, however it wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

Outcome = Literal["ok", "repaired", "unscored", "error"]
"""`ok`: as asked. `repaired`: an order, with repeats, holes or foreign numbers mended. `unscored`: an answer
that holds no order. `error`: no answer."""

MAX_ANSWER = 200_000
"""Characters of an answer that are looked at."""
_JSON = re.compile(r"\{[^{}]*\}|\[[\d\s,\"]*\]")
_LINK = r"\s*(?:>|,|;|→|\n)\s*(?:\d{1,4}[.)]\s*)?"
_BRACKETED = re.compile(rf"\[\s*(\d{{1,4}})\s*\](?:{_LINK}\[\s*\d{{1,4}}\s*\])*")
_BARE = re.compile(r"(?<![\d.])\d{1,4}(?:\s*(?:>|→)\s*\d{1,4})+(?![\d.]*\d)")
_NUMBER = re.compile(r"\[\s*(\d{1,4})\s*\]")


class Ranking(msgspec.Struct, frozen=True):
    """A permutation of 0 … n-1, and how it came about."""

    order: tuple[int, ...]
    outcome: Outcome


def read_ranking(text: str, count: int) -> Ranking:
    """The order of `count` items, numbered from 1 in the answer.

    Understood are `{"ranking": [2, 1]}`, `[2] > [1]`, `[2], [1]`, one `[2]` a line, and `2 > 1`; in an answer
    with several, the one that names most items, the last of equals. Numbers in prose ("the top 20") are no
    order. What an order leaves out follows as it came in.
    """
    given = max(_orders(text[:MAX_ANSWER]), key=lambda order: len(_known(order, count)), default=())
    known = _known(given, count)
    if len(known) < min(2, count):
        return Ranking(tuple(range(count)), "unscored")
    rest = [place for place in range(count) if place not in set(known)]
    exact = len(given) == count and not rest
    return Ranking((*known, *rest), "ok" if exact else "repaired")


def _known(order: Sequence[int], count: int) -> list[int]:
    """Positions from 0, without repeats and foreign numbers."""
    return list(dict.fromkeys(number - 1 for number in order if 1 <= number <= count))


def _orders(text: str) -> list[tuple[int, ...]]:
    """Everything in the text that could be an order, the last first: `max` takes the first of equals."""
    found = [order for match in _JSON.finditer(text) if (order := _decoded(match[0]))]
    found += [tuple(int(n) for n in _NUMBER.findall(match[0])) for match in _BRACKETED.finditer(text)]
    if not found:
        found = [tuple(int(n) for n in re.findall(r"\d+", match[0])) for match in _BARE.finditer(text)]
    return found[::-1]


def _decoded(text: str) -> tuple[int, ...]:
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return ()
    lists = value.values() if isinstance(value, dict) else [value]
    return next((tuple(_numbers(items)) for items in lists if isinstance(items, list)), ())


def _numbers(items: Iterable[object]) -> Iterable[int]:
    for item in items:
        if isinstance(item, int) and not isinstance(item, bool):
            yield item
        elif isinstance(item, str) and item.strip("[] ").isdecimal():
            yield int(item.strip("[] ")[:6])
