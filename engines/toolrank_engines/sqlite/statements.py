"""Lists of values in a statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

_VARIABLES = 500
"""Values bound at once; old builds of SQLite take 999."""


def select_in(
    connection: sqlite3.Connection, statement: str, values: Iterable[str | int]
) -> Iterator[tuple[Any, ...]]:
    """Rows of `statement (?, ?, …)` for all values, in no order. The statement ends with `IN`."""
    storable = [value for value in values if not isinstance(value, str) or _has_utf8(value)]
    for start in range(0, len(storable), _VARIABLES):
        chunk = storable[start : start + _VARIABLES]
        yield from connection.execute(f"{statement} ({','.join('?' * len(chunk))})", chunk)


def _has_utf8(text: str) -> bool:
    """A name with a lone surrogate is nobody's: no stored text can equal it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
