"""Checks values of a SQLite file: any column takes values of any type, and anybody may have written them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from kitpick_foundation.decoding import UNDECODABLE, decode_as

T = TypeVar("T")


class DamagedRow(ValueError):
    """A value that kitpick does not write where it stands."""

    def __init__(self, place: str, found: object) -> None:
        super().__init__(
            f"{place} holds {str(found)[:100]!r}, which kitpick did not write: put back a copy, or remove "
            "the file"
        )


def checked(table: str, kinds: Mapping[str, type], rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """The rows, whose values are all of the types that kitpick writes.

    `kinds` has the type of each column of the table, in the order of the rows.

    Raises:
        DamagedRow: names the first column with another value.
    """
    for (column, kind), values in zip(kinds.items(), zip(*rows, strict=True), strict=False):
        for found in values:
            if type(found) is not kind:
                raise DamagedRow(f"{table}.{column}", found)
    return rows


def one_of(place: str, known: Sequence[str], values: Sequence[str]) -> None:
    """Refuses values that there are not.

    Raises:
        DamagedRow: names the first.
    """
    if strange := set(values).difference(known):
        raise DamagedRow(place, min(strange))


def decoded(place: str, found: object, type: type[T]) -> T:  # noqa: A002
    """The JSON value of a cell.

    Raises:
        DamagedRow: it is none, or of another type.
    """
    if not isinstance(found, (bytes, str)):
        raise DamagedRow(place, found)
    try:
        return decode_as(found, type)
    except UNDECODABLE as error:
        raise DamagedRow(place, found) from error
