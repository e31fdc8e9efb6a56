"""Fetches what a pipeline says it needs, with the permissions of whoever asked."""

from __future__ import annotations

from collections.abc import Sequence

from toolrank_engines.contract import Candidate, Engine, Filter, Vector
from toolrank_engines.document import ApiDocument

MAX_SIBLINGS = 500
"""APIs of the tools in question: some tools have hundreds, and every one costs a cross-encoder score."""


class EngineFetcher:
    """An engine behind one caller's filter."""

    def __init__(self, engine: Engine, permitted: Filter) -> None:
        self._engine = engine
        self._permitted = permitted

    def apis_of_tools(self, tools: Sequence[str]) -> list[Candidate]:
        """All visible APIs of these tools (keys), at most `MAX_SIBLINGS`."""
        return self._engine.apis_of_tools(tools, self._permitted, MAX_SIBLINGS)

    def neighbours(self, vector: Vector, k: int) -> list[Candidate]:
        """The k visible documents nearest to the vector."""
        return self._engine.neighbours(vector, k, self._permitted)

    def documents(self, ids: Sequence[str]) -> list[ApiDocument]:
        """Whole documents in the order of `ids`, without unknown and forbidden ones."""
        return self._engine.fetch(ids, self._permitted)
