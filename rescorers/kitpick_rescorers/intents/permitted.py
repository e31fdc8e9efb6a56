"""Finds the best entries of a ranking among those that the caller may see.

Only the index knows what a caller may see. So entries are looked up page by page, until there are enough:
those of hidden APIs displace no others, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_rescorers.contracts import SearchedIndex

T = TypeVar("T")
_PAGE = 1_000
"""How many entries are checked at first …"""
_GROWTH = 4
"""… and so many times more each time after that."""


class PermittedApis:
    """Documents of an index that a caller may see, each read once, when somebody first asks for it."""

    def __init__(self, index: SearchedIndex, permitted: Filter) -> None:
        self.permitted = permitted
        self.documents: dict[str, ApiDocument] = {}
        """Those that were read, by id."""
        self._index = index
        self._asked: set[str] = set()

    def read(self, ids: Iterable[str]) -> None:
        """Reads those that nobody has asked for yet, together."""
        fresh = [each for each in dict.fromkeys(ids) if each not in self._asked]
        if fresh:
            self._asked.update(fresh)
            self.documents |= {found.id: found for found in self._index.fetch(fresh, self.permitted)}


class ApiRanking(Generic[T]):
    """Entries that name an API each, best first."""

    def __init__(self, entries: Sequence[T], api_of: Callable[[T], str], most: int) -> None:
        """`most` entries are wanted of it."""
        self.entries = entries
        self._api_of = api_of
        self._most = most

    @property
    def head(self) -> list[str]:
        """The APIs that are asked for at first: of several rankings, together."""
        return [self._api_of(each) for each in self.entries[:_PAGE]]

    def first(self, apis: PermittedApis) -> list[T]:
        """The first entries of APIs that may be seen."""
        kept: list[T] = []
        start, size = 0, _PAGE
        while len(kept) < self._most and start < len(self.entries):
            page = self.entries[start : start + size]
            apis.read(map(self._api_of, page))
            kept += [each for each in page if self._api_of(each) in apis.documents]
            start, size = start + size, size * _GROWTH
        return kept[: self._most]
