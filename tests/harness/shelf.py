"""An index of which a caller may see those APIs whose id begins in a certain way."""

from __future__ import annotations

from collections.abc import Sequence

from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument


class Shelf:
    """Reads documents of any such id, and remembers what it was asked for."""

    def __init__(self, beginning: str) -> None:
        self._beginning = beginning
        self.asked: list[str] = []

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002 - as in the contract
        self.asked += ids
        shown = [each for each in ids if each.startswith(self._beginning)]
        return [
            ApiDocument(id=each, source="", category="c", tool="t", api=each, description="Does it.")
            for each in shown
        ]
