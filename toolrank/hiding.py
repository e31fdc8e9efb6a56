"""An engine without some tools: what a catalog that lacks them would propose."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from toolrank_engines.contract import Candidate, Engine, Filter, SearchRequest, Vector


class HidingEngine:
    """The engine, as if the catalog did not hold the APIs of the hidden tools (keys).

    Rankings are filtered after the fact: with the shipped depth of 200 candidates nothing of note is lost.
    """

    def __init__(self, engine: Engine, hidden: Set[str]) -> None:
        self._engine = engine
        self._hidden = hidden

    def search(self, request: SearchRequest) -> list[Candidate]:
        """Candidates without the hidden ones."""
        return self._without(self._engine.search(request))

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """APIs of those tools that are not hidden."""
        return self._engine.apis_of_tools([tool for tool in tools if tool not in self._hidden], filter, limit)

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """Neighbours without the hidden ones."""
        return self._without(self._engine.neighbours(vector, k, filter))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - everything else is the engine's own
        return getattr(self._engine, name)

    def _without(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        return [candidate for candidate in candidates if candidate.tool_key not in self._hidden]
