"""Keys that stand more than once in one JSON object. Parsers keep a single value: the others are lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kitpick_ingest.json_files import Entry, within
from kitpick_ingest.source import MAX_EXCERPT, DeadLetter

MAX_REPEATED = 1_000
"""How many repeated keys of one document are named."""


def repeated_keys(data: bytes) -> list[tuple[str, ...]]:
    """The places of keys that an object has more than once; none where the data is no JSON.

    Memory beside the text is that of one object's keys, unless there is such a key.
    """
    repeated = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated = repeated or len(dict(pairs)) != len(pairs)

    if _decoded(data, look) is _NOTHING or not repeated:
        return []
    return list(_places(_decoded(data, tuple)))[:MAX_REPEATED]


def lost_values(source: str, where: str, places: list[tuple[str, ...]]) -> Iterator[DeadLetter]:
    """A dead letter for each of these keys.

    Args:
        source: owner of the documents.
        where: the position of the document that they stand in.
        places: where in it.
    """
    for place in places:
        why = f"the key {place[-1][:MAX_EXCERPT]!r} stands more than once: only its last value is read"
        yield DeadLetter(source, within(where, *place), why)


def repeated_in(source: str, entry: Entry) -> Iterator[DeadLetter]:
    """A dead letter for each key that stands more than once in an entry."""
    yield from lost_values(source, entry.position, repeated_keys(entry.raw))


_NOTHING = object()


def _decoded(data: bytes, objects: Any) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(data, object_pairs_hook=objects, parse_int=bool, parse_float=bool)
    except (ValueError, RecursionError):  # whoever reads the value says what is wrong
        return _NOTHING


def _places(value: Any) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - any JSON value
    """Objects are tuples of pairs here, lists are lists."""
    pending: list[tuple[Any, tuple[str, ...]]] = [(value, ())]
    while pending:
        node, path = pending.pop()
        if isinstance(node, tuple):
            seen: set[str] = set()
            told: set[str] = set()
            for key, _ in node:
                if key in seen and key not in told:
                    told.add(key)
                    yield (*path, key)
                seen.add(key)
            pending += [(each, (*path, key)) for key, each in reversed(node)]
        elif isinstance(node, list):
            pending += [(each, (*path, str(index))) for index, each in reversed(list(enumerate(node)))]
